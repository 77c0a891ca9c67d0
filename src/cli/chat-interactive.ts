/** The interactive chat: streaming answers, tool hints, Ctrl-C for the turn, twice for the door. */
import { join } from "node:path";
import { styleText } from "node:util";
import { type App, createApp } from "../app.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { ModelError } from "../providers/provider.js";
import { keyOf } from "../message.js";
import { reasonOf, UserError } from "../util/errors.js";
import { systemWorld } from "../world.js";
import { openChatInput } from "./chat-input.js";
import { addressOf } from "./chat-session.js";
import { createLiveText } from "./live-text.js";
import { createSpinner } from "./spinner.js";
import { exit, type Terminal } from "./terminal.js";

type Options = { readonly home?: string; readonly session: string; readonly markdown: boolean };

/** What ends a chat, as in nanobot. */
const exitWords = new Set(["exit", "quit", "/exit", "/quit", ":q"]);
const graceMs = 10_000;

export async function talk(options: Options, terminal: Terminal): Promise<number> {
  const settings = loadSettings(findHome(options.home, process.env), process.env);
  const from = addressOf(options.session);
  const session = keyOf(from);
  const write = (text: string): void => void process.stdout.write(text);
  const say = (text: string): void => {
    spinner.stop();
    const live = createLiveText(write, terminal.columns, options.markdown);
    write(`\n${styleText("cyan", "nanogate")}\n`);
    live.replace(text);
    write("\n");
  };
  const spinner = createSpinner(write, "thinking… (Ctrl-C stops)");
  const app: App = await createApp({
    settings,
    world: systemWorld({ warn: (message) => write(`${styleText("yellow", message)}\n`) }),
    send: async ({ to, text, media }, origin) => {
      if (to.channel !== origin.channel || to.chat !== origin.chat) {
        throw new UserError(`${keyOf(to)} can only be reached while the gateway runs.`, "Run nanogate gateway.");
      }
      say([text, ...media.map((path) => `(file: ${path})`)].join("\n"));
    },
    report: async (origin, text) => {
      const { reply } = await app.answer({ ...origin, text, signal: new AbortController().signal });
      if (reply !== undefined) say(reply);
    },
  });
  if (app.notice !== undefined) write(`${styleText("yellow", app.notice)}\n`);
  write(
    `${styleText("bold", "nanogate")} ${styleText("dim", `${app.modelName} · ${session} · /help · exit leaves`)}\n\n`,
  );

  const input = openChatInput(join(settings.home, "history", "cli_history"));
  let leaving = false;
  try {
    for (;;) {
      const typed = await input.next();
      if (typed.kind === "end") break;
      if (typed.kind === "interrupt") {
        if (leaving) break;
        leaving = true;
        write(`\n${styleText("dim", "Ctrl-C again leaves.")}\n`);
        continue;
      }
      leaving = false;
      const text = typed.text.trim();
      if (text === "") continue;
      if (exitWords.has(text.toLowerCase())) break;
      leaving = !(await oneTurn(text));
    }
  } finally {
    input.close();
    write("\nGoodbye!\n");
    await app.close(graceMs);
  }
  return exit.ok;

  /** False if it was cancelled: then another Ctrl-C leaves. */
  async function oneTurn(text: string): Promise<boolean> {
    const abort = new AbortController();
    input.onInterrupt(() => abort.abort(new Error("stopped")));
    spinner.start();
    const live = createLiveText(write, terminal.columns, options.markdown);
    let begun = false;
    const begin = (): void => {
      spinner.stop();
      if (!begun) write(`\n${styleText("cyan", "nanogate")}\n`);
      begun = true;
    };
    try {
      const command = await app.runCommand(text, session, abort.signal);
      if (command) {
        begin();
        live.replace(command.kind === "reply" ? command.text : stopped(app.stopSubagents(session)));
        write("\n");
        return true;
      }
      const { reply } = await app.answer({
        session,
        from,
        text,
        signal: abort.signal,
        on(event) {
          if (event.kind === "text") {
            begin();
            live.add(event.text);
          } else if (event.kind === "restart") {
            live.clear();
          } else if (event.kind === "progress") {
            begin();
            write(`${styleText("dim", `  ↳ ${event.text}`)}\n`);
          } else if (event.kind === "tool-call") {
            spinner.stop();
            write(`${styleText("dim", `  ↳ ${event.hint}`)}\n`);
            spinner.start();
          }
        },
      });
      begin();
      if (reply !== undefined) live.replace(reply);
      write("\n");
      return true;
    } catch (error) {
      spinner.stop();
      live.clear();
      if (abort.signal.aborted) {
        write(`\n${styleText("dim", "Stopped. Nothing of this turn was stored.")}\n`);
        return false;
      }
      write(`\n${styleText("red", error instanceof ModelError ? error.told : reasonOf(error))}\n`);
      if (error instanceof UserError) write(`${styleText("dim", `  ${error.message}\n  → ${error.fix}`)}\n`);
      return true;
    } finally {
      spinner.stop();
      input.onInterrupt(() => {});
    }
  }
}

const stopped = (count: number): string => (count === 0 ? "No active task to stop." : `Stopped ${count} task(s).`);
