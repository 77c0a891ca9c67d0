/** The jobs of one home: nanobot's file, and beside it what only we know about them. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isObject } from "../session/header.js";
import type { PythonObject } from "../session/python-json.js";
import { UserError } from "../util/errors.js";
import { createProcessLock } from "../util/process-lock.js";
import type { Log } from "../world.js";
import { idOf } from "./action-log.js";
import { asSentence, checkSchedule } from "./check-schedule.js";
import type { Job, JobStore, Policy, Schedule } from "./job.js";
import { enabledEntry, newEntry, ranEntry, readEntry, type ReadEntry } from "./job-entry.js";
import { createJobsFile } from "./jobs-file.js";
import type { Entry } from "./jobs-json.js";
import { nextRun, type NextRunOptions } from "./next-run.js";
import { createPolicies, type Wishes } from "./policies.js";

export type JobStoreParts = {
  readonly home: string;
  readonly workspace: string;
  readonly now: () => number;
  readonly log: Log;
  /** For jobs that do not wish otherwise. */
  readonly defaults: Policy;
  /** The zone of an expression that names none; absent: the machine's. */
  readonly zone?: string;
  /** Told once of each trouble that the owner should know of. */
  readonly tell?: (problem: string) => void;
  readonly newId?: () => string;
};

export type OpenJobStore = JobStore & {
  /** What the owner should know: a file that was set aside, entries that cannot be read. */
  problems(): readonly string[];
  close(): void;
};

/** nanobot's ids are the beginning of a UUID. */
const shortId = (): string => randomUUID().slice(0, 8);

export function createJobStore(parts: JobStoreParts): OpenJobStore {
  const { home, workspace, now, log, defaults, zone, tell, newId = shortId } = parts;
  const inZone = zone === undefined ? {} : { zone };
  const problems = new Set<string>();
  const report = (problem: string): void => {
    if (problems.has(problem)) return;
    problems.add(problem);
    log.warn(problem);
    tell?.(problem);
  };
  const lock = createProcessLock(join(home, "state", "cron.lock"));
  const file = createJobsFile({ home, workspace, lock, now, report });
  const policies = createPolicies({ file: join(home, "state", "cron-policies.json"), lock, now, report });

  // Ten thousand jobs are looked at every second; what has not changed is not read again.
  const readings = new WeakMap<PythonObject, ReadEntry>();
  const made = new WeakMap<PythonObject, { readonly wish: Partial<Policy> | undefined; readonly job: Job }>();
  let listed:
    | { readonly entries: readonly Entry[]; readonly wishes: Wishes; readonly jobs: readonly Job[] }
    | undefined;

  const reading = (entry: PythonObject): ReadEntry => {
    const found = readings.get(entry) ?? readEntry(entry);
    readings.set(entry, found);
    return found;
  };

  const jobOf = (entry: Entry, wishes: Wishes): Job | undefined => {
    const found = isObject(entry) ? reading(entry) : readEntry(entry);
    if (found.kind === "unreadable") report(`An entry of jobs.json is kept and never runs: ${found.reason}.`);
    if (found.kind !== "job" || !isObject(entry)) return undefined;
    const wish = wishes[found.job.id];
    const known = made.get(entry);
    if (known && known.wish === wish) return known.job;
    const job = { ...found.job, policy: { ...defaults, ...wish } };
    const problem = job.enabled && job.nextRunAtMs === undefined ? checkSchedule(job.schedule) : undefined;
    if (problem !== undefined) report(asSentence(`Job ${job.id} (${job.name}) never runs: ${problem}`));
    made.set(entry, { wish, job });
    return job;
  };

  /** Who copies a job by hand may forget its id. Changes and outcomes go by it, to the first: the others cannot run. */
  const firstOfEach = (jobs: readonly Job[]): readonly Job[] => {
    const ids = new Set<string>();
    return jobs.filter(({ id, name }) => {
      const isFirst = !ids.has(id);
      if (!isFirst)
        report(`A second job in jobs.json has the id ${id} (${name}). It never runs: give it one of its own.`);
      ids.add(id);
      return isFirst;
    });
  };

  /** Changes one job of ours; gives it as it is then. Undefined: there is no such job. */
  const edit = async (
    id: string,
    change: (entry: PythonObject) => PythonObject | undefined,
  ): Promise<Job | undefined> => {
    const wishes = await policies.read();
    return file.change((entries) => {
      const at = entries.findIndex((entry) => isObject(entry) && idOf(entry) === id && reading(entry).kind === "job");
      const entry = entries[at];
      if (!isObject(entry)) return { entries, result: undefined };
      const changed = change(entry);
      return {
        entries: changed ? entries.with(at, changed) : entries.toSpliced(at, 1),
        result: jobOf(changed ?? entry, wishes),
      };
    });
  };

  return {
    async list() {
      const [entries, wishes] = [await file.read(), await policies.read()];
      if (listed?.entries !== entries || listed.wishes !== wishes) {
        listed = { entries, wishes, jobs: firstOfEach(entries.flatMap((entry) => jobOf(entry, wishes) ?? [])) };
      }
      return listed.jobs;
    },

    async add({ policy, ...job }) {
      const next = firstRun(job.schedule, now(), inZone);
      const taken = new Set((await file.read()).map(idOf));
      let id = newId();
      while (taken.has(id)) id = newId();
      // Before the job, so that it never runs without them; wishes of nobody do no harm.
      if (policy && Object.keys(policy).length > 0) await policies.set(id, policy);
      const entry = newEntry(job, id, now(), next);
      await file.change((entries) => ({ entries: [...entries, entry], result: undefined }));
      const added = jobOf(entry, await policies.read());
      if (!added) throw new Error(`job ${id} cannot be read back`);
      return added;
    },

    async remove(id) {
      const removed = await edit(id, () => undefined);
      if (removed) await policies.set(id, undefined);
      return removed !== undefined;
    },

    enable: (id, enabled) =>
      edit(id, (entry) => {
        const found = reading(entry);
        const job = found.kind === "job" && enabled ? found.job : undefined;
        // nanobot begins an interval anew; ours goes on where it was, as when it is restarted.
        const next = job && nextRun(job.schedule, now(), { ...inZone, anchorMs: job.createdAtMs });
        return enabledEntry(entry, enabled, now(), next);
      }),

    async ran(id, last, nextRunAtMs) {
      let isOver = false;
      await edit(id, (entry) => {
        const changed = ranEntry(entry, last, nextRunAtMs, now());
        isOver = changed === undefined;
        return changed;
      });
      if (isOver) await policies.set(id, undefined);
    },

    problems: () => [...problems],
    close: () => lock.close(),
  };
}

/** A job that would never run is not taken. */
function firstRun(schedule: Schedule, nowMs: number, inZone: NextRunOptions): number {
  const problem = checkSchedule(schedule);
  if (problem !== undefined) throw new UserError(problem, "Correct the schedule.");
  const next = nextRun(schedule, nowMs, inZone);
  if (next === undefined)
    throw new UserError("that time is over, so it would never run", "Choose a time that lies ahead.");
  return next;
}
