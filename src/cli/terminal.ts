/** What commands print: text for people, JSON for scripts, colour and progress only where a person looks. */
import { styleText } from "node:util";
import type { Command } from "commander";
import { UserError } from "../util/errors.js";
import { padded, widthOf } from "./text-width.js";

/** Exit codes that scripts can rely on. */
export const exit = { ok: 0, failed: 1, usage: 2, damaged: 3, notFound: 4 } as const;

/** What was asked for is not there; scripts can tell by the exit code. */
export class NotFound extends UserError {
  override readonly name = "NotFound";
}

/** A command was given something it cannot take. */
export class WrongUse extends UserError {
  override readonly name = "WrongUse";
}

/** What every command is given: where to print, and a way to end with another exit code than 0. */
export type CommandParts = { readonly terminal: Terminal; readonly end: (code: number) => void };

/** Starts a sub-command with the options all of its siblings have. */
export type DefineCommand = (name: string, description: string) => Command;

/** Where text can be drawn again. */
export type Screen = { readonly write: (text: string) => void; readonly columns: number; readonly rows: number };

export type Terminal = {
  out(text: string): void;
  err(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly columns: number;
};

/** The process's own streams. A reader that has left (`| head`) is no error. */
export function processTerminal(): Terminal {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(exit.ok);
    process.stderr.write(`nanogate: What there is to say could not be written: ${message}\n`);
    process.exit(exit.failed);
  });
  // That nobody reads our hints is no reason to stop.
  process.stderr.on("error", () => {});
  const colours = process.env["NO_COLOR"] === undefined && process.env["TERM"] !== "dumb";
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY && colours,
    errIsTerminal: process.stderr.isTTY,
    get columns() {
      return process.stdout.columns || 100;
    },
  };
}

type Style = Parameters<typeof styleText>[0];

/** Puts text into a style, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** `text` in a style, if somebody sees it. */
export const styled = (terminal: Terminal, style: Style, text: string): string =>
  terminal.outIsTerminal ? styleText(style, text, { validateStream: false }) : text;

/** Columns as wide as their longest cell; the last one is cut at the edge of a terminal. */
export function table(terminal: Terminal, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => widthOf(row[column] ?? ""))));
  const line = (cells: readonly string[]): string => {
    const text = cells.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  ");
    return (terminal.outIsTerminal ? text.slice(0, terminal.columns) : text).trimEnd();
  };
  return [styled(terminal, "bold", line(head)), ...rows.map(line)].join("\n");
}

/** A line on the error stream that tells how far long work is; nothing where nobody looks. */
export function createProgress(terminal: Terminal, what: string) {
  let shown = 0;
  return {
    step(done: number, total: number): void {
      const now = performance.now();
      if (!terminal.errIsTerminal || (now - shown < 100 && done < total)) return;
      shown = now;
      const filled = Math.round((20 * done) / Math.max(total, 1));
      terminal.err(`\r${what} ${"█".repeat(filled)}${"░".repeat(20 - filled)} ${done}/${total}`);
    },
    end(): void {
      if (terminal.errIsTerminal && shown > 0) terminal.err("\r\u001b[K");
    },
  };
}

/** A number given as an option. */
export function positive(text: string, option: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new WrongUse(
    `${option} must be a whole number above 0, not ${JSON.stringify(text)}.`,
    `For instance ${option} 20.`,
  );
}
