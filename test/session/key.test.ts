import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertStorable,
  belongsTo,
  candidateStems,
  fitsFileName,
  isNameOf,
  keyFromStem,
  pythonStrip,
  readableStem,
  sessionFileName,
} from "../../src/session/key.js";
import { UserError } from "../../src/util/errors.js";

const anyKey = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom(...'ab_:/\\<>"|?*. \t\u00a0\ufeff~-'), maxLength: 8 }),
);

describe("the readable file name", () => {
  it.each([
    ["telegram:12345678", "telegram_12345678.jsonl"],
    ["discord:99", "discord_99.jsonl"],
    ["cli:direct", "cli_direct.jsonl"],
    ["cron:job-abc123", "cron_job-abc123.jsonl"],
    ["telegram:-100:topic:5", "telegram_-100_topic_5.jsonl"],
    ['x<>:"/\\|?*y', "x_________y.jsonl"],
    [" :sp ", "_sp.jsonl"],
    ["", ".jsonl"],
    ["..", "...jsonl"],
    ["\ufeffk:v", "\ufeffk_v.jsonl"],
  ])("of %j is %j (004-1)", (key, name) => {
    expect(sessionFileName(key)).toBe(name);
  });

  it("never leaves the folder", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        for (const naming of ["nanobot", "base64url"] as const) {
          const name = sessionFileName(key, { naming });
          expect(name).not.toMatch(/[/\\]/);
          expect(name.endsWith(".jsonl")).toBe(true);
        }
      }),
    );
  });

  it("strips what Python strips, no more and no less", () => {
    const stripped = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
      (character) => pythonStrip(character) === "",
    );
    const codes = [9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xa0, 0x1680];
    for (let code = 0x2000; code <= 0x200a; code++) codes.push(code);
    codes.push(0x2028, 0x2029, 0x202f, 0x205f, 0x3000);
    expect(stripped.map((character) => character.charCodeAt(0))).toEqual(codes);
  });
});

describe("whose file it is (004-18)", () => {
  it("no two keys have only names in common", () => {
    fc.assert(
      fc.property(anyKey, anyKey, (one, other) => {
        fc.pre(one !== other);
        // A file that says it is the other's is never taken by this one, under whatever name the two share.
        for (const stem of candidateStems(other)) expect(belongsTo(one, stem, other)).toBe(false);
        const mine = candidateStems(one).filter((stem) => !candidateStems(other).includes(stem));
        expect(mine.length).toBeGreaterThan(0);
      }),
    );
  });

  it("is decided by the stored key, and without one by who asks", () => {
    expect(belongsTo("a:b", "a_b", "a:b")).toBe(true);
    expect(belongsTo("a:b", "a_b", "a_b")).toBe(false);
    expect(belongsTo("a:b", "a_b", undefined)).toBe(true);
    expect(belongsTo("a:b", "a_b", "c:d")).toBe(true); // could never have had this name: damage, or renamed by hand
  });

  it("all names of a key are recognised as its own", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(isNameOf(readableStem(key), key)).toBe(true);
        expect(isNameOf(sessionFileName(key, { naming: "base64url" }).slice(0, -6), key)).toBe(true);
      }),
    );
  });

  it.each([
    ["telegram_123", "telegram:123"],
    ["my_chan_x", "my:chan_x"],
    ["dGVsZWdyYW06MTIz", "telegram:123"],
    ["heartbeat", "heartbeat"],
    ["", ""],
    ["_", ":"],
  ])("the name %j tells the key %j when nothing else does", (stem, key) => {
    expect(keyFromStem(stem)).toBe(key);
  });
});

describe("a key that cannot be stored", () => {
  it.each(["\0", "a:\0b", "\ud800", "a:\udfff", `a:${"x".repeat(249)}`, "é".repeat(125)])(
    "%j is refused by name",
    (key) => {
      expect(() => assertStorable(key)).toThrow(UserError);
      expect(() => assertStorable(key)).toThrow(JSON.stringify(key));
    },
  );

  it.each([`a:${"x".repeat(247)}`, "é".repeat(124), "🎈", ""])("%j is not one", (key) => {
    expect(() => assertStorable(key)).not.toThrow();
    expect(fitsFileName(sessionFileName(key))).toBe(true);
  });
});
