/** How far each Discord channel has been read, kept across restarts so that what is said meanwhile can be fetched. */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod/mini";
import { moveAside, replaceFile } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { errorCode, reasonOf } from "../util/errors.js";
import type { World } from "../world.js";

/** Where a Discord channel is: in a guild or, without one, between us and a person; a thread has a parent. */
export type Place = {
  readonly guild?: string | undefined;
  readonly parent?: string | undefined;
  readonly person?: string | undefined;
};

export type Bookmark = Place & {
  /** The newest message that has been stored, or was none of our business. */
  readonly last: string;
  /** Somebody has spoken to us here. */
  readonly heard?: boolean | undefined;
};

/** More private chats and threads than this are not looked after; the longest silent ones go first. */
const most = 5000;
/** Bookmarks may lag behind: what is fetched twice is recognised. So a busy channel need not write all the time. */
const saveAfterMs = 1000;

const fileShape = z.object({
  since: z.optional(z.string().check(z.regex(/^\d+$/))),
  channels: z.record(
    z.string(),
    z.object({
      last: z.string().check(z.regex(/^\d+$/)),
      guild: z.optional(z.string()),
      parent: z.optional(z.string()),
      person: z.optional(z.string()),
      heard: z.optional(z.boolean()),
    }),
  ),
});

/** How far everything has been read, and where reading began. */
export type Marks = z.infer<typeof fileShape>;

export type Bookmarks = {
  get(channel: string): Bookmark | undefined;
  all(): readonly (readonly [string, Bookmark])[];
  /** The newest message known of anywhere, or where we began: whatever is newer was said while we were away. */
  newest(): string | undefined;
  /** At the very first start: what is said from this id on is said to us. Resolves when that is on disk; false if it is not. */
  beginAt(id: string): Promise<boolean>;
  /** All there is, for a later run if it cannot be written. */
  state(): Marks;
  /** Forward only. It is on disk a little later. */
  move(channel: string, place: Place, last: string, heard?: boolean): void;
  forget(channel: string): void;
  /** Resolves when everything moved so far is on disk; false if it could not be written. */
  save(): Promise<boolean>;
};

/** Discord's ids grow with time. */
export const isLater = (id: string, other: string): boolean => BigInt(id) > BigInt(other);

/** Every message since this time has a later id. */
export const idAt = (epochMs: number): string =>
  Number.isFinite(epochMs) ? String(BigInt(Math.max(0, epochMs - discordEpoch)) << 22n) : "0";

const discordEpoch = Date.UTC(2015, 0, 1);

/** `unsaved` is what an earlier run could not write: it is newer than the file. */
export async function openBookmarks(
  path: string,
  world: World,
  signal: AbortSignal,
  unsaved?: Marks,
): Promise<Bookmarks> {
  const known = unsaved ?? (await readMarks(path, world));
  const marks = new Map(Object.entries(known.channels));
  let { since } = known;
  let changed = unsaved !== undefined;
  let planned: Promise<unknown> | undefined;
  let writing: Promise<boolean> = Promise.resolve(true);

  const write = async (): Promise<boolean> => {
    if (!changed) return true;
    changed = false;
    const text = `${JSON.stringify({ since, channels: Object.fromEntries(marks) })}\n`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, (file) => file.writeFile(text));
      return true;
    } catch (error) {
      changed = true;
      world.log.warn(`Discord: how far the channels are read could not be saved: ${reasonOf(error)}`);
      return false;
    }
  };
  /** One write at a time, or an older state might replace a newer one. */
  const save = (): Promise<boolean> => (writing = writing.then(write));

  const touch = (): void => {
    changed = true;
    planned ??= world
      .sleep(saveAfterMs, signal)
      .catch(() => {}) // stopping: save at once
      .then(() => {
        planned = undefined;
        return save();
      });
  };

  return {
    get: (channel) => marks.get(channel),
    all: () => [...marks],
    newest: () => [...marks.values()].map(({ last }) => last).reduce(laterOf, undefined) ?? since,
    beginAt(id) {
      changed ||= since === undefined;
      since ??= id;
      return save();
    },
    state: () => ({ since, channels: Object.fromEntries(marks) }),
    move(channel, { guild, parent, person }, last, heard = false) {
      const known = marks.get(channel);
      if (known && !isLater(last, known.last)) return;
      // Taken out first, so that the map is in the order of the last message.
      marks.delete(channel);
      marks.set(channel, { last, guild, parent, person: person ?? known?.person, heard: heard || known?.heard });
      if (marks.size > most) drop(marks);
      touch();
    },
    forget(channel) {
      if (marks.delete(channel)) touch();
    },
    save,
  };
}

const laterOf = (one: string | undefined, other: string): string =>
  one === undefined || isLater(other, one) ? other : one;

/** The channels of guilds come back by themselves when the guild introduces itself; threads and private chats do not. */
function drop(marks: Map<string, Bookmark>): void {
  const first = marks.keys().next();
  if (!first.done) marks.delete(first.value);
}

/** What cannot be read is set aside, and reading begins with what is said from now on. */
async function readMarks(path: string, world: World): Promise<Marks> {
  try {
    return z.parse(fileShape, JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { channels: {} };
    if (!(error instanceof SyntaxError) && !(error instanceof z.core.$ZodError)) throw error;
    const aside = await moveAside(path, `damaged-${fileTime(world.clock())}`);
    world.log.warn(
      `Discord: ${path} is damaged and was set aside as ${aside}. What was said meanwhile is not fetched.`,
    );
    return { channels: {} };
  }
}
