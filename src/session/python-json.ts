/**
 * JSON as Python's `json` module reads and prints it, so that a file we write is the file nanobot would have written.
 *
 * JavaScript's own JSON loses four things that Python keeps: `1.0` against `1`, integers beyond 2^53, the order of keys
 * that look like array indices, and a key called `__proto__`. Values are ordinary JavaScript values wherever those can
 * carry the difference; a {@link PythonFloat} stands in where they cannot.
 */

/** A float that happens to be whole (`1.0`). It behaves as a number everywhere, but prints as Python's float. */
export class PythonFloat extends Number {}

export type PythonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | PythonFloat
  | readonly PythonValue[]
  | PythonObject;
export type PythonObject = { readonly [key: string]: PythonValue };

/** On objects whose keys JavaScript would reorder: the keys in the order they were read. */
const keyOrder = Symbol("keyOrder");

/**
 * Signs of something that `JSON.parse` could lose; finding them inside strings too only costs speed, never truth. Each
 * on its own is searched for several times faster than all in one pattern.
 */
const signsOfCare = [
  // Floats, long integers, Infinity, NaN. A colon counts after a quote only: every time of day has one after a digit.
  /(?:^|"\s*:|[[,])\s*(?:-?\d+[.eE]|-?\d{16}|-0|-?I|N)/,
  /"\d+"\s*:/,
  /__proto__/,
  /\\u00[35]/, // a digit or an underscore in disguise
];

/** Python refuses integers longer than this, and so the line that holds one. */
const maxIntegerDigits = 4300;

/** Python's recursion limit: it refuses what is nested deeper, and so nothing we read is too deep to be printed. */
const maxDepth = 1000;

/** Reads one JSON text as Python's `json.loads` does. Throws a SyntaxError where Python would raise. */
export function parsePythonJson(text: string): PythonValue {
  const careless = !signsOfCare.some((sign) => sign.test(text)) && !mayBeDeep(text);
  if (careless) return JSON.parse(text) as PythonValue;
  const { value, end } = parsePythonJsonPrefix(text);
  if (skipSpace(text, end) < text.length) throw new SyntaxError(`Extra data at position ${end}`);
  return value;
}

/** Reads the JSON value that starts at `from` and says where it ends, ignoring what follows. */
export function parsePythonJsonPrefix(text: string, from = 0): { value: PythonValue; end: number } {
  const reader = new Reader(text, skipSpace(text, from));
  const value = reader.value();
  return { value, end: reader.at };
}

/** Whether there are enough brackets for it; those inside strings count too, which only costs speed. */
function mayBeDeep(text: string): boolean {
  let brackets = 0;
  for (const bracket of "[{") {
    for (let at = text.indexOf(bracket); at >= 0 && brackets <= maxDepth; at = text.indexOf(bracket, at + 1))
      brackets++;
  }
  return brackets > maxDepth;
}

/** Throws a SyntaxError if a text that was printed here is one that Python, and so we, would refuse to read. */
export function assertReadable(text: string): void {
  if (mayBeDeep(text) || longNumber.test(text)) parsePythonJson(text);
}

const longNumber = new RegExp(`\\d{${maxIntegerDigits + 1}}`);

function skipSpace(text: string, from: number): number {
  let at = from;
  while (" \t\n\r".includes(text[at] ?? "x")) at++;
  return at;
}

const numberPattern = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][+-]?\d+)?/y;
const plainText = /[^"\\\u0000-\u001f]*/y;
const arrayIndex = /^(?:0|[1-9]\d{0,9})$/;
const words: ReadonlyMap<string, PythonValue> = new Map<string, PythonValue>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Reader {
  readonly #text: string;
  at: number;
  #depth = 0;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  value(): PythonValue {
    const first = this.#text[this.at];
    if (first === '"') return this.#string();
    if (first === "{") return this.#nested(() => this.#object());
    if (first === "[") return this.#nested(() => this.#array());
    for (const [word, value] of words) {
      if (this.#text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > maxDepth) this.#fail("nested too deeply for Python");
    const value = read();
    this.#depth--;
    return value;
  }

  #object(): PythonObject {
    const entries: [string, PythonValue][] = [];
    this.at++;
    this.#space();
    if (this.#take("}")) return {};
    for (;;) {
      if (this.#text[this.at] !== '"') this.#fail("expected a property name in double quotes");
      const key = this.#string();
      this.#space();
      if (!this.#take(":")) this.#fail("expected ':'");
      this.#space();
      entries.push([key, this.value()]);
      this.#space();
      if (this.#take("}")) return objectInOrder(entries);
      if (!this.#take(",")) this.#fail("expected ',' or '}'");
      this.#space();
    }
  }

  #array(): PythonValue[] {
    const result: PythonValue[] = [];
    this.at++;
    this.#space();
    if (this.#take("]")) return result;
    for (;;) {
      result.push(this.value());
      this.#space();
      if (this.#take("]")) return result;
      if (!this.#take(",")) this.#fail("expected ',' or ']'");
      this.#space();
    }
  }

  #string(): string {
    let result = "";
    this.at++;
    for (;;) {
      plainText.lastIndex = this.at;
      const plain = plainText.exec(this.#text)?.[0] ?? "";
      result += plain;
      this.at += plain.length;
      const stop = this.#text[this.at];
      if (stop === '"') {
        this.at++;
        return result;
      }
      if (stop !== "\\") this.#fail(stop === undefined ? "unterminated string" : "raw control character in a string");
      result += this.#escape();
    }
  }

  #escape(): string {
    const letter = this.#text[this.at + 1] ?? "";
    if (letter === "u") {
      const hex = this.#text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) this.#fail("bad \\u escape");
      this.at += 6;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const meant = escapes[letter];
    if (meant === undefined) this.#fail("bad escape");
    this.at += 2;
    return meant;
  }

  #number(): PythonValue {
    numberPattern.lastIndex = this.at;
    const match = numberPattern.exec(this.#text);
    if (!match) this.#fail("expected a value");
    const [text, integer = "", fraction, exponent] = match;
    this.at += text.length;
    if (fraction === undefined && exponent === undefined) {
      if (integer.replace("-", "").length > maxIntegerDigits) this.#fail("integer too long for Python");
      const value = Number(integer);
      if (value === 0) return 0; // Python has no integer -0
      return Number.isSafeInteger(value) ? value : BigInt(integer);
    }
    const value = Number(text);
    return Number.isSafeInteger(value) && !Object.is(value, -0) ? new PythonFloat(value) : value;
  }

  #space(): void {
    this.at = skipSpace(this.#text, this.at);
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  #fail(reason: string): never {
    throw new SyntaxError(`${reason} at position ${this.at}`);
  }
}

/** An object that remembers the order of its keys. As in Python, a repeated key keeps its place and its last value. */
export function objectInOrder<T>(entries: Iterable<readonly [string, T]>): { [key: string]: T } {
  const result: { [key: string]: T } = {};
  const order: string[] = [];
  let reordered = false;
  for (const [key, value] of entries) {
    if (!Object.hasOwn(result, key)) order.push(key);
    // A plain assignment to `__proto__` would set the prototype instead of a property.
    Object.defineProperty(result, key, { value, enumerable: true, writable: true, configurable: true });
    reordered ||= arrayIndex.test(key);
  }
  if (reordered) Object.defineProperty(result, keyOrder, { value: order });
  return result;
}

export function entriesInOrder<T>(object: { readonly [key: string]: T }): (readonly [string, T])[] {
  return keysInOrder(object).map((key) => [key, object[key] as T] as const);
}

/** An object's keys in the order Python would print them. */
export function keysInOrder(object: object): string[] {
  const order = (object as { [keyOrder]?: readonly string[] })[keyOrder];
  if (!order) return Object.keys(object);
  const known = new Set(order.filter((key) => Object.hasOwn(object, key)));
  return [...known, ...Object.keys(object).filter((key) => !known.has(key))];
}

/** The exact text of Python's `json.dumps(value, ensure_ascii=ascii)`. Properties that are `undefined` are left out. */
export function pythonJson(value: unknown, options: { readonly ascii?: boolean } = {}): string {
  return print(value, options.ascii ? quoteAscii : quoteUnicode);
}

function print(part: unknown, quote: (text: string) => string): string {
  if (part === null || part === undefined) return "null";
  if (typeof part === "string") return quote(part);
  if (typeof part === "boolean" || typeof part === "bigint") return String(part);
  if (typeof part === "number") return numberText(part);
  if (part instanceof PythonFloat) return floatText(Number(part));
  if (Array.isArray(part)) return `[${part.map((item) => print(item, quote)).join(", ")}]`;
  if (typeof part !== "object") throw new TypeError(`A ${typeof part} has no JSON form`);
  const object = part as Readonly<Record<string, unknown>>;
  const fields = keysInOrder(object)
    .filter((key) => object[key] !== undefined)
    .map((key) => `${quote(key)}: ${print(object[key], quote)}`);
  return `{${fields.join(", ")}}`;
}

const escapedUnicode = /["\\\u0000-\u001f]/g;
const escapedAscii = /["\\]|[^\u0020-\u007e]/g;
const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};
const escaped = (character: string): string =>
  shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
/** JavaScript escapes what Python escapes, and lone surrogates besides. */
const quoteUnicode = (text: string): string =>
  text.isWellFormed() ? JSON.stringify(text) : `"${text.replace(escapedUnicode, escaped)}"`;
const quoteAscii = (text: string): string => `"${text.replace(escapedAscii, escaped)}"`;

/** A whole number within the safe range is Python's int; beyond it only a float can be a JavaScript number. */
function numberText(value: number): string {
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : floatText(value);
}

/** Python's `repr` of a float: the shortest digits that read back the same, an exponent below 1e-4 and from 1e16 on. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", power = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}
