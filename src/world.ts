/** Everything outside the process that the parts may ask for, so that a test can stand in for it. */
import { setTimeout as wait } from "node:timers/promises";
import { localIsoTime } from "./util/clock.js";

/** The time as nanobot stamps it: local, without a zone (`2026-02-24T16:24:47.000120`). */
export type Clock = () => string;

/** The wall clock. Its milliseconds follow the machine's time; only the digits below come from the fine timer. */
export const systemClock: Clock = () => localIsoTime(Date.now() * 1000 + ((performance.now() * 1000) % 1000));

/** Where a part reports what the owner should know. One line each; `fields` are for machines. */
export type Log = {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
};

export const stderrLog: Log = {
  warn: (message) => process.stderr.write(`nanogate: ${message}\n`),
};

export type World = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
};

/** The real one. */
export const systemWorld = (log: Log = stderrLog): World => ({
  env: process.env,
  fetch: (...args) => fetch(...args),
  clock: systemClock,
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
  log,
});
