/**
 * The port of the clock's book: each time a job is due has one row and one outcome. What is due is decided here first and
 * run only then, so that whoever comes after a crash knows what was meant to run, and nobody decides it a second time.
 */

/** `manual`: the owner asked for it, whatever the schedule says. */
export type How = "scheduled" | "manual";

/** One that is to be run, or is running. */
export type OpenOccurrence = {
  readonly job: string;
  /** The job's name when it was decided; the job itself may be gone by now. */
  readonly name: string;
  readonly dueAt: number;
  readonly how: How;
  /** It was missed, and is made up for. */
  readonly late: boolean;
  /** 1, and one more for each try that failed. */
  readonly attempt: number;
  /** The next try has to wait for this time. */
  readonly notBefore: number;
  /** Why the try before failed. */
  readonly reason?: string;
};

/**
 * What skipped it. `skip`, `once`: the job's misfire policy; `grace`: it was missed too long ago; `overlap`: the one
 * before was still running; `removed`: the job was gone before it began; `asleep`, `idle`: a heartbeat outside its hours,
 * or with nothing to do.
 */
export type SkippedBy = "skip" | "once" | "grace" | "overlap" | "removed" | "asleep" | "idle";

export type Ending =
  /** `late`: it was caught up. */
  | { readonly kind: "ran" | "late" }
  | { readonly kind: "skipped"; readonly by: SkippedBy }
  | { readonly kind: "failed"; readonly reason: string };

/** Consecutive ones that were skipped together: one row stands for all of them. */
export type SkippedSpan = {
  readonly from: number;
  readonly to: number;
  /** Counting stops at {@link manySkipped}. */
  readonly count: number;
  readonly by: SkippedBy;
};
export const manySkipped = 100;

/** What becomes of everything a job was due for, up to and including `through`. */
export type Decision = {
  readonly job: string;
  readonly name: string;
  readonly through: number;
  /** How the job was timed, in a word. */
  readonly timing: string;
  /** When it is due next, which is what the list of jobs will say; and what it says until then. */
  readonly planned: number | undefined;
  readonly listed: number | undefined;
  readonly runs: readonly { readonly dueAt: number; readonly late: boolean }[];
  readonly skipped: readonly SkippedSpan[];
};

/** How far a job has been decided. */
export type Mark = {
  readonly through: number;
  readonly timing: string;
  /** What the list of jobs may say about the next run by our own doing; otherwise somebody else has been at work. */
  readonly ours: readonly number[];
  /** Decided although they come later: the clock was ahead then, and has been put back. */
  readonly ahead: readonly number[];
};

export type Change = Ending | { readonly kind: "again"; readonly notBefore: number; readonly reason: string };

/** What the clock needs. Every call is durable when it resolves. */
export type DecisionBook = {
  /** By job. */
  marks(): Promise<ReadonlyMap<string, Mark>>;
  /** All of them as one unit. What has been decided before stays as it is. */
  decide(decisions: readonly Decision[]): Promise<void>;
  /**
   * The clock was ahead and has been put back to `now`: what was skipped of these jobs for being missed, but is yet to
   * come, was not missed. What ran has run. Each job comes with what the list says about its next run, which does not
   * count any more. Returns the marks as they are then.
   */
  takeBack(now: number, listed: ReadonlyMap<string, number | undefined>): Promise<ReadonlyMap<string, Mark>>;
  /** Without an outcome, the oldest first. */
  open(): Promise<readonly OpenOccurrence[]>;
  /** False: it had its outcome already. */
  change(occurrence: OpenOccurrence, change: Change): Promise<boolean>;
};

/** One row, for people. */
export type HistoryEntry = {
  readonly job: string;
  readonly name: string;
  readonly how: How;
  readonly dueAt: number;
  /** The last of those that the row stands for; `dueAt` if it is one. */
  readonly until: number;
  /** How many it stands for; undefined if nobody has counted. */
  readonly count: number | undefined;
  readonly outcome: Ending["kind"] | "open";
  /** The policy that skipped it, or why it failed. */
  readonly reason: string | undefined;
  readonly attempts: number;
  readonly decidedAt: number;
  readonly endedAt: number | undefined;
};

/** What the owner needs. */
export type OccurrenceReports = {
  /** Newest first. */
  history(filter: { readonly job?: string; readonly limit: number }): Promise<readonly HistoryEntry[]>;
  /** Has a job run now. A gateway that is running sees it by itself; otherwise the next one does. */
  request(job: { readonly id: string; readonly name: string }): Promise<OpenOccurrence>;
  /** Forgets a bounded piece of what is old or too much, never how far a job has been decided; how many rows. */
  sweep(before: number): Promise<number>;
};

export type Occurrences = DecisionBook & OccurrenceReports;

/** How a run is known everywhere else: in the inbox, which takes each id once, and to `nanogate trace`. */
export const runIdOf = ({ job, dueAt, how, attempt }: OpenOccurrence): string =>
  `cron-${job}-${dueAt}${how === "manual" ? "m" : ""}${attempt === 1 ? "" : `-${attempt}`}`;
