/** The command line: one file per command; this one hands over and turns errors into words and exit codes. */
import { Command, CommanderError } from "commander";
import { errorCode, UserError } from "../util/errors.js";
import { findPackage } from "../util/package-root.js";
import { addChatCommand } from "./chat.js";
import { addCronCommand } from "./cron.js";
import { addGatewayCommands } from "./gateway-commands.js";
import { addMemoryCommand } from "./memory.js";
import { addSessionsCommand } from "./sessions.js";
import { addStartCommand } from "./start.js";
import { exit, NotFound, WrongUse, processTerminal, type Terminal } from "./terminal.js";

export async function main(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  let code: number = exit.ok;
  const program = new Command("nanogate")
    .description("A gateway between people's chats and a language model that loses nothing.")
    .version(findPackage().version)
    .option("--home <folder>", "where config and workspace lie (default: $NANOGATE_HOME, ~/.nanogate or ~/.nanobot)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text.trimEnd()), writeErr: (text) => terminal.err(text) });
  const parts = { terminal, end: (result: number) => void (code = result) };
  addStartCommand(program, parts);
  await addGatewayCommands(program, parts, args);
  addChatCommand(program, parts);
  addSessionsCommand(program, parts);
  addMemoryCommand(program, parts);
  addCronCommand(program, parts);
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exit.ok : exit.usage;
    if (isRefusal(error)) {
      terminal.err(`nanogate: The system refused: ${error.message}\n  → ${refusals[error.code]}\n`);
      return exit.failed;
    }
    if (!(error instanceof UserError)) throw error;
    terminal.err(`nanogate: ${error.message}\n  → ${error.fix}\n`);
    if (error instanceof WrongUse) return exit.usage;
    return error instanceof NotFound ? exit.notFound : exit.failed;
  }
}

/** What people can do about files that cannot be read or written. Anything else is a mistake of ours, and ends with a trace. */
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
