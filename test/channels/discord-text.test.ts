/** How an answer is cut into Discord messages. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageLimit, splitForDiscord } from "../../src/channels/discord-text.js";

const bare = (text: string): string => text.replaceAll(/\s+/g, "");
const fenceMarks = (text: string): number => text.split("```").length - 1;
const line = (letter: string, length: number): string => letter.repeat(length);

describe("an answer", () => {
  it("that fits is one message, unchanged", () => {
    expect(splitForDiscord("hello\n\n  there ")).toEqual(["hello\n\n  there "]);
    expect(splitForDiscord(line("x", 2000))).toEqual([line("x", 2000)]);
  });

  it.each(["", " ", "\n\n"])("of nothing (%j) is no message", (text) => {
    expect(splitForDiscord(text)).toEqual([]);
  });

  it("is cut at the end of a line rather than in it", () => {
    const parts = splitForDiscord(`${line("a", 1500)} a\n${line("b", 400)} b ${line("c", 400)}`);
    expect(parts).toEqual([`${line("a", 1500)} a`, `${line("b", 400)} b ${line("c", 400)}`]);
  });

  it("is cut between words when its lines are long", () => {
    expect(splitForDiscord(`${line("a", 1900)} ${line("b", 300)}`)).toEqual([line("a", 1900), line("b", 300)]);
  });

  it("keeps the indentation of the line behind a cut", () => {
    const [, second] = splitForDiscord(`${line("a", 1990)}\n\n  - nested ${line("b", 100)}`);
    expect(second).toBe(`  - nested ${line("b", 100)}`);
  });

  it("leaves no empty message where it has a thousand blank lines", () => {
    expect(splitForDiscord(`a${"\n".repeat(5000)}b`)).toEqual(["a", "b"]);
  });
});

describe("what belongs together", () => {
  it.each([
    ["a link", `https://example.org/${line("p", 80)}`],
    ["a link with a title", "[the title of it](https://example.org/a?b=c)"],
    ["a link without preview", "<https://example.org/a>"],
    ["a mention", "<@123456789012345678>"],
    ["a custom emoji", "<a:party_parrot:123456789012345678>"],
    ["a time", "<t:1700000000:R>"],
    ["inline code", "`npm run build --if-present`"],
    ["a family", "👨‍👩‍👧‍👦"],
    ["a flag", "🏳️‍🌈"],
    ["a letter with accents", "é̂̃"],
  ])("%s is not cut", (_what, piece) => {
    for (let before = 2000 - piece.length - 1; before < 2000; before++) {
      const parts = splitForDiscord(`${line("x", before)}${piece}${line("y", 50)}`);
      expect(parts.some((part) => part.includes(piece))).toBe(true);
      expect(parts.join("")).toBe(`${line("x", before)}${piece}${line("y", 50)}`);
    }
  });

  it("is cut after all when it is longer than a message", () => {
    const link = `https://example.org/${line("p", 5000)}`;
    const parts = splitForDiscord(link);
    expect(parts.join("")).toBe(link);
    expect(parts).toHaveLength(3);
  });

  it("a character of a thousand accents is cut between code points", () => {
    const prank = `e${"\u0301".repeat(4500)}`;
    expect(splitForDiscord(prank).join("")).toBe(prank);
  });
});

describe("a code block", () => {
  const code = (lines: number, indent = "  "): string =>
    Array.from({ length: lines }, (_, index) => `${indent}call(${index});`).join("\n");

  it("that is cut is closed, and opened again with its language", () => {
    const parts = splitForDiscord(`\`\`\`ts\n${code(400)}\n\`\`\``);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part).toMatch(/^```ts\n {2}call[^]*\);\n```$/);
    const joined = parts.map((part) => part.slice("```ts\n".length, -"\n```".length)).join("\n");
    expect(joined).toBe(code(400));
  });

  it("stays whole when it fits into a message of its own", () => {
    const block = `\`\`\`py\n${code(100)}\n\`\`\``;
    expect(splitForDiscord(`${line("a", 900)}\n${block}\nbye`)).toEqual([line("a", 900), `${block}\nbye`]);
  });

  it("does not begin where only its first lines would fit", () => {
    const [first, second] = splitForDiscord(`${line("a", 1900)}\n\`\`\`\n${code(500)}\n\`\`\``);
    expect(first).toBe(line("a", 1900));
    expect(second).toMatch(/^```\n {2}call\(0\)/);
  });

  it("leaves no empty block behind", () => {
    for (let size = 1980; size < 2005; size++) {
      const parts = splitForDiscord(`\`\`\`js\n${line("x", size)}\n\`\`\`\n${line("y", 50)}`);
      for (const part of parts) expect(part).not.toMatch(/```(?:js)?\s*```/);
      expect(bare(parts.join("")).replaceAll(/```(?:js)?/g, "")).toBe(line("x", size) + line("y", 50));
    }
  });

  it("that is never closed is text like any other", () => {
    const parts = splitForDiscord(`\`\`\`js\n${line("x", 3000)}`);
    expect(parts.map(fenceMarks)).toEqual([1, 0, 0]);
  });
});

describe("any text whatsoever", () => {
  const piece = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc.constantFrom("\n", "\n\n", " ", "```", "```ts\n", "\n```\n", "<@1234567890>", "👨‍👩‍👧‍👦", "https://a.example/b?c=d"),
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.nat({ max: 900 }).map((length) => line("w", length)),
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
  const limit = fc.constantFrom(200, 333, messageLimit);

  it("becomes messages that fit and say something", () => {
    fc.assert(
      fc.property(text, limit, (whole, most) => {
        for (const part of splitForDiscord(whole, most)) {
          expect(part.length).toBeLessThanOrEqual(most);
          expect(part.trim()).not.toBe("");
        }
      }),
    );
  });

  it("loses nothing but space, and gains nothing but marks around code", () => {
    fc.assert(
      fc.property(text, limit, (whole, most) => {
        const plain = whole.replaceAll("`", "'");
        expect(bare(splitForDiscord(plain, most).join(""))).toBe(bare(plain));
        // The language of a block is said again with its marks; here there is only one.
        const code = whole.replaceAll(/(?<=```)(?!ts\n)(?=[\w+#.-]+\n)/g, " ");
        const naked = (value: string): string => bare(value.replaceAll(/[`ts]/g, ""));
        expect(naked(splitForDiscord(code, most).join("\n"))).toBe(naked(code));
      }),
    );
  });

  it("has every block closed that was closed", () => {
    fc.assert(
      fc.property(text, limit, (whole, most) => {
        const even = whole.replaceAll(/`{4,}/g, "").concat(fenceMarks(whole) % 2 === 0 ? "" : "\n```");
        fc.pre(!/`{4,}/.test(even) && fenceMarks(even) % 2 === 0);
        for (const part of splitForDiscord(even, most)) expect(fenceMarks(part) % 2).toBe(0);
      }),
    );
  });

  it("has no surrogate pair torn", () => {
    fc.assert(
      fc.property(text, limit, (whole, most) => {
        const parts = splitForDiscord(whole.toWellFormed(), most);
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
      }),
    );
  });
});
