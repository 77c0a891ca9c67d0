/** What becomes of the times a job was due since they were decided last: a pure function of its policy and the clock. */
import type { Policy } from "./job.js";
import { manySkipped, type Decision, type SkippedBy, type SkippedSpan } from "./occurrences.js";

export type DueQuestion = {
  /** The first time strictly after this one. */
  readonly next: (after: number) => number | undefined;
  readonly policy: Pick<Policy, "misfire" | "graceMs" | "overlap">;
  /** Everything up to here is decided. */
  readonly after: number;
  readonly now: number;
  /** Times later than `after` that are decided nevertheless. */
  readonly ahead: readonly number[];
  /** One of the job is running or waiting for its turn. */
  readonly isRunning: boolean;
  /** So many more of the job may wait. */
  readonly room: number;
};

export type Due = Pick<Decision, "through" | "runs" | "skipped">;

/** A restart or a busy moment is no reason to call something missed. */
export const onTimeMs = 60_000;

/** Undefined: there is nothing to decide, or it has to wait. */
export function decideDue(question: DueQuestion): Due | undefined {
  const { next, policy, after, now } = question;
  const first = next(after);
  if (first === undefined || first > now) return undefined;
  return policy.misfire === "all" ? decideEach(question, first) : decideNewest(question, newestIn(next, after, now));
}

/** Of all that were due the newest, if it is not too late for that. */
function decideNewest(question: DueQuestion, newest: number): Due | undefined {
  const { policy, after, now, ahead, isRunning, room } = question;
  const { misfire, overlap } = policy;
  const isDecided = ahead.includes(newest);
  const mayBeLate = misfire === "once" ? Math.max(policy.graceMs, onTimeMs) : onTimeMs;
  const runs = !isDecided && now - newest <= mayBeLate;
  if (!runs) {
    const by = misfire === "skip" ? "skip" : isDecided ? "once" : "grace";
    return { through: newest, runs: [], skipped: spansIn(question, after, newest + 1, by) };
  }
  const older = spansIn(question, after, newest, misfire === "skip" ? "skip" : "once");
  if (isRunning && overlap === "skip") return { through: newest, runs: [], skipped: [...older, overlapped(newest)] };
  if (room < 1) return undefined;
  return { through: newest, runs: [{ dueAt: newest, late: now - newest > onTimeMs }], skipped: older };
}

/** Each that is not too old, as many as there is room for; the rest has its turn later. */
function decideEach(question: DueQuestion, first: number): Due | undefined {
  const { next, policy, after, now, ahead, isRunning, room } = question;
  const oldest = now - Math.max(policy.graceMs, onTimeMs);
  const skipped = first < oldest ? spansIn(question, after, oldest, "grace") : [];
  const runs: { dueAt: number; late: boolean }[] = [];
  let through = skipped.at(-1)?.to ?? after;
  for (let at = next(Math.max(after, oldest - 1)); at !== undefined && at <= now; at = next(at)) {
    const late = now - at > onTimeMs;
    if (!ahead.includes(at)) {
      // What was missed is made up for, however long that takes; only what is due just now can overlap.
      if (!late && isRunning && policy.overlap === "skip") skipped.push(overlapped(at));
      else if (runs.length >= room) break;
      else runs.push({ dueAt: at, late });
    }
    through = at;
  }
  return through > after ? { through, runs, skipped } : undefined;
}

const overlapped = (at: number): SkippedSpan => ({ from: at, to: at, count: 1, by: "overlap" });

/** The times between `from` and `to`, both excluded, that are not decided yet; in one piece if none of them is. */
function spansIn({ next, ahead }: DueQuestion, from: number, to: number, by: SkippedBy): SkippedSpan[] {
  const bounds = [from, ...ahead.filter((at) => at > from && at < to).sort((a, b) => a - b), to];
  return bounds.slice(1).flatMap((bound, at) => {
    const start = bounds[at] ?? from;
    const first = next(start);
    if (first === undefined || first >= bound) return [];
    const last = newestIn(next, start, bound - 1);
    let count = 1;
    for (let one = first; one < last && count < manySkipped; count++) one = next(one) ?? last;
    return [{ from: first, to: last, count, by }];
  });
}

/** The last time up to `until`, where there is at least one after `after`: by halving, for there may be millions. */
function newestIn(next: DueQuestion["next"], after: number, until: number): number {
  let newest = next(after) ?? until;
  let top = until;
  for (;;) {
    const following = next(newest);
    if (following === undefined || following > until) return newest;
    const middle = Math.floor((following + top) / 2);
    const beyond = next(middle);
    if (beyond !== undefined && beyond <= until) newest = beyond;
    else [newest, top] = [following, middle];
  }
}
