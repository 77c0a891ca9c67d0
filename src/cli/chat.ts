/** `nanogate chat`: talk to the agent in the terminal, or ask one thing with -m or through a pipe. */
import type { Command } from "commander";
import { UserError } from "../util/errors.js";
import { readBeside, readPiped } from "./piped.js";
import type { CommandParts, Terminal } from "./terminal.js";

type Options = { home?: string; message?: string; session: string; json?: boolean; markdown: boolean };

export function addChatCommand(program: Command, { terminal, end }: CommandParts): void {
  program
    .command("chat")
    .description("talk to the agent in the terminal")
    .option("-m, --message <text>", "ask one thing and leave; text from a pipe is the question, or stands behind it")
    .option("-s, --session <key>", "the conversation", "cli:direct")
    .option("--json", "print the answer as JSON")
    .option("--no-markdown", "print the answer as it comes")
    .action(async (_, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      if (options.message === undefined && process.stdin.isTTY) {
        if (options.json || !process.stdout.isTTY) throw noTerminal(options.json);
        const { talk } = await import("./chat-interactive.js");
        return end(await talk(options, terminal));
      }
      const { askOnce } = await import("./chat-once.js");
      end(await askOnce(await questionFrom(options.message, terminal), options, terminal));
    });
}

const noTerminal = (json: boolean | undefined): UserError =>
  new UserError(
    json ? "--json answers one question, and there is none." : "A chat needs a terminal on both sides.",
    'Ask with -m, or through a pipe: nanogate chat -m "hello"',
  );

/** The question, and behind it what it is about. */
async function questionFrom(message: string | undefined, terminal: Terminal): Promise<string> {
  if (message === undefined) return readPiped(process.stdin);
  if (message.trim() === "") return "";
  const about = process.stdin.isTTY ? "" : await readBeside(process.stdin, terminal);
  return about.trim() === "" ? message : `${message}\n\n${about}`;
}
