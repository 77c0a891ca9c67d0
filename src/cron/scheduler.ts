/**
 * The clock's work: at each tick it looks which jobs are due, decides in the book what becomes of each time they are, and
 * only then has them run. Nothing depends on how often it ticks, on what the clock does in between, or on who dies when.
 */
import { setImmediate as breathe } from "node:timers/promises";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { countedFrom, type Next, nextOf, remembering, timingOf } from "./counting.js";
import { decideDue, onTimeMs } from "./due.js";
import type { Job, JobStore } from "./job.js";
import type { Decision, Mark, Occurrences, OpenOccurrence } from "./occurrences.js";
import { createRuns, isPausing, type Runner, type RunsParts } from "./runs.js";
import type { Ticks } from "./ticks.js";

export type SchedulerParts = {
  readonly jobs: Pick<JobStore, "list" | "ran">;
  readonly book: Pick<Occurrences, "marks" | "decide" | "takeBack" | "open" | "change" | "history">;
  readonly runner: Runner;
  readonly now: () => number;
  /** The machine's zone, for jobs that name none. */
  readonly zone: () => string;
  readonly log: Log;
  readonly atOnce: number;
  readonly tell?: RunsParts["tell"];
  /** For a calendar that is known already. */
  readonly nextOf?: (job: Job, zone: string) => Next;
};

export type Scheduler = {
  /** Resolves when everything that was due is decided, and what may start is started. */
  tick(): Promise<void>;
  /** Until nothing runs any more. */
  idle(): Promise<void>;
  /** Ticks until the signal aborts; what runs then stays open. */
  run(ticks: Ticks, signal: AbortSignal): Promise<void>;
};

type Watched = { job: Job; readonly timing: string; readonly next: Next; after: number; nextAt: number | undefined };

/** So many of one job may wait at the same time. */
const mostOpen = 100;
/** After so many questions to the calendar others have their turn. */
const atATime = 25;

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { jobs, book, now, zone, log, tell = async () => {} } = parts;
  const calendar = parts.nextOf ?? nextOf;
  let marks: Map<string, Mark> | undefined;
  /** The latest time that was decided; if the clock is far behind it, the clock has been put back. */
  let latest = -Infinity;
  let listed: readonly Job[] | undefined;
  let inZone = "";
  let known: ReadonlyMap<string, Job> = new Map();
  const watched = new Map<string, Watched>();
  const runs = createRuns({
    book,
    runner: parts.runner,
    ran: (...about) => jobs.ran(...about),
    jobOf: (id) => {
      const job = known.get(id);
      const one = watched.get(id);
      return job && { job, next: one ? one.nextAt : calendar(job, zone())(now()) };
    },
    tell,
    atOnce: parts.atOnce,
    now,
    log,
  });

  const marksAt = async (time: number): Promise<Map<string, Mark>> => {
    if (!marks) {
      marks = new Map(await book.marks());
      for (const { through } of marks.values()) latest = Math.max(latest, through);
    }
    if (latest <= time + onTimeMs) return marks;
    log.warn("The clock has been put back: what was only skipped by the wrong time will have its turn.");
    watched.clear();
    listed = undefined;
    const enabled = (await jobs.list()).filter((job) => job.enabled);
    marks = new Map(await book.takeBack(time, new Map(enabled.map(({ id, nextRunAtMs }) => [id, nextRunAtMs]))));
    latest = -Infinity;
    return marks;
  };

  /** Brings the jobs that are watched up to date with the list; those that are new to us. */
  const readList = async (time: number, marks: ReadonlyMap<string, Mark>): Promise<readonly string[]> => {
    const list = await jobs.list();
    if (list === listed && zone() === inZone) return [];
    const sighted: string[] = [];
    for (const job of list) {
      const one = watched.get(job.id);
      const timing = timingOf(job, zone());
      if (!job.enabled) watched.delete(job.id);
      else if (one?.timing === timing) one.job = job;
      else {
        const next = remembering(calendar(job, zone()));
        const isChanged = one !== undefined || known.get(job.id)?.enabled === false;
        const after = countedFrom({ job, next, mark: marks.get(job.id), now: time, timing, isChanged });
        watched.set(job.id, { job, timing, next: calendar(job, zone()), after, nextAt: next(after) });
        sighted.push(job.id);
        if (sighted.length % atATime === 0) await breathe();
      }
    }
    known = new Map(list.map((job) => [job.id, job]));
    for (const id of watched.keys()) if (!known.has(id)) watched.delete(id);
    [listed, inZone] = [list, zone()];
    return sighted;
  };

  /** A job of one run whose outcome stands, and whose list does not say so: somebody died in between. */
  const finishOver = async (ids: readonly string[], open: readonly OpenOccurrence[]): Promise<void> => {
    for (const id of ids) {
      const schedule = known.get(id)?.schedule;
      const isOver = schedule?.kind === "at" && (marks?.get(id)?.through ?? -Infinity) >= schedule.atMs;
      if (!isOver || open.some(({ job }) => job === id)) continue;
      const [last] = await book.history({ job: id, limit: 1 });
      const status = last?.outcome === "failed" ? "error" : last?.outcome === "skipped" ? "skipped" : "ok";
      await jobs.ran(id, { atMs: schedule.atMs, status }, undefined);
    }
  };

  const decide = async (time: number, open: readonly OpenOccurrence[]): Promise<readonly Decision[]> => {
    const decisions: Decision[] = [];
    const openOf = new Map<string, OpenOccurrence[]>();
    for (const occurrence of open) openOf.set(occurrence.job, [...(openOf.get(occurrence.job) ?? []), occurrence]);
    for (const one of watched.values()) {
      if (one.nextAt === undefined || one.nextAt > time) continue;
      const { job, after, nextAt } = one;
      const ofJob = openOf.get(job.id) ?? [];
      const pausing = ofJob.filter((occurrence) => isPausing(occurrence, time));
      const next = remembering(one.next, [[after, nextAt]]);
      const due = decideDue({
        next,
        policy: job.policy,
        after,
        now: time,
        ahead: marks?.get(job.id)?.ahead ?? [],
        isRunning: ofJob.length > pausing.length,
        room: mostOpen - ofJob.length,
      });
      if (!due) continue;
      // What is due now is worth more than another try of what failed before.
      if (due.runs.length > 0) for (const occurrence of pausing) await runs.giveUp(occurrence);
      decisions.push({
        ...due,
        job: job.id,
        name: job.name,
        timing: one.timing,
        planned: next(due.through),
        listed: job.nextRunAtMs,
      });
      if (decisions.length % atATime === 0) await breathe();
    }
    if (decisions.length > 0) await book.decide(decisions);
    return decisions;
  };

  const moveOn = ({ job, through, timing, planned, listed }: Decision): void => {
    latest = Math.max(latest, through);
    const ahead = (marks?.get(job)?.ahead ?? []).filter((at) => at > through);
    const ours = [planned, listed].flatMap((at) => at ?? []);
    marks?.set(job, { through, timing, ours, ahead });
    const one = watched.get(job);
    if (one) [one.after, one.nextAt] = [through, planned];
  };

  /** Those that run are told of when they have run. */
  const tellSkipped = async ({ job: id, name, through, runs, skipped }: Decision): Promise<void> => {
    const last = skipped.at(-1);
    const job = known.get(id);
    if (!last || !job || runs.length > 0) return;
    const base = { how: "scheduled", late: false, attempt: 1, notBefore: 0 } as const;
    await tell({ job: id, name, dueAt: last.to, ...base }, job, { kind: "skipped", by: last.by });
    await jobs.ran(id, { atMs: through, status: "skipped" }, watched.get(id)?.nextAt);
  };

  const look = async (): Promise<void> => {
    const time = now();
    const sighted = await readList(time, await marksAt(time));
    const before = await book.open();
    const decisions = await decide(time, before);
    decisions.forEach(moveOn);
    const open = decisions.length === 0 ? before : await book.open();
    runs.look(open);
    await Promise.all(decisions.map(tellSkipped));
    const passedOver = decisions.filter(({ runs, skipped }) => runs.length + skipped.length === 0);
    await finishOver([...sighted, ...passedOver.map(({ job }) => job)], open);
  };

  let looking: Promise<void> | undefined;
  let trouble = "";
  const lookSafely = async (): Promise<void> => {
    let problem = "";
    try {
      await look();
    } catch (error) {
      // What could not be decided is decided later. Said once, not every second.
      problem = reasonOf(error);
      if (problem !== trouble) log.warn(`The clock's work could not be done: ${problem}`);
    }
    trouble = problem;
    looking = undefined;
  };
  const tick = (): Promise<void> => (looking ??= lookSafely());

  return {
    tick,
    idle: () => runs.idle(),
    async run(ticks, signal) {
      await ticks(tick, signal);
      await looking;
      await runs.stop();
    },
  };
}
