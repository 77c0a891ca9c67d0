/**
 * Keeps two processes from writing in one folder at the same time. The lock is SQLite's own, on an empty database
 * file: the operating system takes it back when a process dies, so there is nothing stale to clean up, ever.
 */
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "./errors.js";
import { makeFolder } from "./folder.js";
import { explainRefusal, sqliteCode } from "./sqlite-file.js";

export type ProcessLock = {
  /** Runs `work` while no other process is inside. Work of this process runs side by side. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  close(): void;
};

/** After so many entries the process stays out for a while, so that a busy one cannot shut others out for ever. */
const entriesPerTurn = 256;
/** Longer than the longest pause between two tries of a waiting process. */
const othersTurnMs = 15;
const patienceMs = 30_000;
const busy = 5;

type Connection = { exec(sql: string): void; close(): void };

export function createProcessLock(file: string): ProcessLock {
  let database: Connection | undefined;
  let inside = 0;
  let entries = 0;
  let othersTurn: Promise<void> | undefined;
  let acquired = Promise.resolve();
  let left = Promise.resolve();
  let leave = (): void => {};

  const acquire = async (): Promise<void> => {
    if (!database) {
      // Loaded on the first write: reading sessions needs no SQLite.
      const { DatabaseSync } = await import("@photostructure/sqlite");
      makeFolder(dirname(file));
      try {
        database = new DatabaseSync(file, { timeout: 0 });
      } catch (error) {
        throw explainRefusal(file, error);
      }
      // Nothing is ever written to it, so a journal file made and removed for each hold would be for nothing.
      database.exec("PRAGMA journal_mode = MEMORY");
    }
    for (let waited = 0; ;) {
      try {
        database.exec("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (sqliteCode(error) !== busy) throw explainRefusal(file, error);
        if (waited > patienceMs) {
          throw new UserError(
            `Another process has kept ${file} locked for ${patienceMs / 1000} seconds.`,
            "Stop the other nanogate that uses this workspace, or wait until it is done.",
            { cause: error },
          );
        }
      }
      const pause = 1 + Math.random() * 9;
      waited += pause;
      await sleep(pause);
    }
  };

  const enter = async (): Promise<void> => {
    while (othersTurn || (inside > 0 && entries >= entriesPerTurn)) await (othersTurn ?? left);
    entries++;
    if (inside++ === 0) {
      ({ promise: left, resolve: leave } = promiseWithResolver());
      acquired = acquire();
    }
    try {
      await acquired;
    } catch (error) {
      if (--inside === 0) leave();
      throw error;
    }
  };

  const exit = (): void => {
    if (--inside > 0) return;
    database?.exec("ROLLBACK");
    if (entries >= entriesPerTurn) {
      entries = 0;
      othersTurn = sleep(othersTurnMs).then(() => void (othersTurn = undefined));
    }
    leave();
  };

  return {
    async hold(work) {
      await enter();
      try {
        return await work();
      } finally {
        exit();
      }
    },
    close() {
      database?.close();
      database = undefined;
    },
  };
}

function promiseWithResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
