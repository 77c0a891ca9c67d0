/** Changes of the ledger that come at the same moment share one transaction, and with it one wait for the disk. */
import type { Database } from "./ledger-schema.js";

export type Durably = <T>(point: string, work: () => T) => Promise<T>;

export type GroupCommit = {
  /** Resolves with what `work` returned once that is safe on disk. In the order of the calls. */
  readonly durably: Durably;
  /**
   * The same without waiting for the disk, for what nobody outside depends on yet. A process that is killed leaves it behind
   * all the same; a power cut can take it only until the next change that is waited for.
   */
  readonly soon: Durably;
  /** Resolves when nothing waits to be written. */
  readonly idle: () => Promise<void>;
};

type Change = {
  readonly point: string;
  readonly isAwaited: boolean;
  readonly work: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
};

export function createGroupCommit(db: Pick<Database, "exec">, reach: (point: string) => void): GroupCommit {
  let waiting: Change[] = [];
  let mode = "FULL";

  /** With FULL, the disk has it before a commit returns; with NORMAL, the system has. */
  const waitForDisk = (wanted: "FULL" | "NORMAL"): void => {
    if (mode !== wanted) db.exec(`PRAGMA synchronous = ${wanted}`);
    mode = wanted;
  };
  let written: Promise<void> = Promise.resolve();

  /** All of them or none. */
  const commit = (changes: readonly Change[]): unknown[] => {
    reach("before commit");
    waitForDisk(changes.some(({ isAwaited }) => isAwaited) ? "FULL" : "NORMAL");
    db.exec("BEGIN IMMEDIATE");
    try {
      const results = changes.map(({ work }) => work());
      db.exec("COMMIT");
      return results;
    } catch (error) {
      try {
        db.exec("ROLLBACK");
      } catch {
        // On a full or failing disk SQLite has rolled back by itself.
      }
      throw error;
    }
  };

  const write = (changes: readonly Change[]): void => {
    let results: unknown[];
    try {
      results = commit(changes);
    } catch (error) {
      // One of them may be what was wrong; the others have nothing to do with it.
      if (changes.length > 1) for (const change of changes) write([change]);
      else changes[0]?.reject(error);
      return;
    }
    for (const [at, { point, resolve, reject }] of changes.entries()) {
      try {
        reach(`after ${point}`);
        resolve(results[at] as never);
      } catch (error) {
        reject(error);
      }
    }
  };

  const change =
    (isAwaited: boolean): Durably =>
    (point, work) =>
      new Promise((resolve, reject) => {
        reach(`before ${point}`);
        waiting.push({ point, isAwaited, work, resolve, reject });
        if (waiting.length > 1) return;
        // Whatever else this round of the event loop brings goes along.
        written = new Promise((done) => {
          setImmediate(() => {
            const changes = waiting;
            waiting = [];
            write(changes);
            done();
          });
        });
      });

  return { durably: change(true), soon: change(false), idle: () => written };
}
