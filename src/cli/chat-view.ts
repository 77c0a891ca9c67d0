/** What one sees of a turn: a spinner, the tools it uses, and the answer as it grows. */
import type { TurnEvent } from "../agent/loop.js";
import { createLiveText } from "./live-text.js";
import { renderMarkdown } from "./markdown.js";
import { printable } from "./printable.js";
import { createSpinner } from "./spinner.js";
import type { Paint, Screen } from "./terminal.js";
import { folded } from "./text-width.js";

export type ChatViewParts = { readonly screen: Screen; readonly paint: Paint; readonly markdown: boolean };

export function createChatView({ screen, paint, markdown }: ChatViewParts) {
  const render = (source: string, columns: number): string =>
    markdown ? renderMarkdown(source, { paint, columns }) : printable(source).replaceAll("\t", "    ");
  const spinner = createSpinner(screen.write, paint("dim", "thinking… (Ctrl-C stops)"));
  const live = createLiveText(screen, render);
  const asides: string[] = [];
  let running = false;
  let named = false;
  let isVoid = false;
  let around = (print: () => void): void => print();

  const line = (text: string): void => screen.write(`${folded(text, screen.columns).join("\n")}\n`);
  const name = (): void => {
    spinner.stop();
    if (!named) line(`\n${paint("cyan", "nanogate")}`);
    named = true;
  };
  /** What was taken back is wiped out only now: it may be said again, as the words before a tool is used. */
  const dropVoid = (): void => {
    if (isVoid) live.clear();
    isVoid = false;
  };
  const finish = (): void => {
    spinner.stop();
    running = false;
    screen.write("\n");
    for (const aside of asides.splice(0)) line(aside);
  };
  const hint = (text: string): void => {
    name();
    line(paint("dim", `  ↳ ${printable(text).replaceAll("\n", " ")}`));
    spinner.start();
  };

  return {
    begin(): void {
      running = true;
      named = false;
      isVoid = false;
      spinner.start();
    },
    show(event: TurnEvent): void {
      if (event.kind === "restart") {
        isVoid = true;
      } else if (event.kind === "text") {
        dropVoid();
        name();
        live.add(event.text);
      } else if (event.kind === "progress" && isVoid && live.text.trim() === event.text.trim()) {
        isVoid = false;
        live.settle();
        spinner.start();
      } else if (event.kind === "progress") {
        dropVoid();
        hint(event.text);
      } else if (event.kind === "tool-call") {
        dropVoid();
        live.settle();
        hint(event.hint);
      }
    },
    /** The turn is over. Without a reply there is nothing more to say. */
    end(reply: string | undefined): void {
      dropVoid();
      if (reply !== undefined) {
        name();
        live.replace(reply);
      }
      live.settle();
      finish();
    },
    /** What was said of the answer stays, so that one sees where it broke off. */
    fail(words: string): void {
      spinner.stop();
      if (isVoid) dropVoid();
      live.settle();
      line(named ? words : `\n${words}`);
      finish();
    },
    /** A message of its own, such as one a tool sends in the middle of a turn. */
    message(text: string): void {
      const spins = running;
      live.settle();
      name();
      live.replace(text);
      live.settle();
      if (spins) spinner.start();
      else finish();
    },
    /** Something the owner should know; it waits until the answer is out. */
    aside(text: string): void {
      if (running) asides.push(text);
      else around(() => line(text));
    },
    onAside: (handler: (print: () => void) => void): void => void (around = handler),
  };
}
