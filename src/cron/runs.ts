/** Looks after what is decided and has no outcome yet: started in turn, tried again, and its one outcome written down. */
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { onTimeMs } from "./due.js";
import type { Job, JobStore } from "./job.js";
import { type DecisionBook, type Ending, type OpenOccurrence, runIdOf, type SkippedBy } from "./occurrences.js";

/** How a run ended. `again`: another try may do better. */
export type RunEnd =
  | { readonly kind: "ok" }
  | { readonly kind: "error"; readonly reason: string; readonly again: boolean }
  | { readonly kind: "skipped"; readonly by: SkippedBy };

/** Who runs it. */
export type Runner = {
  /** Has this try been handed over, by whichever process? */
  begun(occurrence: OpenOccurrence): Promise<boolean>;
  /** Hands it over; doing that again changes nothing. Undefined: it runs. */
  start(occurrence: OpenOccurrence, job: Job, signal: AbortSignal): Promise<RunEnd | undefined>;
  /** Resolves when it is over. */
  ended(occurrence: OpenOccurrence, signal: AbortSignal): Promise<RunEnd>;
};

export type RunsParts = {
  readonly book: Pick<DecisionBook, "change">;
  readonly runner: Runner;
  readonly ran: JobStore["ran"];
  /** The job as it is now, and when it is due next. */
  readonly jobOf: (id: string) => { readonly job: Job; readonly next: number | undefined } | undefined;
  /** Told of every outcome before it is written down. */
  readonly tell: (occurrence: OpenOccurrence, job: Job | undefined, ending: Ending) => Promise<void>;
  /** So many run at the same time, so that a full hour does not keep people waiting. */
  readonly atOnce: number;
  readonly now: () => number;
  readonly log: Log;
};

export type Runs = {
  /** These are open. Starts what may start; does not wait for it. */
  look(open: readonly OpenOccurrence[]): void;
  /** Its next try is not worth waiting for. */
  giveUp(occurrence: OpenOccurrence): Promise<void>;
  /** Until nothing is under way. */
  idle(): Promise<void>;
  /** Lets go of everything; it stays open. */
  stop(): Promise<void>;
};

const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;

/** Failed before, and waiting for its next try. */
export const isPausing = ({ attempt, notBefore }: OpenOccurrence, now: number): boolean =>
  // No pause is longer than this: then it is the clock that was wrong.
  attempt > 1 && notBefore > now && notBefore - now <= longestPauseMs;

export function createRuns({ book, runner, ran, jobOf, tell, atOnce, now, log }: RunsParts): Runs {
  let waiting: readonly OpenOccurrence[] = [];
  /** By job: one at a time of each, until its outcome is written down. */
  const flying = new Map<string, Promise<void>>();
  /** Those of them that still run. What is only to be written down keeps nobody waiting. */
  const running = new Set<string>();
  /** Ended here, and perhaps still in somebody's list. */
  const over = new Set<string>();
  /** Could not be handed over; not before. */
  const trouble = new Map<string, number>();
  const stopped = new AbortController();

  const end = async (occurrence: OpenOccurrence, ending: Ending, startedAt: number): Promise<void> => {
    const known = jobOf(occurrence.job);
    await tell(occurrence, known?.job, ending);
    // Before the outcome: after a crash in between, it is open and told again.
    if (known) {
      const status = ending.kind === "skipped" ? "skipped" : ending.kind === "failed" ? "error" : "ok";
      const error = ending.kind === "failed" ? { error: ending.reason } : {};
      await ran(occurrence.job, { atMs: startedAt, status, ...error }, known.next).catch((error: unknown) =>
        log.warn(`The list of jobs was not brought up to date: ${reasonOf(error)}`),
      );
    }
    await book.change(occurrence, ending);
    over.add(runIdOf(occurrence));
  };

  const resultOf = async (occurrence: OpenOccurrence, job: Job | undefined): Promise<RunEnd> => {
    const { signal } = stopped;
    if (!(await runner.begun(occurrence))) {
      if (!job) return { kind: "skipped", by: "removed" };
      const isOld = now() - occurrence.dueAt > Math.max(job.policy.graceMs, onTimeMs);
      if (isOld && occurrence.attempt === 1) return { kind: "skipped", by: "grace" };
      const result = await runner.start(occurrence, job, signal);
      if (result) return result;
    }
    return runner.ended(occurrence, signal);
  };

  const settle = async (occurrence: OpenOccurrence): Promise<void> => {
    const startedAt = now();
    const job = jobOf(occurrence.job)?.job;
    const result = await resultOf(occurrence, job);
    running.delete(occurrence.job);
    startMore();
    if (result.kind === "skipped") return end(occurrence, result, startedAt);
    if (result.kind === "ok") return end(occurrence, { kind: occurrence.late ? "late" : "ran" }, startedAt);
    const { reason, again } = result;
    if (!again || !job || occurrence.attempt > job.policy.retries) {
      return end(occurrence, { kind: "failed", reason }, startedAt);
    }
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(occurrence.attempt - 1, 10));
    await book.change(occurrence, { kind: "again", notBefore: now() + pause, reason });
    over.add(runIdOf(occurrence));
  };

  const begin = (occurrence: OpenOccurrence): void => {
    const id = runIdOf(occurrence);
    const flight = settle(occurrence)
      .catch((error: unknown) => {
        if (stopped.signal.aborted) return;
        // It stays open.
        log.warn(`Job ${occurrence.job} (${occurrence.name}) could not be run yet: ${reasonOf(error)}`);
        trouble.set(id, now() + firstPauseMs);
      })
      .finally(() => {
        flying.delete(occurrence.job);
        running.delete(occurrence.job);
        startMore();
      });
    flying.set(occurrence.job, flight);
    running.add(occurrence.job);
  };

  const mayStart = (occurrence: OpenOccurrence): boolean => {
    const id = runIdOf(occurrence);
    const notBefore = trouble.get(id) ?? 0;
    if (notBefore <= now()) trouble.delete(id);
    else if (notBefore - now() <= firstPauseMs) return false;
    return !flying.has(occurrence.job) && !over.has(id) && !isPausing(occurrence, now());
  };

  const startMore = (): void => {
    if (stopped.signal.aborted) return;
    for (const occurrence of waiting) {
      if (running.size >= atOnce) return;
      if (mayStart(occurrence)) begin(occurrence);
    }
  };

  return {
    look(open) {
      waiting = open;
      // The list may be from a moment before.
      const listed = new Set(over.size === 0 ? [] : open.map(runIdOf));
      for (const id of over) if (!listed.has(id)) over.delete(id);
      startMore();
    },
    giveUp: (occurrence) => end(occurrence, { kind: "failed", reason: occurrence.reason ?? "" }, now()),
    async idle() {
      while (flying.size > 0) await Promise.all(flying.values());
    },
    async stop() {
      stopped.abort();
      await Promise.all(flying.values());
    },
  };
}
