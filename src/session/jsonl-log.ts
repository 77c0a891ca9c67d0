/**
 * One nanobot session file. A save appends the turn and patches the header in place, so it costs the same at row
 * 100,000 as at row 10, and leaves the bytes that Python's full rewrite would have left. Lines already there are never
 * printed anew.
 */
import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { mkdir, open, readFile, type FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Row, SessionKey } from "../message.js";
import { createFile, replaceFile, setAside } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { errorCode } from "../util/errors.js";
import { copyRange, writeAll, writeAllSync } from "../util/file-bytes.js";
import { sameStamp, type Stamp, stampOf } from "../util/file-stamp.js";
import type { ProcessLock } from "../util/process-lock.js";
import type { Clock, Log } from "../world.js";
import { completeHeader, headerLine, healthyHeader, type PartialHeader } from "./header.js";
import {
  ended,
  extendIndex,
  lineBytes,
  type LineIndex,
  readLines,
  readRows,
  type Salvage,
  salvageLines,
  scanLines,
} from "./line-file.js";
import { pythonJson } from "./python-json.js";
import { ChangedElsewhere, type Damage, type SessionHeader, type SessionLog } from "./store.js";

export type LogParts = { readonly clock: Clock; readonly log: Log; readonly lock: ProcessLock };

/** One header line and then rows, each ended by a newline: what every nanobot writes. */
type RegularFile = {
  readonly kind: "regular";
  readonly stamp: Stamp;
  readonly head: Buffer;
  readonly index: LineIndex;
};

/** How the file lay on disk when we last looked. */
type Disk =
  | { readonly kind: "absent" }
  | RegularFile
  /** Readable, or partly so, but to be written anew by the next save. */
  | { readonly kind: "irregular"; readonly stamp: Stamp; readonly salvage: Salvage };

export class JsonlLog implements SessionLog {
  readonly path: string;
  header: SessionHeader;
  length = 0;
  readonly #key: SessionKey;
  readonly #parts: LogParts;
  #disk: Disk = { kind: "absent" };
  /** The newest rows, which loading has parsed anyway, kept until they are first asked for. */
  #newest: readonly Row[] = [];

  constructor(key: SessionKey, path: string, parts: LogParts) {
    this.#key = key;
    this.path = path;
    this.#parts = parts;
    this.header = completeHeader(key, {}, 0, parts.clock());
  }

  async load(): Promise<void> {
    const { disk, header, length, newest } = await readDisk(this.path);
    this.#disk = disk;
    this.#newest = newest;
    this.length = length;
    this.header = completeHeader(this.#key, header, length, this.#parts.clock());
    if (disk.kind === "irregular") this.#report(disk.salvage.damage);
  }

  get isStored(): boolean {
    return this.#disk.kind !== "absent";
  }

  async isCurrent(): Promise<boolean> {
    const now = await stampOf(this.path);
    return this.#disk.kind === "absent" ? now === undefined : sameStamp(this.#disk.stamp, now);
  }

  read(from: number, to: number): readonly Row[] {
    const disk = this.#disk;
    const first = Math.max(0, from);
    const stop = Math.max(first, to);
    if (disk.kind === "absent") return [];
    if (disk.kind === "irregular") return disk.salvage.rows.slice(first, stop);
    const newest = this.#newest;
    const firstNewest = this.length - newest.length;
    this.#newest = [];
    if (first >= firstNewest) return newest.slice(first - firstNewest, stop - firstNewest);
    return readRows(this.path, disk.index, first, stop, (row, reason) => {
      this.#report([{ file: this.path, line: row + 2, reason }]);
    });
  }

  lines(from: number, to: number): readonly string[] {
    const disk = this.#disk;
    const first = Math.max(0, from);
    if (disk.kind === "absent") return [];
    if (disk.kind === "regular")
      return readLines(this.path, disk.index, first, to).map((line) => line.toString("utf8"));
    return disk.salvage.texts.slice(first, Math.max(first, to)).map((line) => line.toString("utf8"));
  }

  async append(header: SessionHeader, rows: readonly Row[]): Promise<void> {
    const head = lineBytes(headerLine(header), header.key);
    const texts = rows.map((row) => lineBytes(pythonJson(row), header.key));
    this.#newest = [];
    await this.#parts.lock.hold(async () => {
      const disk = this.#disk;
      await this.#assertUnchanged();
      if (disk.kind === "absent") {
        await this.#create([head, ...texts]);
      } else if (disk.kind === "irregular") {
        await this.#rewrite([head, ...disk.salvage.texts.map(ended), ...texts]);
      } else if (differOnlyInDigits(disk.head, head)) {
        this.#disk = await appendInPlace(this.path, disk, head, texts);
      } else {
        await this.#rewrite([head, { from: disk.head.length, to: disk.index.end }, ...texts]);
      }
    });
    this.header = header;
    this.length = rowsOn(this.#disk);
  }

  async replace(header: SessionHeader, rows: readonly Row[]): Promise<void> {
    const lines = [headerLine(header), ...rows.map((row) => pythonJson(row))];
    const bytes = lines.map((line) => lineBytes(line, header.key));
    this.#newest = [];
    await this.#parts.lock.hold(async () => {
      await this.#assertUnchanged();
      await (this.#disk.kind === "absent" ? this.#create(bytes) : this.#rewrite(bytes));
    });
    this.header = header;
    this.length = rows.length;
  }

  /** Under the lock: what we are about to write on top of is what we read. */
  async #assertUnchanged(): Promise<void> {
    const disk = this.#disk;
    const unchanged = disk.kind === "regular" ? isUntouched(this.path, disk) : await this.isCurrent();
    if (!unchanged) throw new ChangedElsewhere(this.path);
  }

  async #create(parts: readonly Buffer[]): Promise<void> {
    const create = (): Promise<void> => createFile(this.path, (file) => writeAll(file, Buffer.concat(parts)));
    try {
      await create().catch(async (error: unknown) => {
        if (errorCode(error) !== "ENOENT") throw error;
        // Somebody has removed the whole folder while we were running.
        await mkdir(dirname(this.path), { recursive: true });
        await create();
      });
    } catch (error) {
      if (errorCode(error) === "EEXIST") throw new ChangedElsewhere(this.path);
      throw error;
    }
    this.#disk = (await readDisk(this.path)).disk;
  }

  /** The whole file anew, through a temporary one. What was damaged keeps its old bytes under another name. */
  async #rewrite(parts: readonly (Buffer | { readonly from: number; readonly to: number })[]): Promise<void> {
    if (this.#disk.kind === "irregular" && this.#disk.salvage.damage.length > 0) {
      const aside = await setAside(this.path, `damaged-${fileTime(this.#parts.clock())}`);
      this.#parts.log.warn(`${this.path} was damaged; the original is kept as ${basename(aside)}`, { aside });
    }
    await replaceFile(this.path, async (file) => {
      let pending: Buffer[] = [];
      for (const part of parts) {
        if (Buffer.isBuffer(part)) {
          pending.push(part);
          continue;
        }
        await writeAll(file, Buffer.concat(pending));
        pending = [];
        await copyRange(this.path, part.from, part.to, file);
      }
      await writeAll(file, Buffer.concat(pending));
    });
    this.#disk = (await readDisk(this.path)).disk;
  }

  #report(damage: readonly Damage[]): void {
    for (const { file, line, reason } of damage) {
      this.#parts.log.warn(`${file}, line ${line}: ${reason}; the other rows are kept`, { file, line, reason });
    }
  }
}

// A save works on file descriptors and waits for the disk only: all its other steps take microseconds in the system's
// cache, less than handing one of them to another thread would.

/** Nobody has written since. A header patched within one tick of the file system's clock shows in its bytes only. */
function isUntouched(path: string, disk: RegularFile): boolean {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
  try {
    if (!sameStamp(disk.stamp, fstatSync(file, { bigint: true }))) return false;
    const head = Buffer.alloc(disk.head.length);
    readSync(file, head, 0, head.length, 0);
    return head.equals(disk.head);
  } finally {
    closeSync(file);
  }
}

/** As counted, not as expected: another program may have appended at the very same time. */
const rowsOn = (disk: Disk): number =>
  disk.kind === "regular" ? disk.index.rows : disk.kind === "irregular" ? disk.salvage.rows.length : 0;

/** Appends in one write, patches the header, and makes both durable. A failed append leaves the file as it was. */
async function appendInPlace(path: string, disk: RegularFile, head: Buffer, texts: readonly Buffer[]): Promise<Disk> {
  const front = openSync(path, "r+");
  try {
    // Opened for appending, so that not even a program that ignores our lock could have its bytes overwritten.
    const tail = openSync(path, "a");
    try {
      writeAllSync(tail, Buffer.concat(texts));
      if (!head.equals(disk.head)) writeAllSync(front, head);
      await datasync(front);
    } catch (error) {
      restore(front, disk);
      throw error;
    } finally {
      closeSync(tail);
    }
    const stamp = fstatSync(front, { bigint: true });
    const index = extendIndex(disk.index, texts);
    // Someone appended at the very same time. With the old stamp this counts as changed, and the next access reads it.
    if (Number(stamp.size) !== index.end) return { ...(await readDisk(path)).disk, stamp: disk.stamp } as Disk;
    return { kind: "regular", stamp, head, index };
  } finally {
    closeSync(front);
  }
}

const datasync = (file: number): Promise<void> =>
  new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve())));

/** As far as a disk that has just failed allows it. */
function restore(file: number, disk: RegularFile): void {
  try {
    ftruncateSync(file, disk.index.end);
    writeSync(file, disk.head, 0, disk.head.length, 0);
  } catch {
    // What is wrong with it is told by the error that brought us here.
  }
}

type Found = {
  readonly disk: Disk;
  readonly header: PartialHeader;
  readonly length: number;
  /** Of a regular file, the last rows. */
  readonly newest: readonly Row[];
};

async function readDisk(path: string): Promise<Found> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { disk: { kind: "absent" }, header: {}, length: 0, newest: [] };
    throw error;
  }
  try {
    const stamp = await file.stat({ bigint: true });
    const size = Number(stamp.size);
    const head = await firstLine(file, size);
    const header = head && healthyHeader(head);
    const index = head && header && (await scanLines(file, head.length, size));
    const newest = index && readableTail(path, index);
    if (head && header && index && newest) {
      return { disk: { kind: "regular", stamp, head, index }, header, length: index.rows, newest };
    }
    const salvage = salvageLines(path, await readFile(file));
    const { header: found = {}, rows } = salvage;
    return { disk: { kind: "irregular", stamp, salvage }, header: found, length: rows.length, newest: [] };
  } finally {
    await file.close();
  }
}

/** The newest rows are what the next turn stands on; damage among them is found now, not in the middle of a turn. */
function readableTail(path: string, index: LineIndex): readonly Row[] | undefined {
  let healthy = true;
  const rows = readRows(path, index, Math.max(0, index.rows - tailRows), index.rows, () => {
    healthy = false;
  });
  return healthy ? rows : undefined;
}

/** At least as many as a session keeps in memory: rows left out among those would put the others out of count. */
const tailRows = 128;
const maxHeaderBytes = 1 << 24;

/** The first line with its newline, or undefined if there is none. */
export async function firstLine(file: FileHandle, size: number): Promise<Buffer | undefined> {
  for (let want = 4096; ; want *= 8) {
    const bytes = Buffer.alloc(Math.min(want, size));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const end = bytes.subarray(0, bytesRead).indexOf(0x0a);
    if (end >= 0) return bytes.subarray(0, end + 1);
    if (bytesRead >= size || want > maxHeaderBytes) return undefined;
  }
}

/** Two headers of which any mixture is still a header, should the power go while one is written over the other. */
function differOnlyInDigits(one: Buffer, other: Buffer): boolean {
  if (one.length !== other.length) return false;
  const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
  return one.every((byte, at) => byte === other[at] || (isDigit(byte) && isDigit(other[at])));
}
