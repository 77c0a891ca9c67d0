/** A list of jobs in a folder of its own, and nanobot's golden cases to try it with. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Policy, Schedule } from "../../src/cron/job.js";
import { createJobStore, type JobStoreParts, type OpenJobStore } from "../../src/cron/job-store.js";
import { nextRun } from "../../src/cron/next-run.js";

export const golden = fileURLToPath(new URL("../../fixtures/golden/cron/", import.meta.url));
export const defaults: Policy = { misfire: "once", graceMs: 86_400_000, overlap: "skip", limitMs: 600_000, retries: 0 };
export const start = 1_773_146_096_789;
/** The uuid source of the golden cases. */
const goldenIds = ["2442ffee", "7fc3c2c1", "336e4be6"];

/** Gone when the test is over. A store with a clock that is moved by hand. */
export async function openStore(
  more: Partial<JobStoreParts> & { readonly files?: Readonly<Record<string, string>> } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "nanogate-jobs-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [home, workspace] = [join(folder, "home"), join(folder, "home", "workspace")];
  const { files = {}, ...parts } = more;
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(home, name, ".."), { recursive: true });
    await writeFile(join(home, name), text);
  }
  let time = start;
  const ids = [...goldenIds];
  const told: string[] = [];
  const create = (): OpenJobStore => {
    const store = createJobStore({
      home,
      workspace,
      now: () => time,
      log: { warn: () => {} },
      defaults,
      tell: (problem) => told.push(problem.replaceAll(folder, "")),
      newId: () => ids.shift() ?? "ffffffff",
      ...parts,
    });
    onTestFinished(() => store.close());
    return store;
  };
  const path = (name: string): string => join(home, name);
  return {
    store: create(),
    another: create,
    told,
    path,
    read: (name = "cron/jobs.json"): Promise<string> => readFile(path(name), "utf8"),
    pass: (ms: number): void => void (time += ms),
    now: (): number => time,
  };
}

export type Shop = Awaited<ReturnType<typeof openStore>>;

type Op = {
  readonly op: "add" | "remove" | "enable" | "run" | "advance" | "restart";
  readonly name?: string;
  readonly message?: string;
  readonly schedule?: { readonly kind: string; readonly [field: string]: unknown };
  readonly deliver?: boolean;
  readonly channel?: string;
  readonly to?: string;
  readonly delete_after_run?: boolean;
  readonly job?: number;
  readonly id?: string;
  readonly enabled?: boolean;
  readonly force?: boolean;
  readonly takes_ms?: number;
  readonly raises?: string;
  readonly ms?: number;
};
export type OpsCase = {
  readonly ops: readonly Op[];
  readonly results: readonly unknown[];
  readonly other_files: Readonly<Record<string, string>>;
};
export type LoadCase = {
  readonly jobs_json_before: string;
  readonly jobs_json_after: string | null;
  readonly listed_after_start: unknown;
};

export const names = async (version: string): Promise<string[]> =>
  (await readdir(join(golden, version)))
    .filter((name) => name.endsWith(".case.json"))
    .map((name) => name.slice(0, -".case.json".length));
export const caseOf = async <T>(version: string, name: string): Promise<T> =>
  JSON.parse(await readFile(join(golden, version, `${name}.case.json`), "utf8")) as T;
export const jobsOf = (version: string, name: string): Promise<string> =>
  readFile(join(golden, version, `${name}.jobs.json`), "utf8");

const scheduleOf = (given: Op["schedule"]): Schedule => {
  if (given?.kind === "at") return { kind: "at", atMs: Number(given["at_ms"]) };
  if (given?.kind === "every") return { kind: "every", everyMs: Number(given["every_ms"]) };
  return { kind: "cron", expr: String(given?.["expr"]), ...(typeof given?.["tz"] === "string" && { tz: given["tz"] }) };
};

const shown = (job: { id: string; enabled: boolean; nextRunAtMs?: number } | undefined): unknown =>
  job && { id: job.id, enabled: job.enabled, nextRunAtMs: job.nextRunAtMs ?? null };

/** Does what a golden case did, with the clock's part played as nanobot plays it. */
export async function perform({ store, pass, now }: Shop, op: Op): Promise<unknown> {
  const { job: index = 0, id = goldenIds[index] ?? "" } = op;
  if (op.op === "remove") return store.remove(id);
  if (op.op === "enable") return shown(await store.enable(id, op.enabled ?? true));
  if (op.op === "add") {
    const to = op.deliver && op.channel && op.to ? { to: { channel: op.channel, chat: op.to } } : {};
    const { name = "", message = "", delete_after_run: deleteAfterRun = false } = op;
    return shown(await store.add({ name, message, schedule: scheduleOf(op.schedule), deleteAfterRun, ...to }));
  }
  if (op.op !== "run") {
    pass(op.ms ?? 0);
    return null;
  }
  const job = (await store.list()).find((one) => one.id === id);
  if (!job || (!job.enabled && !op.force)) return false;
  const atMs = now();
  pass(op.takes_ms ?? 0);
  const next = job.schedule.kind === "at" ? undefined : nextRun(job.schedule, now());
  await store.ran(id, { atMs, status: op.raises ? "error" : "ok", ...(op.raises && { error: op.raises }) }, next);
  return true;
}

export const every = (name: string) =>
  ({ name, message: "m", schedule: { kind: "every", everyMs: 1000 }, deleteAfterRun: false }) as const;

/** A file with one job, `j`. */
export const payload = (fields: object): string =>
  JSON.stringify({
    version: 1,
    jobs: [
      {
        id: "j",
        name: "n",
        schedule: { kind: "every", everyMs: 1000 },
        payload: { kind: "agent_turn", message: "m", ...fields },
      },
    ],
  });
