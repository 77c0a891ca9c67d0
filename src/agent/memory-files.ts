/**
 * MEMORY.md and HISTORY.md of one memory folder, in nanobot's formats. A change is one transaction: it is written down
 * whole before anything is touched, and whoever comes next finishes what a crash left half done.
 */
import { appendFile, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { SessionKey } from "../message.js";
import { pythonJson } from "../session/python-json.js";
import { replaceFile } from "../util/atomic-write.js";
import { errorCode } from "../util/errors.js";
import { createProcessLock } from "../util/process-lock.js";
import type { Clock } from "../world.js";

/** What a consolidation wants to change. */
export type MemoryChange = {
  readonly session: SessionKey;
  /** The session's rows up to here are taken care of once the change is in. */
  readonly cursor: number;
  /** One entry for the log; empty: none. */
  readonly entry: string;
  /** The new MEMORY.md; undefined: as it is. */
  readonly memory?: string;
  /** The MEMORY.md the change was made from; if it is another by now, the change is refused. */
  readonly basedOn: string;
};

/** A text that MEMORY.md once had, and which session's consolidation replaced it when. */
export type MemoryVersion = {
  readonly id: string;
  readonly time: string;
  readonly session: string;
  readonly text: string;
};

export type MemoryFiles = {
  readonly folder: string;
  memory(): Promise<string>;
  /** All of it, or nothing: false if MEMORY.md is no longer what the change was based on. */
  commit(change: MemoryChange): Promise<boolean>;
  /** Earlier texts of MEMORY.md, newest first. */
  versions(): Promise<readonly MemoryVersion[]>;
  close(): void;
};

export type MemoryFilesParts = {
  readonly folder: string;
  readonly clock: Clock;
  /** Moves a session's cursor; told again after a crash, so doing it twice must not matter. */
  readonly moveCursor: (session: SessionKey, cursor: number) => Promise<void>;
};

/** A change on its way, with everything needed to finish it. */
type Intent = MemoryChange & {
  readonly time: string;
  readonly log: { readonly file: string; readonly from: number; readonly text: string };
};

const keptVersions = 200;

export function createMemoryFiles({ folder, clock, moveCursor }: MemoryFilesParts): MemoryFiles {
  const lock = createProcessLock(join(folder, ".nanogate.lock"));
  const memoryFile = join(folder, "MEMORY.md");
  const intentFile = join(folder, ".nanogate.pending.json");
  const versionsFolder = join(folder, ".versions");

  /** With any line ends, as Python reads it. */
  const memory = async (): Promise<string> => ((await textOf(memoryFile)) ?? "").replaceAll(/\r\n?/g, "\n");

  /** Does what the intent says, however much of it has been done already. */
  const finish = async (intent: Intent): Promise<void> => {
    await appendOnce(join(folder, intent.log.file), intent.log);
    if (intent.memory !== undefined && intent.memory !== intent.basedOn && (await memory()) === intent.basedOn) {
      await keepVersion(intent);
      await write(memoryFile, intent.memory);
    }
    await moveCursor(intent.session, intent.cursor);
    await unlink(intentFile);
  };

  const keepVersion = async ({ time, session, basedOn }: Intent): Promise<void> => {
    await mkdir(versionsFolder, { recursive: true });
    const names = (await readdir(versionsFolder)).sort();
    const number = Number.parseInt(names.at(-1) ?? "0", 10) + 1;
    const name = `${String(number).padStart(6, "0")}.json`;
    await write(join(versionsFolder, name), pythonJson({ time, session, text: basedOn }));
    for (const old of names.slice(0, Math.max(0, names.length + 1 - keptVersions)))
      await unlink(join(versionsFolder, old));
  };

  return {
    folder,
    memory,

    commit: (change) =>
      lock.hold(async () => {
        const left = await textOf(intentFile);
        if (left !== undefined) await finish(JSON.parse(left) as Intent);
        if ((await memory()) !== change.basedOn) return false;
        const time = clock();
        const intent: Intent = { ...change, time, log: await nextEntry(folder, change.entry, time) };
        await write(intentFile, JSON.stringify(intent));
        await finish(intent);
        return true;
      }),

    async versions() {
      const names = (await namesIn(versionsFolder)).sort().reverse();
      return Promise.all(
        names.map(async (name) => {
          const stored = JSON.parse(await readFile(join(versionsFolder, name), "utf8")) as Omit<MemoryVersion, "id">;
          return { id: String(Number.parseInt(name, 10)), ...stored };
        }),
      );
    },

    close: () => lock.close(),
  };
}

/**
 * The entry as text, and where it goes: HISTORY.md, or, in a workspace that a later nanobot has taken over, its
 * history.jsonl, for HISTORY.md is never read again there.
 */
async function nextEntry(folder: string, entry: string, now: string): Promise<Intent["log"]> {
  const later = await textOf(join(folder, "history.jsonl"));
  if (later === undefined || later.trim() === "") {
    const from = Buffer.byteLength((await textOf(join(folder, "HISTORY.md"))) ?? "");
    return { file: "HISTORY.md", from, text: entry === "" ? "" : `${entry.trimEnd()}\n\n` };
  }
  const from = Buffer.byteLength(later);
  const cursors = later.split("\n").map((line) => Number(/^\{"cursor": (\d+)/.exec(line)?.[1] ?? 0));
  const cursor = Math.max(0, ...cursors) + 1;
  const record = { cursor, timestamp: now.slice(0, 16).replace("T", " "), content: entry.trimEnd() };
  return { file: "history.jsonl", from, text: entry === "" ? "" : `${pythonJson(record)}\n` };
}

/** Appends the text unless it stands behind `from` already; a torn beginning of it is completed. */
async function appendOnce(path: string, { from, text }: Intent["log"]): Promise<void> {
  if (text === "") return;
  const behind = (await bytesOf(path)).subarray(from).toString("utf8");
  if (behind.includes(text)) return;
  await appendFile(path, text.startsWith(behind) ? text.slice(behind.length) : text);
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  const cursor = /^\{"cursor": (\d+)/.exec(text)?.[1];
  if (path.endsWith(".jsonl") && cursor !== undefined) await write(join(path, "..", ".cursor"), cursor);
}

async function write(path: string, text: string): Promise<void> {
  await replaceFile(path, async (file) => {
    await file.writeFile(text, "utf8");
  });
}

/** What `read` gives, or `otherwise` where there is no such file. */
async function ifThere<T, U>(read: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await read;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return otherwise;
    throw error;
  }
}

const textOf = (path: string): Promise<string | undefined> => ifThere(readFile(path, "utf8"), undefined);
const bytesOf = (path: string): Promise<Buffer> => ifThere(readFile(path), Buffer.alloc(0));
const namesIn = (folder: string): Promise<string[]> => ifThere(readdir(folder), []);
