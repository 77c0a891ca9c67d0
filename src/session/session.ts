/** One live conversation: its header, the newest rows in memory, and what has been added since the last save. */
import type { Row, SessionKey, ViewRow } from "../message.js";
import type { Clock } from "../world.js";
import { validCursor } from "./header.js";
import { defaultHistoryRows, historyStart, historyView } from "./history.js";
import { hasLeftovers, settleLeftovers } from "./leftovers.js";
import { entriesInOrder, objectInOrder, parsePythonJson, pythonJson, type PythonValue } from "./python-json.js";
import type { SessionHeader, SessionLog } from "./store.js";

/** What a save has to write. */
export type Change = {
  readonly kind: "append" | "replace";
  readonly header: SessionHeader;
  readonly rows: readonly Row[];
  /** The header's metadata as text. */
  readonly metadataText: string;
  /** How often the session had been cleared: a /new that comes while this is being written is a change of its own. */
  readonly clears: number;
};

/** So many of the newest rows stay in memory; older ones are read from disk when somebody asks for them. */
const rowsInMemory = 128;

export class Session {
  readonly key: SessionKey;
  readonly #clock: Clock;
  #log: SessionLog;
  /** The newest stored rows, up to row number `#log.length`. */
  #recent: Row[] = [];
  #added: Row[] = [];
  /** Cleared since the last save: what the log holds, and `#recent` with it, is to go. */
  #cleared = false;
  #clears = 0;
  #createdAt = "";
  #storedUpdatedAt = "";
  /** When a row was last added; a save without any writes the time of loading, as nanobot does. */
  #touchedAt: string | undefined;
  #loadedAt = "";
  #metadata: Record<string, PythonValue> = {};
  #metadataAsStored = "{}";
  #cursor = 0;

  /** Sessions come from a SessionManager; there is one live object per key. */
  constructor(log: SessionLog, clock: Clock) {
    this.key = log.header.key;
    this.#clock = clock;
    this.#log = log;
    this.#adopt(log);
  }

  get createdAt(): string {
    return this.#createdAt;
  }

  get updatedAt(): string {
    return this.#touchedAt ?? this.#storedUpdatedAt;
  }

  /** Free to change; written with the next save. */
  get metadata(): Record<string, PythonValue> {
    return this.#metadata;
  }

  /** Rows before this one have been summarised into memory. */
  get lastConsolidated(): number {
    return this.#cursor;
  }

  set lastConsolidated(row: number) {
    if (validCursor(row, this.length) !== row) {
      throw new RangeError(
        `lastConsolidated of ${this.key} must be a whole number from 0 to ${this.length}, not ${row}`,
      );
    }
    this.#cursor = row;
  }

  /** All rows, also those not in memory. */
  get length(): number {
    return this.#storedLength + this.#added.length;
  }

  /** Adds one row in nanobot's order: role, content, timestamp, extras. */
  addMessage(role: string, content: unknown, extras: Readonly<Record<string, unknown>> = {}): void {
    this.#settle();
    const now = this.#clock();
    this.#added.push(joined({ role, content, timestamp: now }, extras));
    this.#touchedAt = now;
  }

  /** Adds rows that keep their own key order; a row without a timestamp gets one, last. */
  addRows(rows: readonly Row[]): void {
    this.#settle();
    const now = this.#clock();
    for (const row of rows) this.#added.push("timestamp" in row ? row : joined(row, { timestamp: now }));
    this.#touchedAt = now;
  }

  /** Rows `from` up to, not including, `to`; those no longer in memory are read from disk. */
  slice(from: number, to: number = this.length): Row[] {
    const stored = this.#storedLength;
    const added = this.#added.slice(Math.max(0, from - stored), Math.max(0, to - stored));
    if (stored === 0) return added;
    const firstInMemory = stored - this.#recent.length;
    const older = from < firstInMemory ? this.#log.read(from, Math.min(to, firstInMemory)) : [];
    const recent = this.#recent.slice(Math.max(0, from - firstInMemory), Math.max(0, to - firstInMemory));
    return [...older, ...recent, ...added];
  }

  /** The rows a model is shown, as nanobot v0.1.4.post4 picks them: not yet consolidated, the last `max`, from a user row on. */
  history(max: number = defaultHistoryRows): ViewRow[] {
    return historyView(this.slice(historyStart(this.length, this.#cursor, max)));
  }

  /** Removes all rows. The file keeps them until the next save. */
  clear(): void {
    this.#cleared = true;
    this.#clears++;
    this.#added = [];
    this.#cursor = 0;
    delete this.#metadata["_last_summary"];
    delete this.#metadata["runtime_checkpoint"];
    delete this.#metadata["pending_user_turn"];
    this.#touchedAt = this.#clock();
  }

  /**
   * Settles a turn that another program left unfinished (see leftovers.ts), so that the model is shown it. Adding rows
   * does this by itself.
   */
  settle(): void {
    this.#settle();
  }

  #settle(): void {
    if (!hasLeftovers(this.#metadata)) return;
    const now = this.#clock();
    const owed = settleLeftovers(this.#metadata, (count) => this.slice(Math.max(0, this.length - count)), now);
    this.#added.push(...owed);
    this.#touchedAt = now;
  }

  get #storedLength(): number {
    return this.#cleared ? 0 : this.#log.length;
  }

  #adopt(log: SessionLog): void {
    this.#log = log;
    this.#adoptHeader(log);
    this.#recent = [...log.read(Math.max(0, log.length - rowsInMemory), log.length)];
    this.#loadedAt = this.#clock();
  }

  #adoptHeader(log: SessionLog): void {
    const { createdAt, updatedAt, metadata, lastConsolidated } = log.header;
    this.#createdAt = createdAt;
    this.#storedUpdatedAt = updatedAt;
    this.#metadataAsStored = pythonJson(metadata);
    this.#metadata = parsePythonJson(this.#metadataAsStored) as Record<string, PythonValue>;
    this.#cursor = lastConsolidated;
  }

  // ── For the SessionManager ────────────────────────────────────────────────────────────────────────────────────────

  /** @internal The log that is written to. */
  get log(): SessionLog {
    return this.#log;
  }

  /** @internal How many rows it keeps in memory. */
  get rowsHeld(): number {
    return this.#recent.length + this.#added.length;
  }

  /** @internal Something would be lost if this object were dropped now. */
  get hasUnsaved(): boolean {
    return this.#added.length > 0 || this.#cleared || this.#hasNewHeader;
  }

  /** @internal A /new is not on disk yet. */
  get isCleared(): boolean {
    return this.#cleared;
  }

  get #hasNewHeader(): boolean {
    const { lastConsolidated } = this.#log.header;
    return this.#cursor !== lastConsolidated || pythonJson(this.#metadata) !== this.#metadataAsStored;
  }

  /** @internal What a save would write now. */
  change(): Change {
    const metadataText = pythonJson(this.#metadata);
    const header: SessionHeader = {
      key: this.key,
      createdAt: this.#createdAt,
      updatedAt: this.#touchedAt ?? this.#loadedAt,
      // A copy: the log remembers it as what is stored, whatever becomes of the object in memory.
      metadata: parsePythonJson(metadataText) as Record<string, PythonValue>,
      lastConsolidated: this.#cursor,
    };
    const kind = this.#cleared ? "replace" : "append";
    return { kind, header, rows: [...this.#added], metadataText, clears: this.#clears };
  }

  /** @internal `change` is on disk now. */
  saved(change: Change): void {
    if (change.clears === this.#clears) {
      this.#added.splice(0, change.rows.length);
      this.#cleared = false;
    }
    this.#storedUpdatedAt = change.header.updatedAt;
    this.#metadataAsStored = change.metadataText;
    const before = change.kind === "replace" ? [] : this.#recent;
    this.#recent = [...before, ...change.rows].slice(-rowsInMemory);
  }

  /** @internal `change` could not be written: the conversation is what it was before. */
  rolledBack(change: Change): void {
    if (change.clears !== this.#clears) return; // cleared meanwhile: what could not be written is gone already
    this.#added.splice(0, change.rows.length);
    this.#cleared = false;
    this.#touchedAt = undefined;
    this.#adoptHeader(this.#log);
  }

  /** @internal Someone else wrote: take over what is on disk, keep what has been added here since. */
  rebase(log: SessionLog): void {
    const before = parsePythonJson(this.#metadataAsStored) as Record<string, PythonValue>;
    const own = this.#metadata;
    const ownCursor = this.#cursor === this.#log.header.lastConsolidated ? undefined : this.#cursor;
    const known = this.#log.length;
    const newest = this.#recent.at(-1);
    this.#adopt(log);
    this.#metadata = merged(before, own, this.#metadata);
    // A cursor counts rows: theirs come before those added here, and after their /new it would count the wrong ones.
    const continued = newest !== undefined && pythonJson(log.read(known - 1, known)[0]) === pythonJson(newest);
    if (ownCursor !== undefined && continued) this.#cursor = Math.min(ownCursor, known);
    if (this.#cleared) this.#cursor = 0;
  }

  /** @internal Forget everything in memory and start from what is on disk. */
  reload(log: SessionLog): void {
    this.#added = [];
    this.#cleared = false;
    this.#touchedAt = undefined;
    this.#adopt(log);
  }
}

/** `theirs` with what was changed here, from `before` to `own`, on top. */
function merged<T>(before: { [key: string]: T }, own: { [key: string]: T }, theirs: { [key: string]: T }) {
  const isOurs = (key: string): boolean =>
    Object.hasOwn(own, key) !== Object.hasOwn(before, key) || pythonJson(own[key]) !== pythonJson(before[key]);
  return objectInOrder([
    ...entriesInOrder(theirs).filter(([key]) => !isOurs(key) || Object.hasOwn(own, key)),
    ...entriesInOrder(own).filter(([key]) => isOurs(key)),
  ]);
}

/** `row` followed by the fields of `extras`; a field of both keeps its place and takes the later value, as in Python. */
const joined = (row: Row, extras: Readonly<Record<string, unknown>>): Row =>
  objectInOrder([...entriesInOrder(row), ...entriesInOrder(extras)]);
