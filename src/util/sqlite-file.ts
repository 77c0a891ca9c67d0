/** Why SQLite cannot use a file, in words for its owner. */
import { reasonOf, UserError } from "./errors.js";

/** SQLite's result codes: not to be written; not to be opened. */
const [readOnly, cannotOpen] = [8, 14];

export const sqliteCode = (error: unknown): number => Number((error as { readonly errcode?: unknown }).errcode) & 0xff;

/** A file that this user may not use, in words; any other error as it is. */
export function explainRefusal(file: string, error: unknown): unknown {
  if (![readOnly, cannotOpen].includes(sqliteCode(error))) return error;
  return new UserError(
    `${file} cannot be used: ${reasonOf(error)}.`,
    "Make it and its folder readable and writable for this user; if a folder stands in its place, move that away.",
    { cause: error },
  );
}
