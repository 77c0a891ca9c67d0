/**
 * The text of nanobot's jobs.json. What stands in it is kept as it is, keys of other versions included; a change touches
 * the fields it is about and nothing else. Printed as Python prints it, so that an unchanged job keeps its bytes.
 */
import { isUtf8 } from "node:buffer";
import { isObject } from "../session/header.js";
import {
  entriesInOrder,
  objectInOrder,
  parsePythonJson,
  pythonJson,
  type PythonObject,
  type PythonValue,
} from "../session/python-json.js";
import { snakeCase } from "../util/settings.js";

/** One element of `jobs`, whatever it is. */
export type Entry = PythonValue;

export type JobsDocument = {
  /** Everything beside the jobs. */
  readonly root: PythonObject;
  readonly entries: readonly Entry[];
};

export const emptyDocument: JobsDocument = { root: { version: 1, jobs: [] }, entries: [] };

/** Throws a SyntaxError if this is no list of jobs. A mark at the beginning, as some editors leave it, does no harm. */
export function readJobsJson(bytes: Buffer): JobsDocument {
  if (!isUtf8(bytes)) throw new SyntaxError("it is not UTF-8");
  const root = parsePythonJson(bytes.toString("utf8").replace(/^\ufeff/, ""));
  if (!isObject(root)) throw new SyntaxError("it is not an object");
  const entries = root["jobs"] ?? [];
  if (!Array.isArray(entries)) throw new SyntaxError("its jobs are not a list");
  return { root, entries: entries as readonly Entry[] };
}

export function printJobsJson({ root, entries }: JobsDocument): string {
  const list = entries.length === 0 ? "[]" : `[\n${entries.map((entry) => `    ${printed(entry)}`).join(",\n")}\n  ]`;
  const all: (readonly [string, PythonValue])[] = [
    ...(Object.hasOwn(root, "version") ? [] : [["version", 1] as const]),
    ...entriesInOrder(root),
    ...(Object.hasOwn(root, "jobs") ? [] : [["jobs", []] as const]),
  ];
  const lines = all.map(([key, value]) => `  ${scalar(key)}: ${key === "jobs" ? list : indented(value, "  ")}`);
  return `{\n${lines.join(",\n")}\n}`;
}

/** Entries are never changed in place, so that each has to be printed only once. */
const prints = new WeakMap<object, string>();

function printed(entry: Entry): string {
  if (!isObject(entry)) return indented(entry, "    ");
  const text = prints.get(entry) ?? indented(entry, "    ");
  prints.set(entry, text);
  return text;
}

/** Python's `json.dumps(value, indent=2, ensure_ascii=False)`. */
function indented(value: PythonValue, margin: string): string {
  const inner = `${margin}  `;
  const block = (open: string, lines: readonly string[], close: string): string =>
    lines.length === 0 ? open + close : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${margin}${close}`;
  if (Array.isArray(value)) {
    const items = value as readonly PythonValue[];
    return block(
      "[",
      items.map((item) => indented(item, inner)),
      "]",
    );
  }
  if (!isObject(value)) return scalar(value);
  return block(
    "{",
    entriesInOrder(value).map(([key, field]) => `${scalar(key)}: ${indented(field, inner)}`),
    "}",
  );
}

/** Half a character cannot be written as UTF-8, only spelled out. */
const scalar = (value: PythonValue): string =>
  pythonJson(value, { ascii: typeof value === "string" && !value.isWellFormed() });

/** A field in either spelling: later nanobots read `every_ms` as well. */
export const fieldOf = (object: PythonObject, name: string): PythonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : object[snakeCase(name)];

/** The same with other values, in the places and spellings that are there; what is new comes last. */
export function withFields(object: PythonObject, changes: PythonObject): PythonObject {
  const spelled = entriesInOrder(changes).map(([name, value]) => {
    const isSnake = !Object.hasOwn(object, name) && Object.hasOwn(object, snakeCase(name));
    return [isSnake ? snakeCase(name) : name, value] as const;
  });
  return objectInOrder([...entriesInOrder(object), ...spelled]);
}

/** An object inside; an empty one where there is none. */
export function innerOf(object: PythonObject, name: string): PythonObject {
  const inner = object[name];
  return isObject(inner) ? inner : {};
}
