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
  /** The header's metadata as text: the object itself may change while it is being written. */
  readonly metadataText: string;
};

/** So many of the newest rows stay in memory; older ones are read from disk when somebody asks for them. */
const rowsInMemory = 512;

export class Session {
  readonly key: SessionKey;
  readonly #clock: Clock;
  #log: SessionLog;
  /** The newest stored rows, up to row number `#log.length`. */
  #recent: Row[] = [];
  #added: Row[] = [];
  /** Cleared since the last save: what the log holds is to go. */
  #cleared = false;
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
    const firstInMemory = stored - this.#recent.length;
    const older = from < firstInMemory ? this.#log.read(from, Math.min(to, firstInMemory)) : [];
    const recent = this.#recent.slice(Math.max(0, from - firstInMemory), Math.max(0, to - firstInMemory));
    const added = this.#added.slice(Math.max(0, from - stored), Math.max(0, to - stored));
    return [...older, ...(stored === 0 ? [] : recent), ...added];
  }

  /** The rows a model is shown, as nanobot v0.1.4.post4 picks them: not yet consolidated, the last `max`, from a user row on. */
  history(max: number = defaultHistoryRows): ViewRow[] {
    return historyView(this.slice(historyStart(this.length, this.#cursor, max)));
  }

  /** Removes all rows. The file keeps them until the next save. */
  clear(): void {
    this.#cleared = true;
    this.#recent = [];
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
    const { createdAt, updatedAt, metadata, lastConsolidated } = log.header;
    this.#createdAt = createdAt;
    this.#storedUpdatedAt = updatedAt;
    this.#metadataAsStored = pythonJson(metadata);
    this.#metadata = parsePythonJson(this.#metadataAsStored) as Record<string, PythonValue>;
    this.#cursor = lastConsolidated;
    this.#recent = [...log.read(Math.max(0, log.length - rowsInMemory), log.length)];
    this.#loadedAt = this.#clock();
  }

  // ── For the SessionManager ────────────────────────────────────────────────────────────────────────────────────────

  /** @internal The log that is written to. */
  get log(): SessionLog {
    return this.#log;
  }

  /** @internal Something would be lost if this object were dropped now. */
  get hasUnsaved(): boolean {
    return this.#added.length > 0 || this.#cleared || this.#hasNewHeader;
  }

  get #hasNewHeader(): boolean {
    const { lastConsolidated } = this.#log.header;
    return this.#cursor !== lastConsolidated || pythonJson(this.#metadata) !== this.#metadataAsStored;
  }

  /** @internal What a save would write now. */
  change(): Change {
    const header: SessionHeader = {
      key: this.key,
      createdAt: this.#createdAt,
      updatedAt: this.#touchedAt ?? this.#loadedAt,
      metadata: this.#metadata,
      lastConsolidated: this.#cursor,
    };
    const metadataText = pythonJson(this.#metadata);
    return { kind: this.#cleared ? "replace" : "append", header, rows: [...this.#added], metadataText };
  }

  /** @internal `change` is on disk now. */
  saved(change: Change): void {
    this.#added.splice(0, change.rows.length);
    this.#cleared = false;
    this.#storedUpdatedAt = change.header.updatedAt;
    this.#metadataAsStored = change.metadataText;
    this.#recent.push(...change.rows);
    if (this.#recent.length > 2 * rowsInMemory) this.#recent = this.#recent.slice(-rowsInMemory);
  }

  /** @internal `change` could not be written: the conversation is what it was before. */
  rolledBack(change: Change): void {
    this.#added.splice(0, change.rows.length);
    this.#cleared = false;
    this.#touchedAt = undefined;
    this.#adopt(this.#log);
  }

  /** @internal Someone else wrote: take over what is on disk, keep what has been added here since. */
  rebase(log: SessionLog): void {
    const metadata = this.#metadata;
    const ownMetadata = pythonJson(metadata) !== this.#metadataAsStored;
    const ownCursor = this.#cursor === this.#log.header.lastConsolidated ? undefined : this.#cursor;
    const shrunk = log.length < this.#log.length;
    this.#adopt(log);
    if (ownMetadata) this.#metadata = metadata;
    // A cursor counts rows; after somebody else's /new it would count the wrong ones.
    if (ownCursor !== undefined && !shrunk) this.#cursor = Math.min(ownCursor, log.length);
  }

  /** @internal Forget everything in memory and start from what is on disk. */
  reload(log: SessionLog): void {
    this.#added = [];
    this.#cleared = false;
    this.#touchedAt = undefined;
    this.#adopt(log);
  }
}

/** `row` followed by the fields of `extras`; a field of both keeps its place and takes the later value, as in Python. */
const joined = (row: Row, extras: Readonly<Record<string, unknown>>): Row =>
  objectInOrder([...entriesInOrder(row), ...entriesInOrder(extras)]);
