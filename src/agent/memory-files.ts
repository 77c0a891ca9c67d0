/**
 * MEMORY.md and HISTORY.md of one memory folder, in nanobot's formats. A change is one transaction: it is written down
 * whole before anything is touched, and whoever comes next finishes what a crash left half done.
 */
import { mkdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Mutex } from "async-mutex";
import * as z from "zod/mini";
import type { SessionKey } from "../message.js";
import { moveAside, replaceFile } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { createProcessLock } from "../util/process-lock.js";
import type { Clock, Log } from "../world.js";
import { appendOnce, ifThere, logFiles, newestEntries, nextEntry } from "./memory-log.js";
import { createMemoryVersions, type MemoryVersion } from "./memory-versions.js";
import { readOwnFile } from "./own-file.js";
import type { Fence } from "./tools/fence.js";

export type MemoryChange = {
  /** A consolidation, with the rows it takes care of; or the owner, who takes a change back. */
  readonly by:
    | { readonly kind: "session"; readonly key: SessionKey; readonly cursor: number }
    | { readonly kind: "undo" };
  /** One entry for the log; empty: none. */
  readonly entry: string;
  /** The new MEMORY.md, and the one it was made from. Absent: it stays as it is. */
  readonly memory?: { readonly from: string; readonly to: string };
};

export type MemoryFiles = {
  readonly folder: string;
  /** MEMORY.md; empty if there is none. */
  memory(): Promise<string>;
  /** The end of the log, at most so many bytes of it. */
  newestEntries(most: number): Promise<string>;
  /**
   * All of it, or nothing. False if the change is out of date: MEMORY.md is no longer what it was made from, or an
   * earlier change had to be finished first, perhaps one of the same rows.
   */
  commit(change: MemoryChange): Promise<boolean>;
  /** Finishes what a crash left half done; true if there was something. */
  recover(): Promise<boolean>;
  /** What was written into MEMORY.md by other means becomes a change like any other, so that it too can be taken back. */
  noticeEdits(): Promise<void>;
  /** The changes of MEMORY.md, newest first. */
  versions(): Promise<readonly MemoryVersion[]>;
  close(): void;
};

export type MemoryFilesParts = {
  readonly folder: string;
  /** Where changes on their way and old versions are kept, out of the tools' reach. */
  readonly state: string;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly log: Log;
  /** Moves a session's cursor; told again after a crash, so doing it twice must not matter. */
  readonly moveCursor: (session: SessionKey, cursor: number) => Promise<void>;
};

/** A change on its way, with everything needed to finish it. */
const intentSchema = z.object({
  time: z.string(),
  by: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("session"), key: z.string(), cursor: z.int() }),
    z.object({ kind: z.literal("undo") }),
  ]),
  log: z.object({ file: z.enum(logFiles), from: z.int(), text: z.string() }),
  memory: z.optional(z.object({ id: z.int(), from: z.string(), to: z.string() })),
});
type Intent = z.infer<typeof intentSchema>;

export function createMemoryFiles({ folder, state, fence, clock, log, moveCursor }: MemoryFilesParts): MemoryFiles {
  const otherProcesses = createProcessLock(join(state, "lock"));
  const ourselves = new Mutex();
  const alone = <T>(work: () => Promise<T>): Promise<T> => ourselves.runExclusive(() => otherProcesses.hold(work));
  const memoryFile = join(folder, "MEMORY.md");
  const intentFile = join(state, "pending.json");
  /** MEMORY.md as it was found, before the first change. */
  const firstFile = join(state, "first.md");
  /** What MEMORY.md was when this process last looked for edits. */
  let seen: string | undefined;
  const versions = createMemoryVersions(join(state, "versions"));

  /** With any line ends, as Python reads it. */
  const memory = async (): Promise<string> => ((await readOwnFile(fence, memoryFile)) ?? "").replaceAll(/\r\n?/g, "\n");

  /** The text that the last change we know of has left; undefined if we have never seen any. */
  const lastText = async (): Promise<string | undefined> =>
    (await versions.newest())?.after ?? (await ifThere<string | undefined>(readFile(firstFile, "utf8"), undefined));

  const keepEdit = async (after: string): Promise<void> => {
    const before = await lastText();
    if (before === undefined) return write(firstFile, after);
    if (before !== after)
      await versions.keep({ id: await versions.nextId(), time: clock(), by: "edit", before, after });
  };

  const logFileOf = ({ log: { file } }: Intent): Promise<string> => fence.resolve(join(folder, file), "write");

  /** Does what the intent says, however much of it has been done already. */
  const finish = async (intent: Intent): Promise<void> => {
    await mkdir(await fence.resolve(folder, "write"), { recursive: true });
    await appendOnce(folder, await logFileOf(intent), intent.log);
    if (intent.memory && (await memory()) === intent.memory.from) {
      const { id, from: before, to: after } = intent.memory;
      await versions.keep({ id, time: intent.time, by: nameOf(intent.by), before, after });
      await write(memoryFile, after);
    }
    if (intent.by.kind === "session") await moveCursor(intent.by.key, intent.by.cursor);
    await unlink(intentFile);
  };

  const finishLeftover = async (): Promise<boolean> => {
    const text = await ifThere<string | undefined>(readFile(intentFile, "utf8"), undefined);
    if (text === undefined) return false;
    const intent = readIntent(text);
    if (intent) await finish(intent);
    else {
      const aside = await moveAside(intentFile, `damaged-${fileTime(clock())}`);
      log.warn(`memory: a change that was left half done cannot be read; it is kept as ${aside}`);
    }
    return true;
  };

  return {
    folder,
    memory,
    newestEntries: (most) => newestEntries(fence, folder, most),

    commit: ({ by, entry, memory: change }) =>
      alone(async () => {
        if (await finishLeftover()) return false;
        if (change) {
          if ((await memory()) !== change.from) return false;
          await keepEdit(change.from);
        }
        const time = clock();
        const intent: Intent = {
          time,
          by,
          log: await nextEntry(fence, folder, entry, time),
          ...(change && change.to !== change.from && { memory: { ...change, id: await versions.nextId() } }),
        };
        // What can be refused is refused now: an intent that cannot be carried out would be in everybody's way.
        await logFileOf(intent);
        await write(intentFile, JSON.stringify(intent));
        await finish(intent);
        return true;
      }),

    // Asked before every consolidation, and almost always there is nothing: no lock for that.
    recover: async () => (await isThere(intentFile)) && alone(finishLeftover),

    async noticeEdits() {
      const text = await memory();
      if (text === seen) return;
      if (text !== (await lastText())) {
        await alone(async () => {
          await finishLeftover();
          await keepEdit(await memory());
        });
      }
      seen = text;
    },

    versions: () => versions.list(),
    close: () => otherProcesses.close(),
  };
}

const nameOf = (by: MemoryChange["by"]): string => (by.kind === "session" ? by.key : by.kind);

function readIntent(text: string): Intent | undefined {
  try {
    return z.parse(intentSchema, JSON.parse(text));
  } catch {
    return undefined;
  }
}

const isThere = (path: string): Promise<boolean> =>
  ifThere(
    stat(path).then(() => true),
    false,
  );

const write = (path: string, text: string): Promise<void> => replaceFile(path, (file) => file.writeFile(text, "utf8"));
