/** A JSON file that people edit: what is wrong with it is said with its line and column. */
import { readFileSync } from "node:fs";
import { parsePythonJsonPrefix } from "../session/python-json.js";
import { errorCode, reasonOf, UserError } from "../util/errors.js";

export type Tree = { readonly [name: string]: unknown };

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Its object, or undefined if there is no such file. */
export function readJsonFile(path: string): Tree | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new UserError(`${path} cannot be read: ${reasonOf(error)}`, "Make it a readable file, or move it away.", {
      cause: error,
    });
  }
  if (text.trim() === "") throw new UserError(`${path} is empty.`, "Write {} into it, or remove it.");
  const tree = parse(text, path);
  if (isTree(tree)) return tree;
  throw new UserError(
    `${path} is ${Array.isArray(tree) ? "a list" : `just ${JSON.stringify(tree)}`}, not an object.`,
    "It should start with { and end with }.",
  );
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { at, line, column, row } = place(text);
    throw new UserError(
      `${path}:${line}:${column} is not valid JSON: ${hintFor(text.slice(0, at).trimEnd(), text.slice(at))}\n    ${shown(row, column)}`,
      "Correct that place, or move the file away to start anew.",
      { cause: error },
    );
  }
}

/** Where reading stopped. Node does not always say; the reader of session files does. */
function place(text: string): { at: number; line: number; column: number; row: string } {
  const at = Math.min(positionOf(text), text.trimEnd().length);
  const before = text.slice(0, at).split("\n");
  const line = before.length;
  const row = text.split("\n")[line - 1] ?? "";
  return { at, line, column: (before.at(-1)?.length ?? 0) + 1, row };
}

function positionOf(text: string): number {
  try {
    return parsePythonJsonPrefix(text).end + 1; // it is what follows that is too much
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(reasonOf(error)) ?? [];
    return Number(position ?? text.length);
  }
}

function hintFor(before: string, rest: string): string {
  if (rest.trim() === "") return "the file ends too early; a bracket or a quote is missing.";
  if (/^(?:\/\/|\/\*|#)/.test(rest)) return "comments are not allowed.";
  if (rest.startsWith("'")) return "texts are written in double quotes.";
  if (/^[}\]]/.test(rest) && before.endsWith(",")) return "there is a comma too many before this bracket.";
  if (rest.startsWith('"') && /["}\]\dle]$/.test(before)) return "a comma is missing before this.";
  return "this is not expected here.";
}

/** The row with its faulty place marked; a long one in part, and no further than needed: secrets may stand behind it. */
function shown(row: string, column: number): string {
  const start = Math.max(0, column - 31);
  const part = row.slice(start, column + 9).replaceAll(/\p{Cc}/gu, " ");
  return `${part}\n    ${" ".repeat(column - 1 - start)}^`;
}
