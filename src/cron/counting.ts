/** When a job is due, and from where on that counts: another program, an edit or another clock may have been at work. */
import type { Job } from "./job.js";
import { nextRun } from "./next-run.js";
import type { Mark } from "./occurrences.js";

export type Next = (after: number) => number | undefined;

/** `zone` is meant where the job names none. */
export function nextOf({ schedule, createdAtMs }: Job, zone: string): Next {
  // The same intervals, reckoned from long ago: a job from a time when the clock was ahead must not wait for it.
  const anchorMs = schedule.kind === "every" ? createdAtMs % schedule.everyMs : createdAtMs;
  return (after) => nextRun(schedule, after, { zone, anchorMs });
}

/** Asking the calendar takes long; a decision asks the same again and again. */
export function remembering(next: Next, known: readonly (readonly [number, number | undefined])[] = []): Next {
  const answers = new Map(known);
  return (after) => {
    if (!answers.has(after)) answers.set(after, next(after));
    return answers.get(after);
  };
}

/** Two jobs with the same text are due at the same times. */
export const timingOf = ({ schedule, createdAtMs }: Job, zone: string): string =>
  schedule.kind === "every"
    ? `every ${schedule.everyMs} from ${createdAtMs}`
    : schedule.kind === "at"
      ? `at ${schedule.atMs}`
      : `${schedule.expr} in ${schedule.tz ?? zone}`;

export type Sighting = {
  readonly job: Job;
  readonly next: Next;
  readonly mark: Mark | undefined;
  readonly now: number;
  readonly timing: string;
  /** This process has known the job with another timing, or switched off. */
  readonly isChanged: boolean;
};

/**
 * The time after which occurrences of a job count that is seen for the first time, or with a new timing. What the file
 * says about its next run is the word of whoever wrote it last, nanobot or the owner: before that nothing is due.
 */
export function countedFrom({ job, next, mark, now, timing, isChanged }: Sighting): number {
  const { nextRunAtMs: planned, createdAtMs } = job;
  const isNew = isChanged || timing !== mark?.timing;
  const isNews =
    planned !== undefined && (isNew || !mark.ours.includes(planned)) && isPlausible(job, planned, next, now);
  if (isNews) return Math.max(mark?.through ?? 0, Math.min(planned - 1, now));
  if (mark && !isNew) return mark.through;
  if (mark || isChanged || createdAtMs <= 0) return Math.max(mark?.through ?? 0, now);
  return Math.min(createdAtMs, now);
}

/** No next run can lie beyond the one that is next from now on, unless the clock was ahead when it was written. */
function isPlausible({ schedule }: Job, planned: number, next: Next, now: number): boolean {
  if (planned <= now || schedule.kind === "at") return true;
  if (schedule.kind === "every") return planned <= now + schedule.everyMs;
  return planned <= (next(now) ?? 0);
}
