/**
 * Keeps a channel alive by proof of progress: a channel that the platform has not answered for a while counts as deaf,
 * whatever it says of itself. The ladder: reconnect, then build it anew, then let the process end for its supervisor.
 */
import type { Channel, Link } from "../channels/channel.js";
import { reasonOf, UserError } from "../util/errors.js";
import type { Log } from "../world.js";

export type SupervisorParts = {
  readonly name: string;
  readonly open: () => Promise<Channel>;
  readonly link: Omit<Link, "alive">;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** Nothing helps: the process should end and be started again. */
  readonly giveUp: (reason: string) => void;
};

export type ChannelStatus = {
  readonly name: string;
  /** `deaf`: running, but the platform has not been heard for too long. */
  readonly state: "starting" | "up" | "deaf" | "down";
  readonly lastAliveMs: number | undefined;
  readonly restarts: number;
  readonly reason: string | undefined;
};

export type SupervisedChannel = {
  /** Sends through whatever the channel is at the moment. */
  readonly channel: Channel;
  status(): ChannelStatus;
  run(signal: AbortSignal): Promise<void>;
};

/** Longer than any platform's own heartbeat or poll. */
const deafAfterMs = 120_000;
const lookEveryMs = 15_000;
const rebuildAfter = 3;
const giveUpAfter = 8;
const longestWaitMs = 60_000;

export function superviseChannel(parts: SupervisorParts, first: Channel): SupervisedChannel {
  const { name, link, now, sleep, log } = parts;
  let current = first;
  let lastAlive: number | undefined;
  let startedAt = now();
  let restarts = 0;
  let silentRuns = 0;
  let reason: string | undefined;
  let running = false;

  const isDeaf = (): boolean => now() - Math.max(lastAlive ?? 0, startedAt) > deafAfterMs;

  /** One run of the channel, ended when it goes deaf. */
  const once = async (signal: AbortSignal): Promise<void> => {
    const ended = new AbortController();
    const watched = AbortSignal.any([signal, ended.signal]);
    startedAt = now();
    running = true;
    const heard = (): void => {
      lastAlive = now();
      silentRuns = 0;
      reason = undefined;
    };
    const watch = async (): Promise<void> => {
      while (!watched.aborted) {
        await sleep(lookEveryMs, watched).catch(() => {});
        if (!watched.aborted && isDeaf()) ended.abort(new Error(`nothing heard for ${deafAfterMs / 1000} seconds`));
      }
    };
    const watching = watch();
    try {
      await current.run({ ...link, alive: heard }, watched);
      if (ended.signal.aborted) throw ended.signal.reason;
    } finally {
      running = false;
      ended.abort();
      await watching;
    }
  };

  return {
    channel: {
      run: () => Promise.reject(new Error("run the supervisor instead")),
      send: (message, signal) => current.send(message, signal),
      split: (text) => current.split(text),
      ...(first.typing && { typing: async (to, signal) => current.typing?.(to, signal) }),
      ...(first.edit && { edit: async (to, receipt, text, signal) => current.edit?.(to, receipt, text, signal) }),
    },
    status: () => ({
      name,
      state: !running
        ? lastAlive === undefined && reason === undefined
          ? "starting"
          : "down"
        : isDeaf()
          ? "deaf"
          : lastAlive === undefined
            ? "starting"
            : "up",
      lastAliveMs: lastAlive,
      restarts,
      reason,
    }),
    async run(signal) {
      while (!signal.aborted) {
        try {
          await once(signal);
          if (signal.aborted) return;
          reason = "the connection ended";
        } catch (error) {
          if (signal.aborted) return;
          reason = error instanceof UserError ? `${error.message} ${error.fix}` : reasonOf(error);
        }
        restarts++;
        silentRuns++;
        log.warn(`${name}: ${reason} Trying again.`);
        if (silentRuns >= giveUpAfter) parts.giveUp(`${name} could not be brought back: ${reason}`);
        await sleep(Math.min(longestWaitMs, 1000 * 2 ** Math.min(silentRuns - 1, 6)), signal).catch(() => {});
        if (silentRuns >= rebuildAfter && !signal.aborted) {
          current = await parts.open().catch((error: unknown) => {
            log.warn(`${name}: could not be built anew: ${reasonOf(error)}`);
            return current;
          });
        }
      }
    },
  };
}
