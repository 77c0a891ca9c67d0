/** Lines typed at a prompt: with history across runs, pasted text as one message, and typing ahead during a turn. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { clearScreenDown, createInterface, cursorTo, type Interface } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { systemClock } from "../world.js";
import { printable } from "./printable.js";

export type Typed =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "interrupt" }
  | { readonly kind: "end" };

export type ChatInput = {
  /** The next line; `interrupt` for Ctrl-C on an empty one, `end` for Ctrl-D or a closed terminal. */
  next(): Promise<Typed>;
  /** Called on Ctrl-C while nobody waits for a line. */
  onInterrupt(handler: () => void): void;
  /** Prints above the line that is being typed. */
  above(print: () => void): void;
  /** As if the terminal had been closed. */
  end(): void;
  close(): void;
};

/** Stands for a line break inside a message while it is being edited. */
const lineBreak = "⏎";
/** A longer paste is shown by its size. */
const shownPaste = { characters: 500, lines: 8 };
const historySize = 1000;

export function openChatInput(historyFile: string, prompt: string): ChatInput {
  const { stdin, stdout } = process;
  const typedAhead: string[] = [];
  const pastes = new Map<string, string>();
  let interrupted = (): void => {};
  let waiting: ((typed: Typed) => void) | undefined;
  let closed = false;

  const keys = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => stdin.setRawMode(mode) });
  const split = createPasteSplitter();
  const onData = (chunk: Buffer): void => {
    for (const part of split(chunk)) {
      if (part.kind === "keys") keys.write(part.text);
      // In one piece, as one key: readline would redraw the line for each character.
      else keys.emit("keypress", shown(part.text), { sequence: part.text });
    }
  };
  const shown = (paste: string): string => {
    const text = printable(paste);
    const lines = text.trimEnd().split("\n").length;
    if (text.length <= shownPaste.characters && lines <= shownPaste.lines) return text.replaceAll("\n", lineBreak);
    const name = `[pasted ${pastes.size + 1}: ${lines === 1 ? `${text.length} characters` : `${lines} lines`}]`;
    pastes.set(name, text);
    return name;
  };
  const written = (line: string): string => {
    let text = line.replaceAll(lineBreak, "\n");
    for (const [name, paste] of pastes) text = text.replaceAll(name, () => paste);
    return text;
  };

  stdin.setRawMode(true);
  stdin.on("data", onData).resume();
  stdout.write("\u001b[?2004h");
  const screen = quietScreen(stdout, () => waiting === undefined);
  const reader = createInterface({
    input: keys,
    output: screen,
    terminal: true,
    prompt,
    history: readHistory(historyFile),
    historySize,
    removeHistoryDuplicates: true,
  });
  // Not by ending its input: half a line in a window that was closed would count as sent.
  const hangUp = (): void => reader.close();
  stdin.once("end", hangUp).once("error", hangUp);
  const settle = (typed: Typed): void => {
    const resolve = waiting;
    waiting = undefined;
    resolve?.(typed);
  };
  reader.on("line", (line) => {
    const text = written(line);
    if (text.trim() !== "") remember(historyFile, text);
    if (waiting) settle({ kind: "line", text });
    else typedAhead.push(text);
  });
  reader.on("SIGINT", () => {
    typedAhead.length = 0;
    if (!waiting) {
      forget(reader);
      interrupted();
    } else if (reader.line === "") {
      settle({ kind: "interrupt" });
    } else {
      stdout.write("\n");
      forget(reader);
      reader.prompt();
    }
  });
  reader.on("close", () => {
    closed = true;
    settle({ kind: "end" });
  });

  return {
    next() {
      const [line] = typedAhead.splice(0, 1);
      if (line !== undefined) {
        stdout.write(`${prompt}${line}\n`);
        return Promise.resolve({ kind: "line", text: line });
      }
      if (closed) return Promise.resolve({ kind: "end" });
      return new Promise((resolve) => {
        waiting = resolve;
        showPrompt(reader);
      });
    },
    onInterrupt: (handler) => void (interrupted = handler),
    above(print) {
      if (!waiting) return print();
      cursorTo(stdout, 0);
      clearScreenDown(stdout);
      print();
      showPrompt(reader);
    },
    end: () => reader.close(),
    close() {
      reader.close();
      stdin.off("data", onData).off("end", hangUp).pause();
      stdin.setRawMode(false);
      stdout.write("\u001b[?2004l");
    },
  };
}

/** readline remembers how many rows its last prompt took and would go up as many; what stands there now is not its own. */
function showPrompt(reader: Interface): void {
  Object.assign(reader, { prevRows: 0 });
  reader.prompt(true);
}

function forget(reader: Interface): void {
  Object.assign(reader, { line: "", cursor: 0 });
}

/** The terminal, deaf while a turn runs: keys typed then must not appear in the middle of the answer. */
function quietScreen(stdout: NodeJS.WriteStream, isQuiet: () => boolean): Writable {
  const screen = new Writable({
    write(chunk: Buffer, _, done) {
      if (!isQuiet()) stdout.write(chunk);
      done();
    },
  });
  Object.defineProperty(screen, "columns", { get: () => stdout.columns });
  stdout.on("resize", () => screen.emit("resize"));
  return screen;
}

type Part = { readonly kind: "keys" | "paste"; readonly text: string };

const pasteBegins = "\u001b[200~";
const pasteEnds = "\u001b[201~";

/** Terminals mark pasted text, so that its line breaks need not send the message. */
export function createPasteSplitter(): (chunk: Buffer) => Part[] {
  const decoder = new StringDecoder("utf8");
  let pasted: string | undefined;
  let held = "";
  return (chunk) => {
    const parts: Part[] = [];
    let text = held + decoder.write(chunk);
    held = "";
    while (text !== "") {
      const isPaste = pasted !== undefined;
      const mark = isPaste ? pasteEnds : pasteBegins;
      const at = text.indexOf(mark);
      // A mark that has only begun waits for the rest of it; a lone escape is a key, unless it is in a paste.
      if (at < 0) [held = ""] = (isPaste ? beginsToEnd : beginsToBegin).exec(text) ?? [];
      const part = text.slice(0, at < 0 ? text.length - held.length : at);
      text = at < 0 ? "" : text.slice(at + mark.length);
      if (!isPaste && part !== "") parts.push({ kind: "keys", text: part });
      if (isPaste) pasted += part;
      if (at < 0) continue;
      if (pasted) parts.push({ kind: "paste", text: pasted.replaceAll(/\r\n|\r/g, "\n") });
      pasted = isPaste ? undefined : "";
    }
    return parts;
  };
}

const beginsToBegin = /\u001b\[(?:2(?:00?)?)?$/;
const beginsToEnd = /\u001b(?:\[(?:2(?:01?)?)?)?$/;

/** nanobot's history file: a comment with the time, then each line of an entry behind a `+`. Newest first for readline. */
export function readHistory(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const entries = text.split(/\n(?!\+)/).flatMap((block) => {
    const lines = block.split("\n").filter((line) => line.startsWith("+"));
    return lines.length === 0 ? [] : [printable(lines.map((line) => line.slice(1)).join(lineBreak))];
  });
  return entries.slice(-historySize).reverse();
}

function remember(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const body = text.split("\n").map((line) => `+${line}`);
    appendFileSync(file, `\n# ${systemClock().replace("T", " ")}\n${body.join("\n")}\n`, { mode: 0o600 });
  } catch {
    // A history that cannot be written is no reason not to talk.
  }
}
