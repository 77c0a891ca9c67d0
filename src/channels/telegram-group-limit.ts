/** Telegram lets a bot say so much in a group and no more. Who asks for more is told when, before Telegram has to. */
import { LRUCache } from "lru-cache";
import { SendFailure } from "./channel.js";

/** Edits count, and all topics of a group together. */
export const groupMost = 20;
const minuteMs = 60_000;
const groupsKept = 1000;

export type GroupLimit = {
  /** Takes a place, or throws a {@link SendFailure} that says when there will be one. */
  take(chat: number | string): void;
};

/** For servers that have no such limit. */
export const noGroupLimit: GroupLimit = { take: () => {} };

export function createGroupLimit(now: () => number): GroupLimit {
  const taken = new LRUCache<number, readonly number[]>({ max: groupsKept });
  return {
    take(chat) {
      if (typeof chat !== "number" || chat > 0) return;
      const lately = (taken.get(chat) ?? []).filter((at) => at > now() - minuteMs);
      const [oldest] = lately;
      if (oldest !== undefined && lately.length >= groupMost) {
        const message = `Telegram takes ${groupMost} messages a minute in a group.`;
        throw new SendFailure("later", message, { afterMs: Math.ceil(oldest + minuteMs - now()) });
      }
      taken.set(chat, [...lately, now()]);
    },
  };
}
