/** The interactive chat: streaming answers, tool hints, Ctrl-C for the turn, twice for the door. */
import { join } from "node:path";
import type { TurnEvent } from "../agent/loop.js";
import { type App, createApp } from "../app.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { createLanes } from "../gateway/lanes.js";
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
const graceMs = 10_000;

export async function talk(options: Options, terminal: Terminal): Promise<number> {
  const settings = loadSettings(findHome(options.home, process.env), process.env);
  const from = addressOf(options.session);
  const session = keyOf(from);
  const paint: Paint = (style, text) => styled(terminal, style, text);
  const view = createChatView({ screen: processScreen, paint, markdown: options.markdown });
  // A subagent's report is a turn like any other, and waits for the one that is running.
  const lanes = createLanes({ limit: 1 });
  const app: App = await createApp({
    settings,
    world: systemWorld({ warn: (message) => view.aside(paint("yellow", message)) }),
    send: async ({ to, text, media }, origin) => {
      if (to.channel !== origin.channel || to.chat !== origin.chat) {
        throw new UserError(`${keyOf(to)} can only be reached while the gateway runs.`, "Run nanogate gateway.");
      }
      view.message([text, ...media.map((path) => `(file: ${path})`)].join("\n"));
    },
    report: (origin, text) =>
      lanes.run(session, async (signal) => {
        const { reply } = await app.answer({ ...origin, text, signal });
        if (reply !== undefined) input.above(() => view.message(reply));
      }),
  });
  if (app.notice !== undefined) view.aside(paint("yellow", app.notice));
  const hint = paint("dim", `${app.modelName} · ${session} · /help · exit leaves`);
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
      await lanes.run(session, () => oneTurn(text));
    }
  } finally {
    process.off("SIGTERM", leave).off("SIGHUP", leave);
    input.close();
    processScreen.write(`${paint("dim", "Goodbye!")}\n`);
    await app.close(graceMs);
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
    try {
      const command = await app.runCommand(text, session, abort.signal);
      if (command) {
        return view.end(command.kind === "reply" ? command.text : stopped(app.stopSubagents(session)));
      }
      const on = (event: TurnEvent): void => view.show(event);
      const { reply } = await app.answer({ session, from, text, signal: abort.signal, on });
      view.end(reply);
    } catch (error) {
      view.fail(
        abort.signal.aborted ? paint("dim", "Stopped. Nothing of this turn was stored.") : inWords(error, paint),
      );
    } finally {
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

const stopped = (count: number): string => (count === 0 ? "No active task to stop." : `Stopped ${count} task(s).`);

const processScreen = {
  write: (text: string): void => void process.stdout.write(text),
  get columns() {
    return process.stdout.columns || 80;
  },
  get rows() {
    return process.stdout.rows || 24;
  },
};
