/** Fetches what was said to the bot, and forgets nothing: what is not stored yet has not been taken. */
import type { Api } from "grammy";
import type { Update } from "grammy/types";
import { UserError } from "../util/errors.js";
import type { ChannelWorld } from "./channel.js";
import { type Group, sortIntoGroups } from "./telegram-albums.js";
import { explain, isConflict, mayPass, retryAfterMs, withoutToken } from "./telegram-failures.js";

/** With the time that an answer may take on its way (telegram.ts), a poll that nobody answers is noticed soon enough. */
export const pollSeconds = 25;
const batch = 100;
/** As long as nanobot waits for the rest of an album. */
const albumWaitMs = 600;
const conflictWaitMs = 2000;
/** So many failures in a row are more than a moment's: the channel is down then, and its supervisor's business. */
const patience = 3;

/** grammY types this after a polyfill; Node's own works the same. */
export const native = (signal: AbortSignal): never => signal as never;

export type PollParts = {
  readonly token: string;
  readonly world: ChannelWorld;
};

export type Polled = PollParts & {
  /** For questions that are answered at once, and for those that wait. */
  readonly api: Api;
  readonly polls: Api;
  /** Told whenever a poll has been answered: nothing else proves that messages would reach us. */
  readonly alive: () => void;
};

/** Asks again if it may have been a passing fault; `ask` is told how often it has failed. */
export async function persistently<T>(
  { token, world }: PollParts,
  ask: (failures: number) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ;) {
    try {
      return await ask(failures);
    } catch (error) {
      signal.throwIfAborted();
      // An old poll of ours may not have ended yet at Telegram. Once; the second time somebody else is there.
      const ours = failures === 0 && isConflict(error);
      const asked = retryAfterMs(error);
      if (asked === undefined) failures++;
      if (failures >= patience || (!ours && !mayPass(error))) throw scrubbed(explain(error), token);
      await world.sleep(ours ? conflictWaitMs : (asked ?? 1000 * failures), signal);
    }
  }
}

const scrubbed = (error: unknown, token: string): unknown =>
  error instanceof UserError ? error : withoutToken(error, token);

/**
 * Our own poll loop: Telegram forgets an update as soon as a later offset is asked for, so each one has been taken
 * (`take` resolves when it is on disk) before we ask for more.
 */
export async function poll(
  parts: Polled,
  take: (groups: readonly Group[], missed: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<never> {
  let offset = 0;
  let open: ReadonlyMap<string, number> = new Map();
  /** Said while nobody listened: all that is there at the first look, and after a failure. */
  let behind = true;
  const ask = (timeout: number): Promise<readonly Update[]> =>
    (timeout === 0 ? parts.api : parts.polls).getUpdates(
      { offset, timeout, limit: batch, allowed_updates: ["message", "edited_message"] },
      native(signal),
    );
  for (;;) {
    // With an album that may go on, what is there already would be the answer at once: a moment first, and no waiting.
    if (open.size > 0) await parts.world.sleep(albumWaitMs, signal);
    const updates = await persistently(
      parts,
      (failures) => {
        behind ||= failures > 0;
        // That there is an answer is news by itself then: nobody waits for somebody to speak.
        return ask(behind || open.size > 0 ? 0 : pollSeconds);
      },
      signal,
    );
    parts.alive();
    const sorted = sortIntoGroups(updates, open);
    await take(sorted.groups, behind);
    behind &&= updates.length === batch;
    offset = sorted.heldFrom ?? (updates.at(-1)?.update_id ?? offset - 1) + 1;
    open = sorted.open;
  }
}
