/** The history as entries, and a diff without its quiet stretches. */
import { describe, expect, it } from "vitest";
import { lineDiff } from "../../../src/util/line-diff.js";
import { foldSame } from "../../../web/src/views/memory/fold-same.js";
import { entriesOf } from "../../../web/src/views/memory/history-entries.js";

describe("HISTORY.md", () => {
  it("is read as dated entries, the newest first", () => {
    const text = "# History\n\n[2026-11-14 09:12] First.\n\n[2026-11-15 18:40] Second,\nin two lines.\n\nBy hand.\n";
    expect(entriesOf(text)).toEqual([
      { time: "", text: "By hand." },
      { time: "2026-11-15 18:40", text: "Second,\nin two lines." },
      { time: "2026-11-14 09:12", text: "First." },
    ]);
    expect(entriesOf("")).toEqual([]);
  });
});

describe("a diff", () => {
  const lines = (...more: string[]): string => ["1", "2", "3", "4", "5", ...more].join("\n");

  it("shows a little of what surrounds a change", () => {
    expect(foldSame(lineDiff(lines(), lines("6")))).toEqual([
      { kind: "folded", count: 3 },
      { kind: "same", text: "4" },
      { kind: "same", text: "5" },
      { kind: "added", text: "6" },
    ]);
  });

  it("of the same text is empty", () => {
    expect(foldSame(lineDiff(lines(), lines()))).toEqual([]);
  });
});
