/** A clock that is moved by hand, over a real book: jobs and runs outlive the process, which can be killed anywhere. */
import { join } from "node:path";
import type { Next } from "../../src/cron/counting.js";
import type { Job, LastRun, Policy } from "../../src/cron/job.js";
import { type Ending, type OpenOccurrence, runIdOf } from "../../src/cron/occurrences.js";
import type { RunEnd } from "../../src/cron/runs.js";
import { createScheduler, type Scheduler } from "../../src/cron/scheduler.js";
import type { Ledger } from "../../src/gateway/ledger.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { temporaryFolder } from "./workspace.js";

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

export const usualPolicy: Policy = {
  misfire: "once",
  graceMs: day,
  overlap: "skip",
  limitMs: 10 * minute,
  retries: 0,
};

export const aJob = (parts: Partial<Job> & Pick<Job, "id" | "schedule">): Job => ({
  name: `job ${parts.id}`,
  message: "do it",
  session: `cron:${parts.id}`,
  enabled: true,
  deleteAfterRun: parts.schedule.kind === "at",
  createdAtMs: Date.UTC(2026, 0, 1),
  policy: usualPolicy,
  ...parts,
});

export type ClockHouseOptions = {
  readonly start?: number;
  readonly folder?: string;
  readonly jobs?: readonly Job[];
  /** How long a run takes, and how it ends. */
  readonly runs?: (id: string) => { readonly takesMs: number; readonly end: RunEnd };
  /** Throws where the process should die. */
  readonly reach?: (point: string) => void;
  readonly atOnce?: number;
  readonly nextOf?: (job: Job, zone: string) => Next;
  /** How many turns everybody gets after a tick; with few of them the next tick comes in between. */
  readonly turns?: number;
};

class Killed extends Error {}

type Run = { readonly overAt: number; readonly end: RunEnd };

/** More than anybody writes one after the other. */
const turnsToSettle = 4;

export async function openClockHouse(options: ClockHouseOptions = {}) {
  const file = join(options.folder ?? temporaryFolder(), "ledger.sqlite");
  const time = { now: options.start ?? Date.UTC(2026, 0, 1), zone: "UTC" };
  /** How far the clock was put forward; runs take as long as they take, whatever it shows. */
  let shift = 0;
  const passed = (): number => time.now - shift;
  /** What is on disk, or elsewhere. */
  let jobs: readonly Job[] = options.jobs ?? [];
  const lastRuns = new Map<string, LastRun>();
  const accepted = new Map<string, Run>();
  const told: string[] = [];
  const warnings: string[] = [];
  const waiters = new Set<{ readonly overAt: number; readonly wake: () => void }>();
  let life = 0;
  let process: { readonly ledger: Ledger; readonly scheduler: Scheduler } | undefined;

  const start = async () => {
    const mine = ++life;
    const reach = (point: string): void => {
      if (mine !== life) throw new Killed(point);
      options.reach?.(point);
    };
    const ledger = await openSqliteLedger({ file, now: () => time.now, reach });
    const scheduler = createScheduler({
      book: ledger.occurrences,
      now: () => time.now,
      zone: () => time.zone,
      log: { warn: (message) => void warnings.push(message) },
      atOnce: options.atOnce ?? 6,
      ...(options.nextOf && { nextOf: options.nextOf }),
      jobs: {
        list: async () => jobs,
        async ran(id, last, next) {
          reach("before ran");
          lastRuns.set(id, last);
          jobs = jobs.flatMap((job) => {
            if (job.id !== id) return [job];
            if (next === undefined && job.deleteAfterRun) return [];
            const { nextRunAtMs: _, ...rest } = job;
            return [next === undefined ? { ...rest, enabled: false } : { ...rest, nextRunAtMs: next }];
          });
          reach("after ran");
        },
      },
      runner: {
        begun: async (occurrence) => accepted.has(runIdOf(occurrence)),
        async start(occurrence) {
          reach("before cron accept");
          const id = runIdOf(occurrence);
          const { takesMs, end } = options.runs?.(id) ?? { takesMs: 0, end: { kind: "ok" } };
          // Like the inbox, which takes each id once.
          if (!accepted.has(id)) accepted.set(id, { overAt: passed() + takesMs, end });
          reach("after cron accept");
          return undefined;
        },
        async ended(occurrence) {
          const run = accepted.get(runIdOf(occurrence));
          if (!run) throw new Error(`${runIdOf(occurrence)} was never started`);
          while (run.overAt > passed()) {
            await new Promise<void>((wake) => waiters.add({ overAt: run.overAt, wake }));
          }
          return run.end;
        },
      },
      async tell(occurrence: OpenOccurrence, _, ending: Ending) {
        told.push(`${runIdOf(occurrence)}: ${ending.kind === "skipped" ? ending.by : ending.kind}`);
      },
    });
    process = { ledger, scheduler };
  };

  /** Everybody who can go on goes on. */
  const settle = async (): Promise<void> => {
    let isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (const waiter of waiters) {
        if (waiter.overAt > passed()) continue;
        isMoving = waiters.delete(waiter);
        waiter.wake();
      }
      // Nothing here waits for anything but its turn, and for the ledger, a turn for each change.
      for (let turn = 0; turn < (options.turns ?? turnsToSettle); turn++)
        await new Promise((done) => setImmediate(done));
    }
  };

  const running = () => {
    if (!process) throw new Error("it is not running");
    return process;
  };

  await start();
  return {
    time,
    told,
    warnings,
    lastRuns,
    accepted,
    jobs: () => jobs,
    /** As another program would. */
    write: (next: readonly Job[]): void => void (jobs = next),
    book: () => running().ledger.occurrences,
    isAlive: () => process !== undefined,
    async tick(): Promise<void> {
      await running().scheduler.tick();
      await settle();
    },
    /** Ticks at `at`, and again when whatever was started there is over. */
    async tickAt(at: number): Promise<void> {
      time.now = at;
      await this.tick();
    },
    /** A tick every `stepMs`. */
    async pass(ms: number, stepMs = 1000): Promise<void> {
      for (const end = time.now + ms; time.now < end;) await this.tickAt(Math.min(end, time.now + stepMs));
    },
    /** When the next of those that run is over. */
    nextEnd: (): number | undefined =>
      waiters.size === 0 ? undefined : Math.min(...[...waiters].map(({ overAt }) => overAt)) + shift,
    /** Somebody sets the clock. */
    set(now: number): void {
      shift += now - time.now;
      time.now = now;
    },
    /** Leaves everything as a kill would. */
    async kill(): Promise<void> {
      life++;
      waiters.clear();
      const { ledger } = running();
      process = undefined;
      await new Promise((done) => setImmediate(done));
      await ledger.close();
    },
    async start(): Promise<void> {
      await start();
    },
    async restart(): Promise<void> {
      await this.kill();
      await start();
    },
    /** `09:00 ran`, oldest first. */
    async history(job: string): Promise<string[]> {
      const entries = await running().ledger.occurrences.history({ job, limit: 1000 });
      return entries
        .map(({ dueAt, until, how, outcome, reason }) => {
          const at = until === dueAt ? clock(dueAt) : `${clock(dueAt)}…${clock(until)}`;
          return `${at}${how === "manual" ? " (manual)" : ""} ${outcome}${reason === undefined ? "" : `: ${reason}`}`;
        })
        .reverse();
    },
    close: async (): Promise<void> => {
      life++;
      waiters.clear();
      await process?.ledger.close();
    },
  };
}

/** `2 09:00`: day of the month, and time. */
const clock = (at: number): string => {
  const text = new Date(at).toISOString();
  return `${Number(text.slice(8, 10))} ${text.slice(11, 19).replace(/:00$/, "")}`;
};
