/** Lines typed at a prompt: with history across runs, and pasted text of many lines as one message. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { Transform } from "node:stream";
import { styleText } from "node:util";

export type ChatInput = {
  /** The next line; `interrupt` for Ctrl-C, `end` for Ctrl-D or a closed terminal. */
  next(): Promise<{ kind: "line"; text: string } | { kind: "interrupt" } | { kind: "end" }>;
  /** Called on Ctrl-C while nobody waits for a line. */
  onInterrupt(handler: () => void): void;
  close(): void;
};

const pasteBegins = "\u001b[200~";
const pasteEnds = "\u001b[201~";
/** Stands for a line break inside a paste while the line is being edited. */
const pastedBreak = "⏎";

/** Terminals mark pasted text; its line breaks must not send the message. */
export function pasteFilter(): Transform {
  let pasting = false;
  let held = "";
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let text = held + chunk.toString("utf8");
      held = "";
      const partial = /\u001b(?:\[(?:2(?:0(?:[01])?)?)?)?$/.exec(text);
      // A lone escape is a key; a started mark waits for the rest of it.
      if (partial && partial[0].length > 1) {
        held = partial[0];
        text = text.slice(0, partial.index);
      }
      let out = "";
      while (text !== "") {
        const mark = pasting ? pasteEnds : pasteBegins;
        const at = text.indexOf(mark);
        const part = at < 0 ? text : text.slice(0, at);
        out += pasting ? part.replaceAll(/\r\n|\r|\n/g, pastedBreak) : part;
        text = at < 0 ? "" : text.slice(at + mark.length);
        if (at >= 0) pasting = !pasting;
      }
      done(null, out);
    },
  });
}

export function openChatInput(historyFile: string): ChatInput {
  const filter = pasteFilter();
  const { stdin, stdout } = process;
  stdin.setRawMode(true);
  stdin.pipe(filter);
  stdout.write("\u001b[?2004h");
  const reader = createInterface({
    input: filter,
    output: stdout,
    terminal: true,
    history: readHistory(historyFile),
    historySize: 1000,
    removeHistoryDuplicates: true,
  });
  let interrupted = (): void => {};
  let waiting: ((result: Awaited<ReturnType<ChatInput["next"]>>) => void) | undefined;
  let closed = false;
  const settle = (result: Awaited<ReturnType<ChatInput["next"]>>): void => {
    const resolve = waiting;
    waiting = undefined;
    resolve?.(result);
  };
  reader.on("line", (line) => {
    const text = line.replaceAll(pastedBreak, "\n");
    if (text.trim() !== "") remember(historyFile, text);
    settle({ kind: "line", text });
  });
  reader.on("SIGINT", () => (waiting ? settle({ kind: "interrupt" }) : interrupted()));
  reader.on("close", () => {
    closed = true;
    settle({ kind: "end" });
  });
  return {
    next() {
      if (closed) return Promise.resolve({ kind: "end" });
      reader.setPrompt(styleText(["bold", "blue"], "You: "));
      reader.prompt();
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    onInterrupt: (handler) => void (interrupted = handler),
    close() {
      stdout.write("\u001b[?2004l");
      reader.close();
      stdin.unpipe(filter);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}

/** nanobot's history file: a comment with the time, then each line of an entry behind a `+`. Newest first for readline. */
function readHistory(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const entries = text.split(/\n(?!\+)/).flatMap((block) => {
    const lines = block.split("\n").filter((line) => line.startsWith("+"));
    return lines.length === 0 ? [] : [lines.map((line) => line.slice(1)).join(pastedBreak)];
  });
  return entries.slice(-1000).reverse();
}

function remember(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const body = text.split("\n").map((line) => `+${line}`);
    appendFileSync(file, `\n# ${new Date().toISOString()}\n${body.join("\n")}\n`, { mode: 0o600 });
  } catch {
    // A history that cannot be written is no reason not to talk.
  }
}
