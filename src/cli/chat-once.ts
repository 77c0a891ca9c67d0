/** `nanogate chat -m`: one question, one answer on stdout; when it returns, the turn is stored. */
import { createApp } from "../app.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { ModelError } from "../providers/provider.js";
import { UserError } from "../util/errors.js";
import { systemWorld } from "../world.js";
import { exit, type Terminal } from "./terminal.js";

export type AskOptions = { readonly home?: string; readonly session: string; readonly json?: boolean };

/** A consolidation that a single question has started may take so long; what is not done by then the next run does. */
const graceMs = 10_000;

export async function askOnce(question: string, options: AskOptions, terminal: Terminal): Promise<number> {
  if (question.trim() === "") throw new UserError("There is nothing to ask.", 'For instance: nanogate chat -m "hello"');
  const world = systemWorld();
  const sent: string[] = [];
  const app = await createApp({
    settings: loadSettings(findHome(options.home, process.env), process.env),
    world,
    send: async ({ to, text }, from) => {
      if (to.channel !== from.channel || to.chat !== from.chat) {
        throw new Error(`${to.channel}:${to.chat} can only be reached while the gateway runs`);
      }
      sent.push(text);
    },
  });
  if (app.notice !== undefined) terminal.err(`nanogate: ${app.notice}\n`);
  const abort = new AbortController();
  const cancel = (): void => abort.abort(new Error("cancelled"));
  process.once("SIGINT", cancel).once("SIGTERM", cancel);
  // In one-shot mode nanobot takes the session exactly as it is given.
  const session = options.session;
  try {
    const command = await app.runCommand(question, session, abort.signal);
    if (command) {
      print(terminal, options, session, command.kind === "reply" ? command.text : "No active task to stop.");
      return exit.ok;
    }
    const result = await app.answer({
      session,
      from: { channel: "cli", chat: "direct" },
      text: question,
      signal: abort.signal,
    });
    const reply = [...sent, ...(result.reply === undefined ? [] : [result.reply])].join("\n\n");
    print(terminal, options, session, reply, { tools_used: result.toolsUsed, usage: result.usage, end: result.end });
    return exit.ok;
  } catch (error) {
    if (abort.signal.aborted) {
      terminal.err("nanogate: cancelled; nothing was stored.\n");
      return exit.failed;
    }
    if (!(error instanceof ModelError)) throw error;
    if (options.json)
      terminal.out(JSON.stringify({ session, error: { kind: error.kind, message: error.message, fix: error.fix } }));
    throw error;
  } finally {
    process.off("SIGINT", cancel).off("SIGTERM", cancel);
    await app.close(graceMs);
  }
}

function print(terminal: Terminal, options: AskOptions, session: string, reply: string, more: object = {}): void {
  if (options.json) terminal.out(JSON.stringify({ session, reply, ...more }));
  else terminal.out(reply);
}
