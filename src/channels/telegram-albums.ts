/** Photos sent together arrive as single updates: what belongs to one message of a person, and what may still be missing. */
import type { Message, Update } from "grammy/types";

/** Updates that are one message. */
export type Group = readonly Update[];

/** Telegram lets so many files into one album. */
const albumMost = 10;

export type Sorted = {
  /** Complete, in the order of their first updates. */
  readonly groups: readonly Group[];
  /** The first update that is not among them; undefined if all are. */
  readonly heldFrom: number | undefined;
  /** How large each album was that is waited for. */
  readonly open: ReadonlyMap<string, number>;
};

/**
 * Groups a batch. An album that may go on is held back, with all that comes after it, until another look shows that it
 * has not grown (`before`: the last look). Nothing held back is acknowledged, so a crash costs nothing: it comes again.
 */
export function sortIntoGroups(updates: readonly Update[], before: ReadonlyMap<string, number>): Sorted {
  const groups: Update[][] = [];
  const albums = new Map<string, Update[]>();
  const lastOfChat = new Map<number, Update>();
  for (const update of updates) {
    const key = albumOf(update.message);
    const album = key === undefined ? undefined : albums.get(key);
    if (album) album.push(update);
    else {
      const group = [update];
      groups.push(group);
      if (key !== undefined) albums.set(key, group);
    }
    if (update.message?.chat) lastOfChat.set(update.message.chat.id, update);
  }
  const open = new Map<string, number>();
  for (const [key, album] of albums) {
    const last = album.at(-1);
    // Something later in the same chat ends an album, and so does its tenth file.
    const mayGoOn = last?.message && lastOfChat.get(last.message.chat.id) === last && album.length < albumMost;
    if (mayGoOn && before.get(key) !== album.length) open.set(key, album.length);
  }
  const heldFrom = firstHeld(
    groups,
    [...open.keys()].map((key) => albums.get(key)?.[0]?.update_id ?? 0),
  );
  const complete = groups.filter(([first]) => heldFrom === undefined || (first?.update_id ?? 0) < heldFrom);
  return { groups: complete, heldFrom, open };
}

/** Where to hold: at the first open album, or before a group that reaches across it, for a group is handed over whole. */
function firstHeld(groups: readonly (readonly Update[])[], opens: readonly number[]): number | undefined {
  let held = opens.length === 0 ? undefined : Math.min(...opens);
  for (const group of [...groups].reverse()) {
    const [first, last] = [group[0]?.update_id ?? 0, group.at(-1)?.update_id ?? 0];
    if (held !== undefined && first < held && last >= held) held = first;
  }
  return held;
}

const albumOf = (message: Message | undefined): string | undefined =>
  message?.media_group_id === undefined || !message.chat ? undefined : `${message.chat.id}/${message.media_group_id}`;
