/** `nanogate chat -m`: one question, one answer on stdout; when it returns, the turn is stored. */
import { openConversation } from "../app/conversation.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { ModelError } from "../providers/provider.js";
import { systemWorld } from "../world.js";
import { exit, type Terminal, WrongUse } from "./terminal.js";

export type AskOptions = { readonly home?: string; readonly session: string; readonly json?: boolean };

export async function askOnce(question: string, options: AskOptions, terminal: Terminal): Promise<number> {
  if (question.trim() === "") throw new WrongUse("There is nothing to ask.", 'For instance: nanogate chat -m "hello"');
  // In one-shot mode nanobot takes the session exactly as it is given.
  const { session } = options;
  const sent: string[] = [];
  const conversation = await openConversation({
    settings: loadSettings(findHome(options.home, process.env), process.env),
    world: systemWorld(),
    session,
    from: { channel: "cli", chat: "direct" },
    heard: (text) => void sent.push(text),
    once: true,
  });
  if (conversation.notice !== undefined) terminal.err(`nanogate: ${conversation.notice}\n`);
  const abort = new AbortController();
  const cancel = (): void => abort.abort(new Error("cancelled"));
  process.once("SIGINT", cancel).once("SIGTERM", cancel);
  try {
    const { reply, toolsUsed, usage, end } = await conversation.ask(question, { signal: abort.signal });
    const text = [...sent, ...(reply === undefined ? [] : [reply])].join("\n\n");
    print(terminal, options, session, text, { tools_used: toolsUsed, usage, end });
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
    await conversation.close();
  }
}

function print(terminal: Terminal, options: AskOptions, session: string, reply: string, more: object = {}): void {
  if (options.json) terminal.out(JSON.stringify({ session, reply, ...more }));
  else terminal.out(reply);
}
