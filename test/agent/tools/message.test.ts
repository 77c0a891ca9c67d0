/** message and spawn: what leaves the turn while it runs. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { messageTool, type ToolMessage } from "../../../src/agent/tools/message.js";
import { type SubagentTask, spawnTool } from "../../../src/agent/tools/spawn.js";
import type { Address } from "../../../src/message.js";
import { call, openBench } from "./bench-of-tools.js";

function openMessage() {
  const bench = openBench();
  const sent: ToolMessage[] = [];
  const said: Address[] = [];
  const tool = messageTool(bench.fence, async (message) => void sent.push(message));
  return { bench, sent, said, say: (input: object) => call(tool, input, { said: (to) => void said.push(to) }) };
}

describe("message", () => {
  it("goes to the current chat, and the turn learns of it", async () => {
    const { say, sent, said } = openMessage();
    expect(await say({ content: "hello" })).toBe("Message sent to telegram:1");
    expect(sent).toEqual([{ to: { channel: "telegram", chat: "1" }, text: "hello", media: [] }]);
    expect(said).toEqual([{ channel: "telegram", chat: "1" }]);
  });

  it("goes to another chat when told so; a number will do", async () => {
    const { say, sent, said } = openMessage();
    expect(await say({ content: "hello", channel: "discord", chat_id: 42 })).toBe("Message sent to discord:42");
    expect(sent[0]?.to).toEqual({ channel: "discord", chat: "42" });
    expect(said).toEqual([{ channel: "discord", chat: "42" }]);
  });

  it("takes files of the workspace along, and no others", async () => {
    const { bench, say, sent } = openMessage();
    bench.put("a.png", "x");
    symlinkSync(join(bench.home, "config.json"), bench.at("innocent.png"));
    expect(await say({ content: "", media: ["a.png", "./a.png"] })).toBe(
      "Message sent to telegram:1 with 2 attachments",
    );
    expect(sent[0]?.media).toEqual([bench.at("a.png"), bench.at("a.png")]);
    for (const path of [
      "/etc/passwd",
      "../config.json",
      "sessions/telegram_42.jsonl",
      "innocent.png",
      "none.png",
      ".",
    ]) {
      expect(await say({ content: "look", media: ["a.png", path] })).toMatch(/^Error: /);
    }
    expect(sent).toHaveLength(1);
  });

  it("that cannot be sent is told to the model, and does not silence the reply", async () => {
    const said: Address[] = [];
    const tool = messageTool(openBench().fence, () => Promise.reject(new Error("no such chat")));
    expect(await call(tool, { content: "x" }, { said: (to) => void said.push(to) })).toContain(
      "Error sending message: no such chat",
    );
    expect(said).toEqual([]);
  });

  it("needs a target and something to say", async () => {
    const { say, sent } = openMessage();
    expect(await say({ content: " " })).toContain("empty");
    const tool = messageTool(openBench().fence, async () => {});
    expect(await call(tool, { content: "x" }, { from: { channel: "", chat: "" } })).toContain(
      "Error: No target channel/chat specified",
    );
    expect(sent).toEqual([]);
  });
});

describe("spawn", () => {
  it("starts a subagent that knows where it comes from", async () => {
    const started: SubagentTask[] = [];
    const tool = spawnTool(async (task) => {
      started.push(task);
      return { kind: "started", id: "0a1b2c3d" };
    });
    const task = "find out everything about 🐈 and dogs";
    expect(await call(tool, { task })).toBe(
      "Subagent [find out everything about 🐈 an...] started (id: 0a1b2c3d). I'll notify you when it completes.",
    );
    expect(await call(tool, { task, label: "pets" })).toContain("Subagent [pets] started");
    expect(started[1]).toEqual({
      task,
      label: "pets",
      origin: { session: "telegram:1", from: { channel: "telegram", chat: "1" } },
    });
  });

  it("says so when too many are at work", async () => {
    const tool = spawnTool(async () => ({ kind: "full", running: 2, limit: 2 }));
    expect(await call(tool, { task: "x" })).toContain(
      "Cannot spawn subagent: concurrency limit reached (2/2 running).",
    );
  });
});
