/**
 * Keeps a channel alive by proof of progress: a channel that the platform has not answered for a while counts as deaf,
 * whatever it says of itself. The ladder: reconnect, then build it anew, then let the process end for its supervisor.
 */
import type { Channel, Link } from "../channels/channel.js";
import { orAborted } from "../util/abort.js";
import { reasonOf, UserError } from "../util/errors.js";
import type { Log } from "../world.js";

export type SupervisorParts = {
  readonly name: string;
  readonly open: () => Promise<Channel>;
  readonly link: Omit<Link, "alive">;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** The platform is heard, after it was not. */
  readonly up?: () => void;
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
/** A channel has so long to end when it is told to. */
const patienceMs = 5000;
/** Who has not been heard for so long before it broke off has not recovered: the next pause is a longer one. */
const steadyMs = 30_000;
/** Short enough that after an outage nobody waits long. */
const longestWaitMs = 30_000;

/** The platform has not been heard for too long. */
class Deaf extends Error {}

export function superviseChannel(parts: SupervisorParts, first: Channel): SupervisedChannel {
  const { name, link, now, sleep, log } = parts;
  let current = first;
  let lastAlive: number | undefined;
  let startedAt = now();
  let restarts = 0;
  let silentRuns = 0;
  /** Runs in a row that ended in a way which a restart or the owner may cure. An outage of the network is none. */
  let strikes = 0;
  let reason: string | undefined;
  let running = false;
  /** The last run is still going on somewhere: what it belongs to must not be run again. */
  let hung = false;

  const isDeaf = (): boolean => now() - Math.max(lastAlive ?? 0, startedAt) > deafAfterMs;

  /** One run of the channel, ended when it goes deaf. */
  const once = async (signal: AbortSignal): Promise<void> => {
    const ended = new AbortController();
    let cut = false;
    const watched = AbortSignal.any([signal, ended.signal]);
    startedAt = now();
    running = true;
    const heard = (): void => {
      const wasUp = state() === "up";
      lastAlive = now();
      reason = undefined;
      if (!wasUp) parts.up?.();
    };
    const watch = async (): Promise<void> => {
      while (!watched.aborted) {
        await sleep(lookEveryMs, watched).catch(() => {});
        // The clock may have been put back; what was then in the future is now.
        if (lastAlive !== undefined) lastAlive = Math.min(lastAlive, now());
        startedAt = Math.min(startedAt, now());
        if (!watched.aborted && isDeaf()) ended.abort(new Deaf(`nothing heard for ${deafAfterMs / 1000} seconds`));
      }
    };
    const watching = watch();
    try {
      await letGo(current.run({ ...link, alive: heard }, watched), watched);
    } catch (error) {
      // A channel that is cut off because it is deaf may say so in its own words.
      if (!ended.signal.aborted) throw error;
    } finally {
      running = false;
      cut = ended.signal.aborted;
      if ((lastAlive ?? 0) - startedAt >= steadyMs) {
        silentRuns = 0;
        strikes = 0;
      }
      ended.abort();
      await watching;
    }
    if (cut) throw ended.signal.reason;
  };

  /** What a run comes to; one that does not end when it is told to is left to itself after a while. */
  const letGo = async (run: Promise<void>, signal: AbortSignal): Promise<void> => {
    run.catch(() => {});
    await orAborted(run, signal).catch(async (error: unknown) => {
      if (!signal.aborted) throw error;
      const enough = new AbortController();
      const left = run.then(
        () => true,
        () => true,
      );
      const tooLong = sleep(patienceMs, enough.signal).then(
        () => false,
        () => true,
      );
      hung = !(await Promise.race([left, tooLong]));
      enough.abort();
    });
  };

  const state = (): ChannelStatus["state"] => {
    if (!running) return restarts > 0 || lastAlive !== undefined ? "down" : "starting";
    if (isDeaf()) return "deaf";
    // What an earlier connection heard is no proof that this one hears.
    return lastAlive !== undefined && lastAlive >= startedAt ? "up" : "starting";
  };

  return {
    channel: {
      run: () => Promise.reject(new Error("run the supervisor instead")),
      send: (message, signal) => current.send(message, signal),
      split: (text) => current.split(text),
      ...(first.typing && { typing: async (to, signal) => current.typing?.(to, signal) }),
      ...(first.pace && { pace: first.pace }),
      ...(first.streaming && { streaming: first.streaming }),
      ...(first.edit && { edit: async (to, receipt, text, signal) => current.edit?.(to, receipt, text, signal) }),
      ...(first.save && { save: async (file, signal) => (await current.save?.(file, signal)) ?? file }),
    },
    status: () => ({
      name,
      state: state(),
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
          if (error instanceof UserError || error instanceof Deaf) strikes++;
        }
        restarts++;
        silentRuns++;
        log.warn(`${name}: ${reason.replace(/\.$/, "")}; trying again.`);
        if (strikes >= giveUpAfter) parts.giveUp(`${name} could not be brought back: ${reason}`);
        await sleep(Math.min(longestWaitMs, 1000 * 2 ** Math.min(silentRuns - 1, 6)), signal).catch(() => {});
        if ((silentRuns >= rebuildAfter || hung) && !signal.aborted) {
          hung = false;
          current = await parts.open().catch((error: unknown) => {
            log.warn(`${name}: could not be built anew: ${reasonOf(error)}`);
            return current;
          });
        }
      }
    },
  };
}
