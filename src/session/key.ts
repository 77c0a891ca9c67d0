/** From a session key to the names its conversation may have on disk. */
import { createHash } from "node:crypto";
import type { SessionKey } from "../message.js";
import { UserError } from "../util/errors.js";

export type FileNaming = "nanobot" | "base64url";

/** Python's `str.strip()`: not quite JavaScript's `trim()` (U+001C-1F and U+0085 count, U+FEFF does not). */
const pythonSpace = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const outerSpace = new RegExp(`^${pythonSpace}|${pythonSpace}$`, "g");
const unsafe = /[<>:"/\\|?*]/g;

export const pythonStrip = (text: string): string => text.replace(outerSpace, "");

/**
 * The file name nanobot gives a key: the readable one of v0.1.4 … v0.2.2, which several keys can share, or the
 * `base64url` one of v0.3.0, which they cannot.
 */
export function sessionFileName(key: SessionKey, options: { readonly naming?: FileNaming } = {}): string {
  return `${options.naming === "base64url" ? encodedStem(key) : readableStem(key)}.jsonl`;
}

export const readableStem = (key: SessionKey): string => pythonStrip(key.replace(unsafe, "_"));

function encodedStem(key: SessionKey): string {
  if (!key.isWellFormed()) throw unstorable(key, "half of a character pair (a lone surrogate)");
  return Buffer.from(key, "utf8").toString("base64url");
}

/**
 * The stems a key's conversation may be found under, best first: the readable one; for a key that finds it taken by
 * another the one of v0.3.0, which looks there and nowhere else; and where that is too long, the readable one with a
 * fingerprint. Whose file it is, the key stored inside decides.
 */
export function candidateStems(key: SessionKey): readonly string[] {
  const stem = readableStem(key);
  const print = createHash("sha256").update(key, "utf8").digest("hex");
  const encoded = key.isWellFormed() ? [encodedStem(key)] : [];
  return [stem, ...encoded, `${stem}~${print.slice(0, 8)}`, `${stem}~${print}`];
}

/** Could a file with this stem have been written for that key? If not, a name and a stored key contradict each other. */
export function isNameOf(stem: string, key: SessionKey): boolean {
  return candidateStems(key).includes(stem);
}

/** Whose file is it? The key stored in it decides, unless that key could never have had a file of this name. */
export function belongsTo(key: SessionKey, stem: string, stored: string | undefined): boolean {
  return stored === undefined || stored === key || !isNameOf(stem, stored);
}

/** The key a file name tells when the file itself does not, as nanobot guesses it. */
export function keyFromStem(stem: string): SessionKey {
  const decoded = Buffer.from(stem, "base64url");
  const text = decoded.toString("utf8");
  const canonical = decoded.toString("base64url") === stem && Buffer.from(text, "utf8").equals(decoded);
  // A readable stem can be valid base64url by chance, but then it decodes to noise.
  if (canonical && /^\P{C}+$/u.test(text)) return text;
  return stem.replace("_", ":");
}

/** The longest file name common file systems take, in bytes. */
const maxNameBytes = 255;
export const fitsFileName = (name: string): boolean => Buffer.byteLength(name, "utf8") <= maxNameBytes;

/** Refuses, naming the key, what no file can be named after. `longest` is the longest name its files will need. */
export function assertStorable(key: SessionKey, longest = sessionFileName(key)): void {
  if (key.includes("\0")) throw unstorable(key, "a NUL character");
  if (!key.isWellFormed()) throw unstorable(key, "half of a character pair (a lone surrogate)");
  if (!fitsFileName(longest)) {
    throw new UserError(
      `The session key ${JSON.stringify(key)} is too long for a file name.`,
      `Keep it under ${maxNameBytes - Buffer.byteLength(longest) + Buffer.byteLength(readableStem(key))} bytes.`,
    );
  }
}

export const unstorable = (key: SessionKey, what: string): UserError =>
  new UserError(`The session key ${JSON.stringify(key)} holds ${what} and cannot be stored.`, "Use another key.");
