/** Everything outside the process that the parts may ask for, so that a test can stand in for it. */
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { localIsoTime } from "./util/clock.js";
import { httpFetch } from "./util/http-fetch.js";

/** The time as nanobot stamps it: local, without a zone (`2026-02-24T16:24:47.000120`). */
export type Clock = () => string;

/** The wall clock. Its milliseconds follow the machine's time; only the digits below come from the fine timer. */
export const systemClock: Clock = () => localIsoTime(Date.now() * 1000 + ((performance.now() * 1000) % 1000));

/** Where a part reports what the owner should know. One line each; `fields` are for machines. */
export type Log = {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Something worth knowing that is no trouble; not everybody listens. */
  info?(message: string, fields?: Readonly<Record<string, unknown>>): void;
};

export const stderrLog: Log = {
  warn: (message) => process.stderr.write(`nanogate: ${message}\n`),
};

export type World = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  /** Whether anything listens at this port of the machine. Absent: it has to be tried with fetch. */
  readonly listens?: (port: number, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
};

/** The real one. */
export const systemWorld = (log: Log = stderrLog): World => ({
  env: process.env,
  fetch: httpFetch,
  listens,
  clock: systemClock,
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
  log,
});

/** A bare connection costs nothing where nobody listens. */
const listens = (port: number, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, signal });
    const tell = (answer: boolean) => (): void => {
      resolve(answer);
      socket.destroy();
    };
    socket.on("connect", tell(true)).on("error", tell(false));
  });
