import { describe, expect, it } from "vitest";
import { rememberTool } from "../../../src/agent/tools/remember.js";

const context = { session: "a:1", from: { channel: "a", chat: "1" }, signal: new AbortController().signal };

describe("remember", () => {
  it("adds one line to the memory of the chat that asks", async () => {
    const kept: string[] = [];
    const tool = rememberTool(async (session, fact) => void kept.push(`${session} ${fact}`));
    expect(await tool.call(JSON.stringify({ fact: "  likes\n tea " }), context)).toBe("Remembered: likes tea");
    expect(kept).toEqual(["a:1 likes tea"]);
  });

  it("refuses what is empty or too long", async () => {
    const tool = rememberTool(async () => {
      throw new Error("never asked");
    });
    expect(await tool.call('{"fact": " "}', context)).toContain("Error: The fact is empty.");
    expect(await tool.call(JSON.stringify({ fact: "x".repeat(3000) }), context)).toContain("Error: Invalid parameters");
  });
});
