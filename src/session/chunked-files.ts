/**
 * The files of a chunked conversation: its rows in `session-{stem}.{index}.jsonl`, its header in
 * `session-{stem}.state.json`. Here: their names, which of them count, and the state; chunk-file.ts is one chunk.
 */
import { open, readFile, type FileHandle } from "node:fs/promises";
import { basename, join } from "node:path";
import { replaceFile, setAside } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { errorCode, reasonOf } from "../util/errors.js";
import { writeAll } from "../util/file-bytes.js";
import { type Stamp, stampOf } from "../util/file-stamp.js";
import { namesIn } from "../util/folder.js";
import type { Clock, Log } from "../world.js";
import { headerRecord, isHeader, type PartialHeader, readHeader, salvageHeader } from "./header.js";
import { lineBytes } from "./line-file.js";
import { parsePythonJson, type PythonObject, pythonJson } from "./python-json.js";
import type { SessionHeader } from "./store.js";

/** The index is the last part, so that `session-s.x.1.jsonl` is a chunk of `s.x` and never of `s`. */
const chunkPattern = /^session-(.*)\.([1-9]\d{0,8})\.jsonl(\.new)?$/s;
const statePattern = /^session-(.*)\.state\.json$/s;

export const chunkName = (stem: string, index: number): string => `session-${stem}.${index}.jsonl`;
export const stateName = (stem: string): string => `session-${stem}.state.json`;
export const stagedName = (stem: string, index: number): string => `${chunkName(stem, index)}.new`;
export const longestName = (stem: string): string => stagedName(stem, 999_999_999);

/** The names a folder has for one conversation. */
export type Names = { readonly chunks: number[]; readonly staged: number[]; hasState: boolean };

export async function scanFolder(folder: string): Promise<Map<string, Names>> {
  const found = new Map<string, Names>();
  const namesOf = (stem = ""): Names => {
    const names = found.get(stem) ?? { chunks: [], staged: [], hasState: false };
    found.set(stem, names);
    return names;
  };
  for (const name of await namesIn(folder)) {
    const chunk = chunkPattern.exec(name);
    const state = statePattern.exec(name);
    if (chunk) namesOf(chunk[1])[chunk[3] === undefined ? "chunks" : "staged"].push(Number(chunk[2]));
    else if (state) namesOf(state[1]).hasState = true;
  }
  return found;
}

export type ChunkFile = { readonly index: number; readonly path: string };

/** Which files make up a conversation. */
export type Layout = {
  /** Oldest first. */
  readonly live: readonly ChunkFile[];
  /** The lowest index a live chunk can have. */
  readonly first: number;
  /** Live chunks that a replacement wrote but did not come to name. */
  readonly staged: readonly ChunkFile[];
  /** What a replacement has put out of use, or was about to put in use when it was cut off. */
  readonly leftovers: readonly string[];
};

export function layoutOf(folder: string, stem: string, names: Names | undefined, state: StateFile | undefined): Layout {
  const { chunks = [], staged: prepared = [] } = names ?? {};
  const { firstChunk = 1, chunkCount = 0 } = state?.shape ?? {};
  const named = new Set(chunks);
  const isMeant = (index: number): boolean => index >= firstChunk && index <= chunkCount && !named.has(index);
  const at = (index: number): ChunkFile => ({ index, path: join(folder, chunkName(stem, index)) });
  const inWaiting = (index: number): ChunkFile => ({ index, path: join(folder, stagedName(stem, index)) });

  const staged = prepared.filter(isMeant).map(inWaiting);
  // A state that would hide every row there is must be wrong.
  const first = staged.length > 0 || chunks.some((index) => index >= firstChunk) ? firstChunk : 1;
  const live = [...chunks.filter((index) => index >= first).map(at), ...staged].sort((a, b) => a.index - b.index);
  const leftovers = [
    ...chunks.filter((index) => index < first).map(at),
    ...prepared.filter((index) => !isMeant(index)).map(inWaiting),
  ].map(({ path }) => path);
  return { live, first, staged, leftovers };
}

/** What the state file adds to nanobot's header. */
export type Shape = {
  /** The highest index. */
  readonly chunkCount: number;
  /** Rows in all live chunks but the newest. */
  readonly rowsBefore: number;
  /** Chunks below it are no part of the conversation any more. */
  readonly firstChunk: number;
};

export type StateFile = {
  readonly stamp: Stamp | undefined;
  readonly bytes: Buffer;
  readonly header: PartialHeader;
  readonly shape: Partial<Shape>;
  /** Why it could not be read, or not in full. */
  readonly damage?: string;
};

export function stateBytes(header: SessionHeader, shape: Shape): Buffer {
  const record = {
    ...headerRecord(header),
    chunk_count: shape.chunkCount,
    rows_before_newest: shape.rowsBefore,
    first_chunk: shape.firstChunk,
  };
  return lineBytes(pythonJson(record), header.key);
}

/** Undefined if there is none. One that cannot be read is no reason to fail: the chunks tell the same, only slower. */
export async function readState(path: string): Promise<StateFile | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    if (passing.includes(errorCode(error) ?? "")) throw error;
    return unreadable(await stampOf(path), reasonOf(error));
  }
  try {
    const stamp = await file.stat({ bigint: true });
    const bytes = await readFile(file);
    return { stamp, bytes, ...parseState(bytes.toString("utf8")) };
  } catch (error) {
    if (passing.includes(errorCode(error) ?? "")) throw error;
    return unreadable(await stampOf(path), reasonOf(error));
  } finally {
    await file.close();
  }
}

/** Errors that say nothing about the file: the next try may well succeed. */
const passing = ["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EINTR", "ENOSPC"];

const unreadable = (stamp: Stamp | undefined, damage: string): StateFile => ({
  stamp,
  bytes: Buffer.alloc(0),
  header: {},
  shape: {},
  damage,
});

function parseState(text: string): Pick<StateFile, "header" | "shape" | "damage"> {
  try {
    const record = parsePythonJson(text);
    if (isHeader(record)) return { header: readHeader(record), shape: readShape(record) };
  } catch {
    // Told below, as for any other text that is no state.
  }
  return { header: salvageHeader(text) ?? {}, shape: {}, damage: "not a state record" };
}

function readShape(record: PythonObject): Partial<Shape> {
  const { chunk_count: chunkCount, rows_before_newest: rowsBefore, first_chunk: firstChunk } = record;
  return {
    ...(isCount(chunkCount, 1) && { chunkCount }),
    ...(isCount(rowsBefore, 0) && { rowsBefore }),
    ...(isCount(firstChunk, 1) && { firstChunk }),
  };
}

const isCount = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least;

/** Writes the state unless only its time would change. A damaged one keeps its bytes under another name. */
export async function writeState(
  path: string,
  known: StateFile | undefined,
  header: SessionHeader,
  shape: Shape,
  world: Witness,
): Promise<StateFile | undefined> {
  const sameTime = { ...header, updatedAt: known?.header.updatedAt ?? header.updatedAt };
  if (known?.bytes.equals(stateBytes(sameTime, shape))) return known;
  if (known?.damage !== undefined) await keepDamaged(path, world);
  await replaceFile(path, (file) => writeAll(file, stateBytes(header, shape)));
  return readState(path);
}

/** What dates and reports a repair. */
export type Witness = { readonly clock: Clock; readonly log: Log };

export async function keepDamaged(path: string, { clock, log }: Witness): Promise<string> {
  const aside = await setAside(path, `damaged-${fileTime(clock())}`);
  log.warn(`${path} was damaged; the original is kept as ${basename(aside)}`, { aside });
  return aside;
}
