import { describe, expect, it } from "vitest";
import type { PythonValue } from "../../src/session/python-json.js";
import { settleLeftovers } from "../../src/session/leftovers.js";

const now = "2026-06-30T12:34:56";
const question = { role: "user", content: "question" };

describe("a turn that a later nanobot left unfinished", () => {
  it("is closed with an error when only its question is known", () => {
    const metadata: Record<string, PythonValue> = { title: "t", pending_user_turn: true };
    expect(settleLeftovers(metadata, () => [question], now)).toEqual([
      { role: "assistant", content: "Error: Task interrupted before a response was generated.", timestamp: now },
    ]);
    expect(metadata).toEqual({ title: "t" });
  });

  it("is not closed a second time when a checkpoint tells how far it came", () => {
    const metadata: Record<string, PythonValue> = { runtime_checkpoint: {}, pending_user_turn: true };
    expect(settleLeftovers(metadata, () => [question], now)).toEqual([]);
    expect(metadata).toEqual({});
  });

  it("answers each call that never finished, and calls a tool without a name a tool", () => {
    const calls = [{ id: "c1", function: { name: "probe" } }, { id: "c2", name: "elsewhere" }, "nonsense"];
    const rows = settleLeftovers({ runtime_checkpoint: { pending_tool_calls: calls } }, () => [question], now);
    expect(rows.map((row) => [row["tool_call_id"], row["name"]])).toEqual([
      ["c1", "probe"],
      ["c2", "tool"],
    ]);
  });
});
