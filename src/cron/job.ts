/** The words of the clock: jobs, when they are due, and what may become of each time they are. */
import type { Address, SessionKey } from "../message.js";

export type Schedule =
  | { readonly kind: "every"; readonly everyMs: number }
  | { readonly kind: "cron"; readonly expr: string; readonly tz?: string }
  /** Milliseconds since 1970. */
  | { readonly kind: "at"; readonly atMs: number };

export type NewJob = {
  readonly name: string;
  /** What the agent is told to do. */
  readonly message: string;
  readonly schedule: Schedule;
  /** The chat that gets the answer. Absent: it runs, and nobody is told. */
  readonly to?: Address;
  readonly deleteAfterRun: boolean;
  /** Where it wants to be treated otherwise than the rest. */
  readonly policy?: Partial<Policy>;
};

/** How a job wants to be treated, mostly when things do not go to plan. */
export type Policy = {
  /** Occurrences that were missed: none of them is made up for, the newest one, or each. */
  readonly misfire: "skip" | "once" | "all";
  /** A missed occurrence older than this is skipped. */
  readonly graceMs: number;
  /** Due while the one before is still running: skipped, or begun when that is over. */
  readonly overlap: "skip" | "wait";
  /** A run that takes longer is stopped. */
  readonly limitMs: number;
  /** How often a failed run is tried again. */
  readonly retries: number;
  /** Each run stands alone: it is not shown what was said before. */
  readonly stateless?: true;
};

export type Job = Omit<NewJob, "policy"> & {
  readonly id: string;
  readonly enabled: boolean;
  /** The conversation it runs in. */
  readonly session: SessionKey;
  readonly policy: Policy;
  /** From here on occurrences are counted. */
  readonly createdAtMs: number;
  readonly nextRunAtMs?: number;
  readonly last?: LastRun;
};

export type LastRun = { readonly atMs: number; readonly status: "ok" | "error" | "skipped"; readonly error?: string };

/** Where the jobs are kept. What is not ours to run (another program's system jobs) is kept and not shown. */
export type Jobs = {
  list(): Promise<readonly Job[]>;
  /** Durable when it resolves. Throws, in words for the model, if the schedule makes no sense. */
  add(job: NewJob): Promise<Job>;
  /** False if there was no such job. */
  remove(id: string): Promise<boolean>;
};

/** What the clock itself changes. */
export type JobStore = Jobs & {
  /** A disabled job is kept and has no next run. Undefined if there was no such job. */
  enable(id: string, enabled: boolean): Promise<Job | undefined>;
  /** What came of a run, and when the next one is; a job that is over is removed or disabled, as it wished. */
  ran(id: string, last: LastRun, nextRunAtMs: number | undefined): Promise<void>;
};
