/** The embedded backend of the document driver: one SQLite file, safe to share between processes of one machine. */
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../util/errors.js";
import { type DocumentBackend, type Entry, noEntry } from "./document-backend.js";

/** `head` stands before `value`, so that a listing never has to read through the long column. */
const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS entries (
    key TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    head TEXT,
    value TEXT NOT NULL
  ) STRICT;
`;

/** SQLite waits this long inside a call, and everybody with it; the longer waiting is done between the calls. */
const busyTimeoutMs = 20;
const maxTries = 400;
const listPage = 256;

const resultBusy = 5;
const resultCorrupt = 11;
const resultNotADatabase = 26;

type Row = { readonly key: string; readonly revision: number; readonly head: string | null; readonly value: string };

type Connection = {
  readonly database: DatabaseSyncInstance;
  readonly inode: bigint;
  readonly select: StatementSyncInstance;
  readonly insert: StatementSyncInstance;
  readonly update: StatementSyncInstance;
  readonly page: StatementSyncInstance;
};

/** Nothing is opened before the first call, and nothing created before the first write. */
export function openSqliteBackend(file: string): DocumentBackend {
  let connection: Connection | undefined;

  const use = async <T>(create: boolean, work: (open: Connection) => T): Promise<T | undefined> => {
    const { DatabaseSync } = await import("@photostructure/sqlite");
    const connect = (): Connection | undefined => {
      const inode = inodeOf(file);
      if (connection && connection.inode !== inode) throw movedAway(file);
      if (connection || (inode === undefined && !create)) return connection;
      mkdirSync(dirname(file), { recursive: true });
      connection = prepared(new DatabaseSync(file, { timeout: busyTimeoutMs }), file);
      return connection;
    };
    return patiently(file, () => {
      const open = connect();
      return open && work(open);
    });
  };

  return {
    async get(key) {
      const row = await use(false, ({ select }) => select.get(key) as Row | undefined);
      return row && { ...entryOf(row), revision: row.revision };
    },

    async put(key, { value, head }, expected) {
      // One statement is one transaction.
      const result = await use(true, ({ insert, update }) =>
        expected === noEntry ? insert.run(key, head ?? null, value) : update.run(head ?? null, value, key, expected),
      );
      return result?.changes === 1 ? expected + 1 : "changed";
    },

    async *list(prefix) {
      for (let last = ""; ;) {
        const rows = await use(false, ({ page }) => page.all(prefix, last) as Row[]);
        for (const { key, head } of rows ?? []) {
          if (!key.startsWith(prefix)) return;
          yield head === null ? { key } : { key, head };
          last = key;
        }
        if ((rows?.length ?? 0) < listPage) return;
      }
    },

    async close() {
      // Statements keep the connection alive until they are collected; the file shall be complete without its log now.
      connection?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      connection?.database.close();
      connection = undefined;
    },
  };
}

function prepared(database: DatabaseSyncInstance, file: string): Connection {
  try {
    database.exec(schema);
    return {
      database,
      inode: inodeOf(file) ?? 0n,
      select: database.prepare("SELECT revision, head, value FROM entries WHERE key = ?"),
      insert: database.prepare(
        "INSERT INTO entries (key, revision, head, value) VALUES (?, 1, ?, ?) ON CONFLICT DO NOTHING",
      ),
      update: database.prepare(
        "UPDATE entries SET revision = revision + 1, head = ?, value = ? WHERE key = ? AND revision = ?",
      ),
      page: database.prepare(`SELECT key, head FROM entries WHERE key >= ? AND key > ? ORDER BY key LIMIT ${listPage}`),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** What we wrote to the old file would be gone, and SQLite's log of it would be taken for the new file's. */
const movedAway = (file: string): UserError =>
  new UserError(
    `${file} was moved away or replaced while nanogate was using it.`,
    "Stop nanogate before you touch the file. Put it back, or start nanogate anew.",
  );

const entryOf = ({ value, head }: Row): Entry => (head === null ? { value } : { value, head });

const inodeOf = (file: string): bigint | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;

/** Another process's write takes milliseconds; ours waits for it without stopping this process's other chats. */
async function patiently<T>(file: string, work: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return work();
    } catch (error) {
      const result = resultOf(error);
      if (result === resultCorrupt || result === resultNotADatabase) {
        throw new UserError(
          `${file} is damaged and cannot be read as an SQLite database.`,
          "Stop nanogate and put the file back from a backup, or move it away and recover it with sqlite3's .recover.",
          { cause: error },
        );
      }
      if (result !== resultBusy) throw error;
      if (tries >= maxTries) {
        throw new UserError(
          `Another process has kept ${file} locked for too long.`,
          "Stop the other program that has this file open, or wait until it is done.",
          { cause: error },
        );
      }
    }
    await sleep(1 + Math.random() * 20);
  }
}

/** SQLite's primary result code: the lowest byte of the one the error carries. */
function resultOf(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
