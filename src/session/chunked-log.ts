/**
 * One chunked conversation. Rows go to the newest chunk; a full one is closed for good and the next one begun, so an
 * append changes one file and costs the same at row 100,000 as at row 10.
 *
 * What the folder holds decides; the state file only saves counting. A roll therefore writes the chunk first and the
 * state after it, and a crash between the two costs one count. A replacement must never show old and new rows
 * together, so there the state decides, and one rename of it is the moment of change: the new chunks, numbered on from
 * the old, lie ready under names that do not count; the state that names the first of them puts them in force and
 * everything below out of it; only then do the files get the names that say so. Whatever of that is left undone, the
 * next write does. Rows are numbered back from the newest: what is lost or unreadable is missing at the far end.
 */
import { readFile, rename, truncate, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Row, SessionKey } from "../message.js";
import { moveAside, replaceFile, syncFolder } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { errorCode, reasonOf } from "../util/errors.js";
import { writeAll } from "../util/file-bytes.js";
import { sameStamp, type Stamp, stampOf } from "../util/file-stamp.js";
import {
  appendTo,
  type Chunk,
  createChunk,
  lastChange,
  type Newest,
  parseChunk,
  readChunk,
  readNewest,
  readRowsNow,
  repairChunk,
  timeOf,
} from "./chunk-file.js";
import {
  type ChunkFile,
  chunkName,
  type Layout,
  layoutOf,
  readState,
  scanFolder,
  type Shape,
  stagedName,
  type StateFile,
  stateName,
  type Witness,
  writeState,
} from "./chunked-files.js";
import { completeHeader, type PartialHeader } from "./header.js";
import { lineBytes } from "./line-file.js";
import { pythonJson } from "./python-json.js";
import { ChangedElsewhere, type Damage, type SessionHeader, type SessionLog } from "./store.js";

export type ChunkedParts = Witness & {
  readonly folder: string;
  /** Rows in a full chunk. */
  readonly segmentSize: number;
  /** Runs `work` while nobody else writes to the conversation, neither here nor in another process. */
  readonly alone: <T>(stem: string, work: () => Promise<T>) => Promise<T>;
};

/** What lay in the folder when we last looked. */
type Disk = Pick<Layout, "first" | "staged" | "leftovers"> & {
  readonly state: StateFile | undefined;
  /** All live chunks but the newest, oldest first. */
  readonly older: readonly ChunkFile[];
  readonly newest: Newest | undefined;
  readonly rowsBefore: number;
};

const nothing = Buffer.alloc(0);

/** A look at files that somebody else is writing may catch them in between; it is over in a moment. */
const maxLooks = 5;

export class ChunkedLog implements SessionLog {
  readonly path: string;
  header: SessionHeader;
  readonly #key: SessionKey;
  readonly #stem: string;
  readonly #parts: ChunkedParts;
  #disk: Disk = {
    state: undefined,
    older: [],
    newest: undefined,
    first: 1,
    staged: [],
    leftovers: [],
    rowsBefore: 0,
  };
  /** Rows in those older chunks that have been read. */
  readonly #counts = new Map<number, number>();

  constructor(key: SessionKey, stem: string, parts: ChunkedParts) {
    this.#key = key;
    this.#stem = stem;
    this.#parts = parts;
    this.path = join(parts.folder, stateName(stem));
    this.header = completeHeader(key, {}, 0, parts.clock());
  }

  get isStored(): boolean {
    return this.#disk.state !== undefined || this.#disk.newest !== undefined;
  }

  get length(): number {
    return this.#disk.rowsBefore + (this.#disk.newest?.rows ?? 0);
  }

  async load(): Promise<void> {
    for (let looks = 1; ; looks++) {
      try {
        const damage = await this.#look();
        if (looks < maxLooks && !(await this.isCurrent())) continue;
        return this.#report(damage);
      } catch (error) {
        if (looks >= maxLooks || errorCode(error) !== "ENOENT") throw error;
      }
    }
  }

  async #look(): Promise<Damage[]> {
    const { folder, clock } = this.#parts;
    const state = await readState(this.path);
    const layout = layoutOf(folder, this.#stem, (await scanFolder(folder)).get(this.#stem), state);
    const older = layout.live.slice(0, -1);
    const last = layout.live.at(-1);
    const damage: Damage[] = state?.damage === undefined ? [] : [{ file: this.path, line: 0, reason: state.damage }];
    let found: PartialHeader = {};
    const heed = (chunk: Pick<Chunk, "rows" | "damage" | "header">): void => {
      damage.push(...chunk.damage);
      const begun = timeOf(chunk.rows[0]);
      found = { ...(begun !== undefined && { createdAt: begun }), ...chunk.header, ...found };
    };

    const { chunkCount = Infinity, rowsBefore: counted } = state?.shape ?? {};
    const isKnown = counted !== undefined && last !== undefined && chunkCount <= last.index;
    let rowsBefore = isKnown ? counted : 0;
    this.#counts.clear();
    for (const { index, path } of older) {
      if (isKnown && index < chunkCount) continue;
      const chunk = await readChunk(path);
      heed(chunk);
      this.#counts.set(index, chunk.rows.length);
      rowsBefore += chunk.rows.length;
    }
    const newest = last && (await readNewest(last, heed));

    this.#disk = { ...layout, state, older, newest, rowsBefore };
    const updatedAt = await lastChange(last, state);
    found = { ...found, ...state?.header, ...(updatedAt !== undefined && { updatedAt }) };
    this.header = completeHeader(this.#key, found, this.length, clock());
    return damage;
  }

  async isCurrent(): Promise<boolean> {
    const { state, newest, first } = this.#disk;
    if (!sameOrAbsent(state?.stamp, await stampOf(this.path))) return false;
    if (newest && !sameStamp(newest.stamp, await stampOf(newest.path))) return false;
    return (await stampOf(this.#chunkPath(newest ? newest.index + 1 : first))) === undefined;
  }

  read(from: number, to: number): readonly Row[] {
    const { older, newest } = this.#disk;
    if (!newest) return [];
    const found: (readonly Row[])[] = [];
    const damage: Damage[] = [];
    let end = this.length;
    for (const chunk of [newest, ...older.toReversed()]) {
      if (end <= Math.max(from, 0)) break;
      const known = chunk === newest ? newest.rows : this.#counts.get(chunk.index);
      let start = end - (known ?? 0);
      if (known === undefined || start < to) {
        const { rows, damage: reasons } = readRowsNow(chunk.path);
        if (known === undefined || rows.length < known) damage.push(...reasons);
        start = end - (known ?? rows.length);
        found.push(rows.slice(Math.max(0, from - start, -start), Math.max(0, to - start)));
        this.#counts.set(chunk.index, end - start);
      }
      end = start;
    }
    this.#report(damage);
    return found.reverse().flat();
  }

  async append(header: SessionHeader, rows: readonly Row[]): Promise<void> {
    const texts = rows.map((row) => lineBytes(pythonJson(row), header.key));
    await this.#parts.alone(this.#stem, async () => {
      await this.#assertUnchanged();
      await this.#tidy();
      if (texts.length > 0) await this.#repairTail();
      await this.#write(header, texts);
    });
    this.header = header;
  }

  async replace(header: SessionHeader, rows: readonly Row[]): Promise<void> {
    const texts = rows.map((row) => lineBytes(pythonJson(row), header.key));
    const { folder, segmentSize } = this.#parts;
    await this.#parts.alone(this.#stem, async () => {
      await this.#assertUnchanged();
      const { newest, first, state } = this.#disk;
      const firstChunk = newest ? newest.index + 1 : first;
      const chunkCount = firstChunk + Math.max(1, Math.ceil(texts.length / segmentSize)) - 1;
      const rowsBefore = (chunkCount - firstChunk) * segmentSize;
      const staged: string[] = [];
      try {
        for (let index = firstChunk, from = 0; index <= chunkCount; index++, from += segmentSize) {
          const part = Buffer.concat(texts.slice(from, from + segmentSize));
          const path = join(folder, stagedName(this.#stem, index));
          staged.push(path);
          await replaceFile(path, (file) => writeAll(file, part));
        }
      } catch (error) {
        for (const path of staged) await unlink(path).catch(() => {});
        throw error;
      }
      await writeState(this.path, state, header, { chunkCount, rowsBefore, firstChunk }, this.#parts);
      await this.load();
      await this.#tidy();
    });
    this.header = header;
  }

  /** Under the lock: what we are about to write on top of is what we read. */
  async #assertUnchanged(): Promise<void> {
    // Two states written within one tick of the file system's clock may differ in their bytes only.
    const bytes = this.#disk.state?.bytes ?? nothing;
    const isSame = (await this.isCurrent()) && bytes.equals((await readState(this.path))?.bytes ?? nothing);
    if (!isSame) throw new ChangedElsewhere(this.path);
  }

  /** Finishes the renames of a replacement. They change nothing for a reader, so a failure is no reason to stop. */
  async #tidy(): Promise<void> {
    const { staged, leftovers, state } = this.#disk;
    if (staged.length === 0 && leftovers.length === 0) return;
    // Only the state can tell what a replacement wrote from what it replaced.
    if (state?.damage !== undefined) return;
    const { clock, log, folder } = this.#parts;
    try {
      for (const { index, path } of staged) await rename(path, this.#chunkPath(index));
      for (const path of leftovers) await moveAside(path, `cleared-${fileTime(clock())}`);
      await syncFolder(folder);
    } catch (error) {
      log.warn(`Chunks that are no longer in use stay in ${folder}: ${reasonOf(error)}`, { error });
    }
    await this.load();
  }

  /** Nothing may be written behind half a row: it would become part of it. */
  async #repairTail(): Promise<void> {
    const { newest } = this.#disk;
    if (newest?.tail !== "torn" || newest.lines >= this.#parts.segmentSize) return;
    const { texts } = parseChunk(newest.path, await readFile(newest.path));
    await repairChunk(newest.path, texts, this.#parts);
    this.#disk = { ...this.#disk, newest: await readNewest(newest) };
  }

  /** Fills the newest chunk, begins as many more as are needed, and then says so. A failure takes all of it back. */
  async #write(header: SessionHeader, texts: readonly Buffer[]): Promise<void> {
    const { segmentSize } = this.#parts;
    const { first } = this.#disk;
    let { newest, rowsBefore, state } = this.#disk;
    const closed: Newest[] = [];
    const undo: (() => Promise<void>)[] = [];
    const shape = (): Shape => ({ chunkCount: newest?.index ?? first, rowsBefore, firstChunk: first });
    try {
      if (!state || state.damage !== undefined) {
        // Rows must not lie there before it is written down whose they are.
        if (!state) undo.push(() => unlink(this.path));
        state = await writeState(this.path, state, header, shape(), this.#parts);
      }
      let done = 0;
      if (newest && newest.lines < segmentSize && texts.length > 0) {
        const { path, stamp } = newest;
        undo.push(() => truncate(path, Number(stamp.size)));
        done = Math.min(texts.length, segmentSize - newest.lines);
        newest = await appendTo(newest, texts.slice(0, done));
      }
      while (!newest || done < texts.length) {
        if (newest) {
          closed.push(newest);
          rowsBefore += newest.rows;
        }
        const index: number = newest ? newest.index + 1 : first;
        const path = this.#chunkPath(index);
        const took = undo.push(() => unlink(path));
        newest = await createChunk({ index, path }, texts.slice(done, done + segmentSize)).catch((error: unknown) => {
          if (error instanceof ChangedElsewhere) undo.splice(took - 1); // theirs, not ours to remove
          throw error;
        });
        done += newest.rows;
      }
      const { bytes } = state ?? {};
      if (bytes) undo.push(() => replaceFile(this.path, (file) => writeAll(file, bytes)));
      state = await writeState(this.path, state, header, shape(), this.#parts);
    } catch (error) {
      for (const step of undo.reverse()) await step().catch(() => {});
      throw error;
    }
    for (const { index, rows } of closed) this.#counts.set(index, rows);
    const older = closed.length === 0 ? this.#disk.older : [...this.#disk.older, ...closed];
    this.#disk = { ...this.#disk, state, older, newest, rowsBefore };
  }

  #chunkPath(index: number): string {
    return join(this.#parts.folder, chunkName(this.#stem, index));
  }

  #report(damage: readonly Damage[]): void {
    const { log } = this.#parts;
    for (const { file, line, reason } of damage.filter(({ line }) => line > 0)) {
      log.warn(`${file}, line ${line}: ${reason}; the other rows are kept`, { file, line, reason });
    }
    const [whole, ...more] = damage.filter(({ line }) => line === 0);
    if (!whole) return;
    const files = more.length === 0 ? whole.file : `${whole.file} and ${more.length} more`;
    log.warn(`${files}: ${whole.reason}; what the other files hold is kept`, whole);
  }
}

const sameOrAbsent = (one: Stamp | undefined, other: Stamp | undefined): boolean =>
  one ? sameStamp(one, other) : other === undefined;
