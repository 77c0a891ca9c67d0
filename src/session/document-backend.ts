/** The port under the document driver: a store of named texts. A new database is one more file that keeps this contract. */

/** One entry. Texts are well-formed Unicode without NUL, so that every database can hold them. */
export type Entry = {
  readonly value: string;
  /** What we keep beside the value; entries written by others have none. */
  readonly head?: string;
};

export type StoredEntry = Entry & {
  /** Different after every write; never {@link noEntry}. */
  readonly revision: number;
};

/** Stands for the revision of an entry that is not there. */
export const noEntry = 0;

/**
 * Keys are compared code point by code point: no folding of case, no normal forms. Nothing is cached and nothing
 * expires: what one process has put, every process gets, until it is put again.
 */
export type DocumentBackend = {
  /** Undefined only if there is surely no such entry; whatever could not be read throws. Creates nothing. */
  get(key: string): Promise<StoredEntry | undefined>;
  /**
   * Writes value and head as one: after a crash, whenever it comes, both are the old ones or both the new ones. It
   * happens only while the stored revision is `expected`, else the answer is `"changed"` and nothing has happened. The
   * new revision is returned once the write is durable; a put that throws may have happened or not.
   */
  put(key: string, entry: Entry, expected: number): Promise<number | "changed">;
  /** Every entry whose key starts with `prefix`, in no particular order, without the (long) values. Creates nothing. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly head?: string }>;
  close(): Promise<void>;
};
