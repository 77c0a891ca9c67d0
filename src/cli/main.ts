/** The command line: one file per command; this one hands over and turns errors into words and exit codes. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { findPackage } from "../util/package-root.js";
import { addChatCommand } from "./chat.js";
import { addCronCommand } from "./cron.js";
import { failureOf } from "./failure.js";
import { addGatewayCommands } from "./gateway-commands.js";
import { addMemoryCommand } from "./memory.js";
import { addSessionsCommand } from "./sessions.js";
import { addStartCommand } from "./start.js";
import { exit, processTerminal, type Terminal } from "./terminal.js";

export async function main(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  let code: number = exit.ok;
  const program = new Command("nanogate")
    .description("A gateway between people's chats and a language model that loses nothing.")
    .version(findPackage().version)
    .option(
      "--home <folder>",
      "where config and workspace lie (default: $NANOGATE_HOME, ~/.nanogate or ~/.nanobot)",
      namedFolder,
    )
    .helpCommand(true)
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
    const failure = failureOf(error);
    if (!failure) throw error;
    terminal.err(`nanogate: ${failure.message}\n  → ${failure.fix}\n`);
    return failure.code;
  }
}

/** A variable that was forgotten in a script must not stand for the usual home. */
function namedFolder(value: string): string {
  if (value.trim() === "") throw new InvalidArgumentError("It names no folder.");
  return value;
}
