/** Python's `repr` of a JSON value: how nanobot shows structured content to the model that summarises it. */
import { entriesInOrder, pythonJson, type PythonObject } from "./python-json.js";

export function pythonRepr(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return textRepr(value);
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  if (typeof value !== "object" || value instanceof Number) return numberRepr(value);
  const fields = entriesInOrder(value as PythonObject).map(([key, field]) => `${textRepr(key)}: ${pythonRepr(field)}`);
  return `{${fields.join(", ")}}`;
}

const words: Readonly<Record<string, string>> = { NaN: "nan", Infinity: "inf", "-Infinity": "-inf" };

function numberRepr(value: unknown): string {
  const text = pythonJson(value);
  return words[text] ?? text;
}

/** Single quotes, unless the text has some and no double ones. */
function textRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = [...text].map((character) => (character === quote ? `\\${quote}` : shown(character))).join("");
  return quote + inner + quote;
}

const short: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Separators and controls, and what Unicode has not assigned, are escaped; a plain space is not. */
const unprintable = /^(?! )[\p{C}\p{Z}]$/u;

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const direct = short[character];
  if (direct !== undefined) return direct;
  if (!unprintable.test(character)) return character;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
