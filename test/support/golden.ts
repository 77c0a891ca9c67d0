/** The recorded behaviour of the Python original: see fixtures/golden/README.md. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parsePythonJson, type PythonValue, pythonJson } from "../../src/session/python-json.js";

const root = new URL("../../fixtures/golden/", import.meta.url);

export const goldenPath = (path: string): string => fileURLToPath(new URL(path, root));
export const goldenBytes = (path: string): Buffer => readFileSync(goldenPath(path));
export const goldenNames = (path: string): string[] => readdirSync(goldenPath(path)).sort();

/** Parsed exactly: `1.0` is not `1`. */
export const goldenJson = <T>(path: string): T => parsePythonJson(goldenBytes(path).toString("utf8")) as T;

/** The digest of a history, as the corpus defines it: lone surrogates count as three bytes each. */
export function historyDigest(entries: readonly unknown[]): string {
  const text = entries.map((entry) => pythonJson(entry)).join("\n");
  return createHash("sha256").update(wtf8(text)).digest("hex");
}

function wtf8(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const parts = [...text].map((character) => {
    const unit = character.charCodeAt(0);
    const lone = character.length === 1 && unit >= 0xd800 && unit <= 0xdfff;
    return lone
      ? Buffer.from([0xed, 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)])
      : Buffer.from(character, "utf8");
  });
  return Buffer.concat(parts);
}

/** A string given as `{"$parts": [[text, times], ...]}` is the parts repeated and joined. */
export function unfold(value: PythonValue): PythonValue {
  if (Array.isArray(value)) return value.map(unfold);
  if (typeof value !== "object" || value === null || value instanceof Number) return value;
  const object = value as { readonly [key: string]: PythonValue };
  const parts = object["$parts"];
  if (Array.isArray(parts)) return parts.map(([text, times]) => String(text).repeat(Number(times))).join("");
  for (const key of Object.keys(object)) {
    Object.defineProperty(object, key, {
      value: unfold(object[key] ?? null),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}
