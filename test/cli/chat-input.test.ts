import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPasteSplitter, readHistory } from "../../src/cli/chat-input.js";
import { temporaryFolder } from "../support/workspace.js";

const begins = "\u001b[200~";
const ends = "\u001b[201~";

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe("what a terminal sends", () => {
  const text = `ab${begins}one ü\r\ntwo\r三${ends}c\u001b[A${begins}${ends}\r`;
  const expected = ["keys ab", "paste one ü\ntwo\n三", "keys c\u001b[A", "keys \r"];

  it("is told apart into keys and pastes", () => {
    const parts = createPasteSplitter()(Buffer.from(text));
    expect(parts.map(({ kind, text: part }) => `${kind} ${part}`)).toEqual(expected);
  });

  it("may come in any pieces", () => {
    const bytes = Buffer.from(text);
    // But not right behind the escape that begins a paste: there nobody can tell it from the key.
    const [begin, ...places] = upTo(bytes.length).filter((at) => bytes[at] === 0x5b && bytes[at + 1] === 0x32);
    for (const at of upTo(bytes.length).filter((place) => place !== begin && place !== places.at(1))) {
      const split = createPasteSplitter();
      const parts = [...split(bytes.subarray(0, at)), ...split(bytes.subarray(at))];
      const joined = (kind: string) => parts.filter((part) => part.kind === kind).map((part) => part.text);
      expect(joined("paste")).toEqual(["one ü\ntwo\n三"]);
      expect(joined("keys").join("")).toBe("abc\u001b[A\r");
    }
  });

  it("does not hold back a lone escape", () => {
    expect(createPasteSplitter()(Buffer.from("\u001b"))).toEqual([{ kind: "keys", text: "\u001b" }]);
  });
});

describe("the history", () => {
  it("is nanobot's file, the newest first, with many lines as one", () => {
    const file = join(temporaryFolder(), "cli_history");
    writeFileSync(
      file,
      "\n# 2026-02-24 16:24:47.000120\n+first\n\n# 2026-02-24 16:25:00.000000\n+second\n+its end\u0007\n",
    );
    expect(readHistory(file)).toEqual(["second⏎its end\ufffd", "first"]);
    expect(readHistory(join(file, "none"))).toEqual([]);
  });
});
