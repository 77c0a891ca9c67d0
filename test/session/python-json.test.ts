import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  keysInOrder,
  objectInOrder,
  parsePythonJson,
  parsePythonJsonPrefix,
  PythonFloat,
  pythonJson,
  type PythonValue,
} from "../../src/session/python-json.js";

const nastyKeys = fc.constantFrom(
  "__proto__",
  "constructor",
  "toJSON",
  "0",
  "10",
  "9",
  "01",
  "4294967295",
  "-1",
  "",
  "\0",
  "_type",
);
const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), nastyKeys);
const wholeFloat = fc.maxSafeInteger().map((number) => new PythonFloat(number === 0 ? 1 : number));

const { value } = fc.letrec<{ value: PythonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(
      null,
      true,
      false,
      -0,
      NaN,
      Infinity,
      -Infinity,
      5e-324,
      1.7976931348623157e308,
      1e16,
      1e-5,
      0.0001,
    ),
    fc.double(),
    fc.maxSafeInteger(),
    wholeFloat,
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }),
    fc.bigInt({ min: -(2n ** 200n), max: -(2n ** 53n) }),
    anyText,
    fc.array(tie("value"), { maxLength: 5 }),
    fc
      .array(fc.tuple(fc.oneof(nastyKeys, anyText), tie("value")), { maxLength: 6 })
      .map((entries) => objectInOrder(entries)),
  ),
}));

/** The value with everything visible that equality alone would overlook. */
function shape(part: PythonValue): unknown {
  if (part instanceof PythonFloat) return ["float", Number(part)];
  if (typeof part === "number") return [Number.isSafeInteger(part) && !Object.is(part, -0) ? "int" : "float", part];
  if (typeof part === "bigint") return ["int", String(part)];
  if (Array.isArray(part)) return part.map((each: PythonValue) => shape(each));
  if (typeof part !== "object" || part === null) return part;
  const object = part as { readonly [key: string]: PythonValue };
  return { keys: keysInOrder(object), values: keysInOrder(object).map((key) => shape(object[key] ?? null)) };
}

describe("Python's JSON", () => {
  it("read back is what was printed: values, kinds of number, order of keys", () => {
    fc.assert(
      fc.property(value, fc.boolean(), (given, ascii) => {
        const text = pythonJson(given, { ascii });
        const read = parsePythonJson(text);
        expect(shape(read)).toEqual(shape(given));
        expect(pythonJson(read, { ascii })).toBe(text);
        if (ascii) expect(text).toMatch(/^[\x20-\x7e]*$/);
        expect(text).not.toContain("\n");
      }),
      { numRuns: 2000 },
    );
  });

  it("agrees with JavaScript's JSON where Python does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (given) => {
        const text = JSON.stringify(given);
        expect(JSON.parse(JSON.stringify(plain(parsePythonJson(text))))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("refuses with a SyntaxError and nothing else", () => {
    const junk = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom(...'[]{}:,"\\u0123 -+.eEINft\n', "true", "null", "NaN", "Infinity", '"a"', "1.0"), {
          maxLength: 12,
        })
        .map((parts) => parts.join("")),
      fc.tuple(value, fc.nat(), fc.string({ maxLength: 2 })).map(([given, at, noise]) => {
        const text = pythonJson(given);
        return text.slice(0, at % (text.length + 1)) + noise;
      }),
    );
    fc.assert(
      fc.property(junk, (text) => {
        for (const read of [() => parsePythonJson(text), () => parsePythonJsonPrefix(text)]) {
          try {
            const found = read();
            expect(found).toBeDefined();
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it.each(["[", '{"a":', '[{"a": 1.0, "b": ['])("refuses what is nested too deeply for Python: %s…", (open) => {
    expect(() => parsePythonJson(open.repeat(100_000))).toThrow(SyntaxError);
    expect(() => parsePythonJson("[".repeat(5000) + "]".repeat(5000))).toThrow(SyntaxError);
    const deep = "[".repeat(900) + "]".repeat(900);
    expect(pythonJson(parsePythonJson(deep))).toBe(deep);
  });

  it("is not slowed down by brackets in a text", () => {
    const text = pythonJson({ content: "[{".repeat(100_000) });
    expect(pythonJson(parsePythonJson(text))).toBe(text);
  });

  it.each([
    ["", undefined],
    [" 1 ", "1"],
    ["01", undefined],
    ["1.", undefined],
    [".5", undefined],
    ["+1", undefined],
    ["-", undefined],
    ["- 1", undefined],
    ["1e5", "100000.0"],
    ["1E400", "Infinity"],
    ["-1e400", "-Infinity"],
    ["-0", "0"],
    ["-0.0", "-0.0"],
    ["1.10", "1.1"],
    ["1e16", "1e+16"],
    ["123456789012345680.0", "1.2345678901234568e+17"],
    ["9007199254740993", "9007199254740993"],
    ["9007199254740993.0", "9007199254740992.0"],
    ["nan", undefined],
    ["-NaN", undefined],
    ["[1,]", undefined],
    ['{"a":1,}', undefined],
    ["{'a':1}", undefined],
    ['"\t"', undefined],
    ['"\\x"', undefined],
    ['"\\u12"', undefined],
    ['"\\ud83c\\udf88"', '"🎈"'],
    ['"\u007f"', '"\u007f"'],
    ["\ufeff1", undefined],
    ["\u00a01", undefined],
    ['{"a": 1, "b": 2, "a": 3}', '{"a": 3, "b": 2}'],
    ['{"2": 1, "1": 2, "2": 3}', '{"2": 3, "1": 2}'],
    ["1 2", undefined],
    [`1${"0".repeat(4299)}`, `1${"0".repeat(4299)}`],
    [`1${"0".repeat(4300)}`, undefined],
  ])("%j", (text, printed) => {
    if (printed === undefined) expect(() => parsePythonJson(text)).toThrow(SyntaxError);
    else expect(pythonJson(parsePythonJson(text))).toBe(printed);
  });

  it("says where a value ends that has something behind it", () => {
    expect(parsePythonJsonPrefix('x{"a": [1, "}"]}{"b"', 1).end).toBe(16);
  });

  it("leaves out what is undefined and has no form for a function", () => {
    expect(pythonJson({ a: undefined, b: [undefined] })).toBe('{"b": [null]}');
    expect(() => pythonJson({ a: () => {} })).toThrow(TypeError);
  });

  it("keeps the order of numeric keys through later changes", () => {
    const object = parsePythonJson('{"10": 1, "9": 2, "x": 3}') as Record<string, PythonValue>;
    delete object["9"];
    object["5"] = 4;
    expect(pythonJson(object)).toBe('{"10": 1, "x": 3, "5": 4}');
  });
});

/** Floats that happen to be whole as ordinary numbers, for JavaScript's JSON. */
function plain(part: PythonValue): unknown {
  if (part instanceof Number) return Number(part);
  if (typeof part === "bigint") return Number(part);
  if (Array.isArray(part)) return part.map((each: PythonValue) => plain(each));
  if (typeof part !== "object" || part === null) return part;
  return objectInOrder(Object.entries(part).map(([key, each]) => [key, plain(each)] as const));
}
