/** What can be wrong with the file of the ledger, in words for its owner. */
import { statSync } from "node:fs";
import { reasonOf, UserError } from "../util/errors.js";
import { explainRefusal, sqliteCode } from "../util/sqlite-file.js";

/** SQLite's result codes: not whole; no database at all. */
const [corrupt, noDatabase] = [11, 26];

/** A file that is broken, in words; any other error as it is. */
export function explainDamage(file: string, error: unknown): unknown {
  if (![corrupt, noDatabase].includes(sqliteCode(error))) return error;
  return new UserError(
    `The ledger ${file} is damaged: ${reasonOf(error)}.`,
    "Take it from a backup, or save what can be saved with sqlite3's .recover. Or move it away, and the gateway begins " +
      "a new one: conversations are safe, but what was not answered or sent by then is forgotten.",
    { cause: error },
  );
}

/** Why a file could not be opened, in words. Once it is in use a full or read-only disk is waited for. */
export const explainOpening = (file: string, error: unknown): unknown =>
  explainDamage(file, explainRefusal(file, error));

/** Throws once the file is not the one that was opened: what is written to that one is lost at the next start. */
export function createPresence(file: string): () => void {
  const opened = statSync(file).ino;
  return () => {
    if (statSync(file, { throwIfNoEntry: false })?.ino === opened) return;
    throw new UserError(
      `The ledger ${file} was removed or replaced while it was in use.`,
      "Start the gateway again. Until then it takes no messages: the platforms keep them.",
    );
  };
}
