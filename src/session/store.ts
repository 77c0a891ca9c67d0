/** The port every session driver implements; all of them pass the same suite, test/session/store.contract.ts. */
import type { Row, SessionKey } from "../message.js";
import type { PythonValue } from "./python-json.js";

/** The first line of a nanobot session file. */
export type SessionHeader = {
  readonly key: SessionKey;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly metadata: Readonly<Record<string, PythonValue>>;
  readonly lastConsolidated: number;
};

/** Something that could not be read. `line` counts from 1; 0 means the file as a whole. */
export type Damage = {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
};

/** One line of `list()`. */
export type SessionSummary = {
  readonly key: SessionKey;
  readonly createdAt: string | undefined;
  readonly updatedAt: string | undefined;
  /** Where it lies: a file, or for a driver without files of its own the entry's name. */
  readonly path: string;
};

/**
 * One conversation as a driver keeps it. Opening never changes anything on disk. A log knows what it read: both writes
 * throw {@link ChangedElsewhere} and touch nothing when somebody else has written since.
 */
export type SessionLog = {
  /** As stored, or the header a new conversation would get. */
  readonly header: SessionHeader;
  /** All rows, also those not in memory. */
  readonly length: number;
  /** Something is stored, be it a header only. */
  readonly isStored: boolean;
  readonly path: string;
  /** Nobody has written since this log was opened or last wrote. */
  isCurrent(): Promise<boolean>;
  /** Rows `from` up to, not including, `to`. Rows nobody can read any more are left out. */
  read(from: number, to: number): readonly Row[];
  /** The same as they stand in the file, readable or not; absent where rows are no lines of a file. */
  lines?(from: number, to: number): readonly string[];
  /** One turn as one unit, and the header. Resolves once it is durable; the cost depends on the turn, not on the log. */
  append(header: SessionHeader, rows: readonly Row[]): Promise<void>;
  /** All rows and the header anew, all or nothing. */
  replace(header: SessionHeader, rows: readonly Row[]): Promise<void>;
};

export type SessionStore = {
  open(key: SessionKey): Promise<SessionLog>;
  /** Every conversation, in no particular order. */
  list(): AsyncIterable<SessionSummary>;
  /**
   * Reads everything, or `only` one conversation, and names each damage. With `repair`, what is damaged is set aside and
   * what is left is kept.
   */
  verify(options: { readonly repair: boolean; readonly only?: SessionKey }): AsyncIterable<VerifyResult>;
  /** All files that are this driver's own, as absolute paths: what moves away when it no longer holds the sessions. */
  files(): Promise<string[]>;
  close(): Promise<void>;
};

export type VerifyResult = {
  readonly key: SessionKey;
  readonly path: string;
  readonly rows: number;
  readonly damage: readonly Damage[];
  /** Where the damaged original went, if it was repaired. */
  readonly setAside?: string;
};

/** A write was refused because the conversation is no longer what was read; open it again. */
export class ChangedElsewhere extends Error {
  override readonly name = "ChangedElsewhere";
  constructor(path: string) {
    super(`${path} was changed by another program since it was read`);
  }
}
