/** One chunk of a conversation: rows, one JSON line each, appended to until it is full and never touched again. */
import { readFileSync } from "node:fs";
import { open, readFile, type FileHandle } from "node:fs/promises";
import type { Row } from "../message.js";
import { createFile, replaceFile } from "../util/atomic-write.js";
import { localIsoTime } from "../util/clock.js";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { writeAll } from "../util/file-bytes.js";
import type { Stamp } from "../util/file-stamp.js";
import { type ChunkFile, keepDamaged, type StateFile, type Witness } from "./chunked-files.js";
import { ended, type Salvage, salvageLines } from "./line-file.js";
import { normalPythonTime } from "./python-time.js";
import { ChangedElsewhere } from "./store.js";

export type Chunk = Salvage & {
  /** Lines that take up room: rows, and what may once have been one. */
  readonly lines: number;
  /** How the file ends: in a newline, in a row that lacks only that, or in something that is no row. */
  readonly tail: "ended" | "unended" | "torn";
};

export function parseChunk(path: string, bytes: Buffer): Chunk {
  const salvage = salvageLines(path, bytes);
  const last = bytes.subarray(bytes.lastIndexOf("\n") + 1);
  const torn = salvageLines(path, last).damage.length > 0;
  const tail = last.length === 0 ? "ended" : torn ? "torn" : "unended";
  return { ...salvage, lines: salvage.rows.length + salvage.damage.length, tail };
}

/** Leaves only whole rows in a chunk; the original is kept under the name that is returned. */
export async function repairChunk(path: string, texts: readonly Buffer[], world: Witness): Promise<string> {
  const aside = await keepDamaged(path, world);
  await replaceFile(path, (file) => writeAll(file, Buffer.concat(texts.map(ended))));
  return aside;
}

/** What an append has to know of the newest chunk. */
export type Newest = ChunkFile & Pick<Chunk, "lines" | "tail"> & { readonly stamp: Stamp; readonly rows: number };

/** Appends in one write and makes it durable. */
export async function appendTo(newest: Newest, texts: readonly Buffer[]): Promise<Newest> {
  const bytes = Buffer.concat([Buffer.from(newest.tail === "unended" ? "\n" : ""), ...texts]);
  const file = await open(newest.path, "a");
  try {
    await writeAll(file, bytes);
    await file.datasync();
    const { ino, mtimeNs } = await file.stat({ bigint: true });
    // The size it ought to have: if somebody else appended at the very same time, the next look will tell.
    const size = newest.stamp.size + BigInt(bytes.length);
    const { rows, lines } = newest;
    return {
      ...newest,
      stamp: { ino, mtimeNs, size },
      rows: rows + texts.length,
      lines: lines + texts.length,
      tail: "ended",
    };
  } finally {
    await file.close();
  }
}

export async function createChunk(place: ChunkFile, texts: readonly Buffer[]): Promise<Newest> {
  try {
    await createFile(place.path, (file) => writeAll(file, Buffer.concat(texts)));
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw new ChangedElsewhere(place.path);
    throw error;
  }
  return readNewest(place);
}

export async function readNewest(place: ChunkFile, onRead: (chunk: Chunk) => void = () => {}): Promise<Newest> {
  try {
    const file = await open(place.path, "r");
    try {
      const stamp = await file.stat({ bigint: true });
      const chunk = parseChunk(place.path, await readFile(file));
      onRead(chunk);
      return { ...place, stamp, rows: chunk.rows.length, lines: chunk.lines, tail: chunk.tail };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw error;
    throw new UserError(
      `The newest chunk ${place.path} cannot be read: ${reasonOf(error)}`,
      "Make it readable, or move it out of the folder.",
      { cause: error },
    );
  }
}

export async function readChunk(path: string): Promise<Pick<Chunk, "rows" | "damage" | "header">> {
  try {
    return parseChunk(path, await readFile(path));
  } catch (error) {
    return { header: undefined, ...unreadable(path, error) };
  }
}

/** The same for `read`, which cannot wait. */
export function readRowsNow(path: string): Pick<Chunk, "rows" | "damage"> {
  try {
    return parseChunk(path, readFileSync(path));
  } catch (error) {
    return unreadable(path, error);
  }
}

const unreadable = (path: string, error: unknown): Pick<Chunk, "rows" | "damage"> => ({
  rows: [],
  damage: [{ file: path, line: 0, reason: reasonOf(error) }],
});

/** When the conversation last changed: its newest row says so, else its newest file; a state written later knows better. */
export async function lastChange(
  newest: ChunkFile | undefined,
  state: StateFile | undefined,
): Promise<string | undefined> {
  const stored = state?.header.updatedAt;
  const told = newest && (await newestTime(newest.path, stored));
  return told !== undefined && (stored === undefined || told > stored) ? told : stored;
}

async function newestTime(path: string, stored: string | undefined): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { size, mtimeMs } = await file.stat();
      if (size === 0 && stored !== undefined) return undefined;
      const row = salvageLines(path, await lastLine(file, size)).rows.at(-1);
      return timeOf(row) ?? localIsoTime(mtimeMs * 1000);
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // opening the conversation will tell why
  }
}

export const timeOf = (row: Row | undefined): string | undefined => {
  const time = row?.["timestamp"];
  return typeof time === "string" ? normalPythonTime(time) : undefined;
};

async function lastLine(file: FileHandle, size: number): Promise<Buffer> {
  for (let want = 4096; ; want *= 8) {
    const start = Math.max(0, size - want);
    const bytes = Buffer.alloc(size - start);
    await file.read(bytes, 0, bytes.length, start);
    const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
    const line = bytes.subarray(0, end).lastIndexOf("\n") + 1;
    if (line > 0 || start === 0) return bytes.subarray(line, end);
  }
}
