/** The tables of the ledger, and how an older file becomes a current one. */
import { UserError } from "../util/errors.js";
import type { Durably } from "./group-commit.js";

export type Row = Record<string, string | number | null>;
export type Statement = {
  run(...values: unknown[]): { readonly changes: number | bigint };
  get(...values: unknown[]): Row | undefined;
  all(...values: unknown[]): Row[];
};
export type Database = { exec(sql: string): void; prepare(sql: string): Statement; close(): void };

/** What the parts of the ledger work with. */
export type SqliteTables = {
  /** A statement, prepared once. */
  readonly sql: (text: string) => Statement;
  /** One transaction, with a place to die before and after it. */
  readonly durably: Durably;
  readonly now: () => number;
};

/**
 * The handles of conversations that a backend holds, and what each had seen. Harmless when repeated: whoever drops these
 * tables loses no message.
 */
export const handleTables = `CREATE TABLE IF NOT EXISTS sessions (
     id TEXT PRIMARY KEY, chat_id TEXT NOT NULL, message_count INTEGER DEFAULT 0,
     created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
   CREATE INDEX IF NOT EXISTS idx_sessions_chat_id ON sessions(chat_id);
   CREATE TABLE IF NOT EXISTS session_marks (id TEXT PRIMARY KEY, seen TEXT NOT NULL) WITHOUT ROWID;`;

/** Each is applied once, in order; never edited, only added to. */
const migrations: readonly string[] = [
  `CREATE TABLE inbox (
     id INTEGER PRIMARY KEY, trace TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, platform_id TEXT NOT NULL,
     chat TEXT NOT NULL, session TEXT NOT NULL, message TEXT NOT NULL, received_at INTEGER NOT NULL,
     attempts INTEGER NOT NULL DEFAULT 0, outcome TEXT, reason TEXT, finished_at INTEGER,
     UNIQUE (channel, platform_id));
   CREATE INDEX inbox_open ON inbox (id) WHERE outcome IS NULL;
   CREATE INDEX inbox_chat ON inbox (channel, chat);
   CREATE TABLE steps (item INTEGER NOT NULL REFERENCES inbox (id), number INTEGER NOT NULL, step TEXT NOT NULL,
     PRIMARY KEY (item, number)) WITHOUT ROWID;
   CREATE TABLE turns (item INTEGER PRIMARY KEY REFERENCES inbox (id), turn TEXT NOT NULL, outcome TEXT NOT NULL,
     reason TEXT, appended INTEGER NOT NULL DEFAULT 0);
   CREATE TABLE outbox (
     id INTEGER PRIMARY KEY, item INTEGER REFERENCES inbox (id), channel TEXT NOT NULL, chat TEXT NOT NULL,
     message TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL,
     may_repeat INTEGER NOT NULL DEFAULT 0, receipt TEXT, reason TEXT, created_at INTEGER NOT NULL, finished_at INTEGER);
   CREATE INDEX outbox_open ON outbox (channel, chat, id) WHERE state IN ('held', 'pending', 'sending');
   CREATE INDEX outbox_item ON outbox (item);
   CREATE TABLE events (item INTEGER NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL);
   CREATE INDEX events_item ON events (item);`,
  // What is left of messages that were finished long ago, and a way to count outcomes without reading messages.
  `CREATE TABLE seen (channel TEXT NOT NULL, platform_id TEXT NOT NULL, chat TEXT NOT NULL,
     PRIMARY KEY (channel, platform_id)) WITHOUT ROWID;
   CREATE INDEX seen_chat ON seen (channel, chat);
   CREATE INDEX inbox_outcome ON inbox (outcome);`,
  // What became of each time a job was due, and how far each job has been decided.
  `CREATE TABLE occurrences (
     job TEXT NOT NULL, due_at INTEGER NOT NULL, how TEXT NOT NULL, until INTEGER NOT NULL, count INTEGER,
     name TEXT NOT NULL, late INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 1,
     not_before INTEGER NOT NULL DEFAULT 0, outcome TEXT, reason TEXT, decided_at INTEGER NOT NULL, ended_at INTEGER,
     PRIMARY KEY (job, due_at, how)) WITHOUT ROWID;
   CREATE INDEX occurrences_open ON occurrences (due_at) WHERE outcome IS NULL;
   CREATE INDEX occurrences_decided ON occurrences (decided_at);
   CREATE TABLE marks (
     job TEXT PRIMARY KEY, through INTEGER NOT NULL, timing TEXT NOT NULL, planned INTEGER,
     listed INTEGER, swept INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;`,
  handleTables,
  // What turns have cost, day by day.
  `CREATE TABLE usage (
     day TEXT NOT NULL, session TEXT NOT NULL, model TEXT NOT NULL, turns INTEGER NOT NULL, input INTEGER NOT NULL,
     output INTEGER NOT NULL, cached INTEGER NOT NULL, PRIMARY KEY (day, session, model)) WITHOUT ROWID;`,
  // Runs of jobs are found by their ids alone, whichever chat they answer to.
  `CREATE INDEX inbox_cron ON inbox (platform_id) WHERE platform_id GLOB 'cron-*';
   CREATE INDEX seen_cron ON seen (platform_id) WHERE platform_id GLOB 'cron-*';`,
  // How long a message is to wait, and how long it has been tried: clocks jump.
  `ALTER TABLE outbox ADD COLUMN wait_ms INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE outbox ADD COLUMN tried_ms INTEGER NOT NULL DEFAULT 0;`,
  // How far a message had come when its last attempt began: one that gets further has done no harm.
  `ALTER TABLE inbox ADD COLUMN begun_at_step INTEGER NOT NULL DEFAULT 0;`,
];

const versionOf = (db: Database): number => Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

export function refuseNewer(db: Database, file: string): void {
  const version = versionOf(db);
  if (version <= migrations.length) return;
  throw new UserError(
    `${file} was written by a newer nanogate (its version is ${version}, this one knows ${migrations.length}).`,
    "Use the newer nanogate again, or move the file away: open messages in it would be lost.",
  );
}

export function migrate(db: Database): void {
  for (const [at, migration] of migrations.entries()) {
    // Another process may be doing the same: whoever gets the lock second finds it done.
    db.exec("BEGIN IMMEDIATE");
    try {
      if (versionOf(db) <= at) db.exec(`${migration}; PRAGMA user_version = ${at + 1}`);
      db.exec("COMMIT");
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  }
}
