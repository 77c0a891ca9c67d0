import { describe, expect, it } from "vitest";
import { folded, widthOf } from "../../src/cli/text-width.js";

describe("the width of text", () => {
  it.each([
    ["plain", 5],
    ["\u001b[1mbold\u001b[22m", 4],
    ["日本", 4],
    ["e\u0301", 1],
    ["🙂", 2],
    ["👨‍👩‍👧", 2],
    ["✔\ufe0f", 2],
    ["", 0],
  ])("of %j is %i columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });
});

describe("folding", () => {
  it.each([
    ["between words", "one two three", ["one two", "three"]],
    ["inside a word only if it must", "a verylongword", ["a verylo", "ngword"]],
    ["behind a bullet", "• one two three", ["• one", "  two", "  three"]],
    ["behind a bar", "│ one two three", ["│ one", "│ two", "│ three"]],
    ["wide characters", "日本語日本語", ["日本語日", "本語"]],
    ["at line breaks", "a\n\nb", ["a", "", "b"]],
    ["not at all what fits", "12345678", ["12345678"]],
  ])("happens %s", (_, text, rows) => {
    expect(folded(text, 8)).toEqual(rows);
  });

  it("ends styles with each row and takes them up in the next", () => {
    expect(folded("\u001b[1mone two three\u001b[22m end", 8)).toEqual([
      "\u001b[1mone two\u001b[0m",
      "\u001b[1mthree\u001b[22m",
      "end",
    ]);
    expect(folded("\u001b[33ma\nb\u001b[39m c", 8)).toEqual(["\u001b[33ma\u001b[0m", "\u001b[33mb\u001b[39m c"]);
  });
});
