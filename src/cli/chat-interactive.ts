/** The interactive chat: streaming answers, tool hints, Ctrl-C for the turn, twice for the door. */
import { join } from "node:path";
import { openConversation } from "../app/conversation.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { keyOf } from "../message.js";
import { ModelError } from "../providers/provider.js";
import { reasonOf, UserError } from "../util/errors.js";
import { systemWorld } from "../world.js";
import { openChatInput } from "./chat-input.js";
import { addressOf } from "./chat-session.js";
import { createChatView } from "./chat-view.js";
import { exit, type Paint, styled, type Terminal } from "./terminal.js";

type Options = { readonly home?: string; readonly session: string; readonly markdown: boolean };

/** What ends a chat, as in nanobot. */
const exitWords = new Set(["exit", "quit", "/exit", "/quit", ":q"]);

export async function talk(options: Options, terminal: Terminal): Promise<number> {
  const settings = loadSettings(findHome(options.home, process.env), process.env);
  const from = addressOf(options.session);
  const session = keyOf(from);
  const paint: Paint = (style, text) => styled(terminal, style, text);
  const view = createChatView({ screen: processScreen, paint, markdown: options.markdown });
  let inTurn = false;
  const conversation = await openConversation({
    settings,
    world: systemWorld({ warn: (message) => view.aside(paint("yellow", message)) }),
    session,
    from,
    heard: (text) => (inTurn ? view.message(text) : input.above(() => view.message(text))),
  });
  if (conversation.notice !== undefined) view.aside(paint("yellow", conversation.notice));
  const hint = paint("dim", `${conversation.modelName} · ${session} · /help · exit leaves`);
  view.aside(`${paint("bold", "nanogate")} ${hint}\n`);

  const history = join(settings.home, "history", "cli_history");
  const input = openChatInput(history, paint("bold", paint("blue", "You: ")));
  view.onAside((print) => input.above(print));
  let running: AbortController | undefined;
  let leaving = false;
  let left = false;
  const leave = (): void => {
    left = true;
    running?.abort(new Error("left"));
    input.end();
  };
  process.once("SIGTERM", leave).once("SIGHUP", leave);
  try {
    while (!left) {
      const typed = await input.next();
      if (typed.kind !== "line") processScreen.write("\n");
      if (typed.kind === "end") break;
      if (typed.kind === "interrupt") {
        if (leaving) break;
        leaving = true;
        processScreen.write(`${paint("dim", "Ctrl-C again leaves.")}\n`);
        continue;
      }
      const text = typed.text.trim();
      leaving = false;
      if (text === "") continue;
      if (exitWords.has(text.toLowerCase())) break;
      await oneTurn(text);
    }
  } finally {
    process.off("SIGTERM", leave).off("SIGHUP", leave);
    input.close();
    processScreen.write(`${paint("dim", "Goodbye!")}\n`);
    await conversation.close();
  }
  return exit.ok;

  async function oneTurn(text: string): Promise<void> {
    const abort = new AbortController();
    running = abort;
    input.onInterrupt(() => {
      if (abort.signal.aborted) return leave();
      leaving = true; // at the prompt that follows, too, another Ctrl-C leaves
      abort.abort(new Error("stopped"));
    });
    view.begin();
    inTurn = true;
    try {
      const { reply } = await conversation.ask(text, { signal: abort.signal, on: (event) => view.show(event) });
      view.end(reply);
    } catch (error) {
      view.fail(
        abort.signal.aborted ? paint("dim", "Stopped. Nothing of this turn was stored.") : inWords(error, paint),
      );
    } finally {
      inTurn = false;
      running = undefined;
      input.onInterrupt(() => {});
    }
  }
}

/** What a chat user understands, and below it what the owner can do about it. */
function inWords(error: unknown, paint: Paint): string {
  const told = paint("red", error instanceof ModelError ? error.told : reasonOf(error));
  if (!(error instanceof UserError)) return told;
  const detail = error instanceof ModelError ? `  ${error.message}\n` : "";
  return `${told}\n${paint("dim", `${detail}  → ${error.fix}`)}`;
}

const processScreen = {
  write: (text: string): void => void process.stdout.write(text),
  get columns() {
    return process.stdout.columns || 80;
  },
  get rows() {
    return process.stdout.rows || 24;
  },
};
