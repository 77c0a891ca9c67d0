/** What people read in one line. */
import { describe, expect, it } from "vitest";
import { plainLine } from "../../../web/src/ui/format.js";

describe("an answer in one line", () => {
  it.each([
    ["17*23 = 391", "17*23 = 391"],
    ["2 * 3 * 4", "2 * 3 * 4"],
    ["a*b*c and x**2**3", "a*b*c and x**2**3"],
    ["issue #5, C#, a | b, 5-3", "issue #5, C#, a | b, 5-3"],
  ])("keeps what was meant: %s", (text, line) => {
    expect(plainLine(text)).toBe(line);
  });

  it.each([
    ["**Done**: *all* of `ls *.md`", "Done: all of ls *.md"],
    ["***very*** **`code`** (**so**)", "very code (so)"],
    ["## Today\n\n- one\n* two\n+ three\n> four", "Today one two three four"],
    ["Look:\n```ts\nconst a = 2 * 3;\n```\nso", "Look: const a = 2 * 3; so"],
    ["| a | b |\n| --- | :-: |\n| 1 | 2 |", "a b 1 2"],
    ["one\n\n---\n\ntwo", "one two"],
  ])("has no marks: %j", (text, line) => {
    expect(plainLine(text)).toBe(line);
  });
});
