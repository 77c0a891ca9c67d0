/** Ten thousand jobs: loaded, idle, and a thousand of them due in the same second. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createJobStore } from "../src/cron/job-store.js";
import { createScheduler } from "../src/cron/scheduler.js";
import { openSqliteLedger } from "../src/gateway/ledger-sqlite.js";
import { atMost, type Bench, median, milliseconds, percentile } from "./harness.js";

const many = 10_000;
const few = 10;
const dueTogether = 1000;
const idleTicks = 300;
const atOnce = 6;

const start = Date.UTC(2026, 5, 1, 12);
const dueAt = start + 3_600_000;
const policy = { misfire: "once", graceMs: 86_400_000, overlap: "skip", limitMs: 600_000, retries: 0 } as const;
const zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "UTC"];

export const cron: Bench = {
  name: "cron",
  title: `${many} jobs loaded; a tick with nothing to do; ${dueTogether} due in the same second`,
  async run(folder) {
    const results = [
      await measure(join(folder, "few"), few, 0),
      await measure(join(folder, "many"), many, dueTogether),
    ];
    const [small, large] = results;
    if (!small || !large) throw new Error("nothing was measured");
    return {
      table: results.map(({ jobs, listMs, firstTickMs, megabytes, idleMs }) => ({
        jobs,
        "list read ms": listMs,
        "first tick ms": firstTickMs,
        "heap MB": megabytes,
        "idle tick ms p50": median(idleMs),
        "idle tick ms p99": percentile(idleMs, 0.99),
      })),
      targets: [
        atMost(`a tick with nothing to do and ${many} jobs, of a second`, median(large.idleMs) / 10, 1, "%"),
        atMost(`the last of ${dueTogether} that are due together begins after`, large.lastBegunMs / 1000, 3, "s"),
      ],
      notes: [
        `${dueTogether} due together: decided, durably, after ${Math.round(large.decidedMs)} ms; begun after ` +
          `${Math.round(large.p50BegunMs)} ms (half of them), ${Math.round(large.lastBegunMs)} ms (the last); ` +
          `${atOnce} at a time, by a runner that takes no time; all outcomes written after ${Math.round(large.overMs)} ms.`,
      ],
    };
  },
};

async function measure(home: string, jobs: number, due: number) {
  plant(home, jobs, due);
  const clock = { now: start };
  const now = (): number => clock.now;
  const log = { warn: (message: string) => void process.stderr.write(`${message}\n`) };
  const before = heap();
  const store = createJobStore({ home, workspace: join(home, "workspace"), now, log, defaults: policy });
  const ledger = await openSqliteLedger({ file: join(home, "ledger.sqlite"), now, reach: () => {} });
  const listMs = await milliseconds(() => store.list());
  const begun: number[] = [];
  let decidedMs = 0;
  let dueSince = 0;
  const begin = async (): Promise<undefined> => {
    begun.push(performance.now() - dueSince);
    return undefined;
  };
  const scheduler = createScheduler({
    jobs: store,
    book: {
      ...ledger.occurrences,
      async decide(decisions) {
        await ledger.occurrences.decide(decisions);
        decidedMs = performance.now() - dueSince;
      },
    },
    runner: { begun: async () => false, start: begin, ended: async () => ({ kind: "ok" }) },
    now,
    zone: () => "UTC",
    log,
    atOnce,
  });
  const firstTickMs = await milliseconds(() => scheduler.tick());
  const megabytes = (heap() - before) / 2 ** 20;
  const idleMs: number[] = [];
  for (let tick = 0; tick < idleTicks; tick++) {
    clock.now += 1000;
    idleMs.push(await milliseconds(() => scheduler.tick()));
  }
  clock.now = dueAt;
  dueSince = performance.now();
  await scheduler.tick();
  await scheduler.idle();
  const overMs = performance.now() - dueSince;
  if (begun.length !== due) throw new Error(`${begun.length} runs instead of ${due}`);
  await ledger.close();
  store.close();
  const [p50BegunMs, lastBegunMs] = [percentile(begun, 0.5), Math.max(0, ...begun)];
  return { jobs, listMs, firstTickMs, megabytes, idleMs, decidedMs, p50BegunMs, lastBegunMs, overMs };
}

/** As nanobot writes them; `due` of them are due at the same time, all others at some time of the night. */
function plant(home: string, count: number, due: number): void {
  const jobs = Array.from({ length: count }, (_, number) => ({
    id: number.toString(16).padStart(8, "0"),
    name: `job ${number}`,
    enabled: true,
    schedule:
      number < due
        ? { kind: "every", atMs: null, everyMs: dueAt - start, expr: null, tz: null }
        : { kind: "cron", atMs: null, everyMs: null, expr: `${number % 60} 3 * * *`, tz: zones[number % zones.length] },
    payload: { kind: "agent_turn", message: "look after the plants", deliver: true, channel: "telegram", to: "42" },
    state: { nextRunAtMs: null, lastRunAtMs: null, lastStatus: null, lastError: null },
    createdAtMs: start,
    updatedAtMs: start,
    deleteAfterRun: false,
  }));
  mkdirSync(join(home, "workspace", "cron"), { recursive: true });
  writeFileSync(join(home, "workspace", "cron", "jobs.json"), JSON.stringify({ version: 1, jobs }, undefined, 2));
}

/** What is really held: the rest is collected first. */
function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
