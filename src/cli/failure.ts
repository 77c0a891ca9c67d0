/** Errors as words for people and exit codes for scripts. Whatever has none here is a mistake of ours. */
import { errorCode, UserError } from "../util/errors.js";
import { exit, NotFound, WrongUse } from "./terminal.js";

export type Failure = { readonly message: string; readonly fix: string; readonly code: number };

export function failureOf(error: unknown): Failure | undefined {
  if (isRefusal(error)) {
    return { message: `The system refused: ${error.message}`, fix: refusals[error.code], code: exit.failed };
  }
  if (!(error instanceof UserError)) return undefined;
  const { message, fix } = error;
  return { message, fix, code: codeOf(error) };
}

function codeOf(error: UserError): number {
  if (error instanceof WrongUse) return exit.usage;
  return error instanceof NotFound ? exit.notFound : exit.failed;
}

/** What people can do about files that cannot be read or written. Anything else ends with a trace. */
const refusals = {
  EACCES: "Make the file or folder readable and writable for this user.",
  EPERM: "Make the file or folder readable and writable for this user.",
  EROFS: "The disk is read-only: choose another place with --home.",
  ENOSPC: "Make room on the disk.",
  EDQUOT: "Make room on the disk.",
  ENOTDIR: "A file stands where a folder should be: move it away.",
  EEXIST: "A file stands where a folder should be: move it away.",
  EISDIR: "A folder stands where a file should be: move it away.",
  ELOOP: "Links lead in a circle there: correct them.",
  EMFILE: "Too many files are open: raise the limit (ulimit -n).",
} as const;

const isRefusal = (error: unknown): error is Error & { readonly code: keyof typeof refusals } =>
  (errorCode(error) ?? "") in refusals;
