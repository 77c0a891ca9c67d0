/** `nanogate chat`: talk to the agent in the terminal, or ask one thing with -m or through a pipe. */
import { isUtf8 } from "node:buffer";
import type { Command } from "commander";
import { UserError } from "../util/errors.js";
import type { CommandParts } from "./terminal.js";

type Options = { home?: string; message?: string; session: string; json?: boolean; markdown: boolean };

export function addChatCommand(program: Command, { terminal, end }: CommandParts): void {
  program
    .command("chat")
    .description("talk to the agent in the terminal")
    .option("-m, --message <text>", "ask one thing and leave; also read from a pipe")
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
      end(await askOnce(options.message ?? (await readAll(process.stdin)), options, terminal));
    });
}

const noTerminal = (json: boolean | undefined): UserError =>
  new UserError(
    json ? "--json answers one question, and there is none." : "A chat needs a terminal on both sides.",
    'Ask with -m, or through a pipe: nanogate chat -m "hello"',
  );

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  const all = Buffer.concat(parts);
  if (isUtf8(all) && !all.includes(0)) return all.toString("utf8");
  throw new UserError("What came through the pipe is not text.", "Send text, or name the file in your question.");
}
