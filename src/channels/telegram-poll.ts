/** Fetches what was said to the bot, and forgets nothing: what is not stored yet has not been taken. */
import type { Api } from "grammy";
import type { Update } from "grammy/types";
import { UserError } from "../util/errors.js";
import type { ChannelWorld } from "./channel.js";
import { type Group, sortIntoGroups } from "./telegram-albums.js";
import { explain, isConflict, mayPass, retryAfterMs, withoutToken } from "./telegram-failures.js";

export const pollSeconds = 30;
const batch = 100;
/** As long as nanobot waits for the rest of an album. */
const albumWaitMs = 600;
const conflictWaitMs = 2000;
const longestWaitMs = 15_000;

/** grammY types this after a polyfill; Node's own works the same. */
export const native = (signal: AbortSignal): never => signal as never;

export type PollParts = {
  readonly api: Api;
  readonly token: string;
  readonly world: ChannelWorld;
  readonly alive: () => void;
};

/** Asks until there is an answer. Only what the owner has to put right, or the signal, ends it. */
export async function persistently<T>(
  { token, world, alive }: PollParts,
  ask: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const answer = await ask();
      alive();
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      // An old poll of ours may not have ended yet at Telegram. Once; the second time somebody else is there.
      const ours = failures === 0 && isConflict(error);
      if (!ours && !mayPass(error)) throw scrubbed(explain(error), token);
      if (failures === 0) world.log.warn(`Telegram: ${withoutToken(error, token).message} Trying again.`);
      const wait = ours ? conflictWaitMs : (retryAfterMs(error) ?? Math.min(longestWaitMs, 1000 * 2 ** failures));
      await world.sleep(wait, signal);
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
  parts: PollParts,
  take: (groups: readonly Group[]) => Promise<void>,
  signal: AbortSignal,
): Promise<never> {
  let offset = 0;
  let open: ReadonlyMap<string, number> = new Map();
  for (;;) {
    // With an album that may go on, what is there already would be the answer at once: a moment first, and no waiting.
    if (open.size > 0) await parts.world.sleep(albumWaitMs, signal);
    const timeout = open.size > 0 ? 0 : pollSeconds;
    const updates: readonly Update[] = await persistently(
      parts,
      () =>
        parts.api.getUpdates(
          { offset, timeout, limit: batch, allowed_updates: ["message", "edited_message"] },
          native(signal),
        ),
      signal,
    );
    const sorted = sortIntoGroups(updates, open);
    await take(sorted.groups);
    offset = sorted.heldFrom ?? (updates.at(-1)?.update_id ?? offset - 1) + 1;
    open = sorted.open;
  }
}
