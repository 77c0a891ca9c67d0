/** What can be wrong with the file of the ledger, in words for its owner. */
import { statSync } from "node:fs";
import { reasonOf, UserError } from "../util/errors.js";

/** SQLite's result codes: not whole; no database at all; not to be written; not to be opened. */
const [corrupt, noDatabase, readOnly, cannotOpen] = [11, 26, 8, 14];

const codeOf = (error: unknown): number => Number((error as { readonly errcode?: unknown }).errcode) & 0xff;

/** A file that is broken, in words; any other error as it is. */
export function explainDamage(file: string, error: unknown): unknown {
  if (![corrupt, noDatabase].includes(codeOf(error))) return error;
  return new UserError(
    `The ledger ${file} is damaged: ${reasonOf(error)}.`,
    "Take it from a backup, or save what can be saved with sqlite3's .recover. Or move it away, and the gateway begins " +
      "a new one: conversations are safe, but what was not answered or sent by then is forgotten.",
    { cause: error },
  );
}

/** Why a file could not be opened, in words. Once it is in use a full or read-only disk is waited for. */
export function explainOpening(file: string, error: unknown): unknown {
  if (![readOnly, cannotOpen].includes(codeOf(error))) return explainDamage(file, error);
  return new UserError(
    `The ledger ${file} cannot be used: ${reasonOf(error)}.`,
    "Make it and its folder readable and writable for this user; if a folder stands in its place, move that away.",
    { cause: error },
  );
}

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
