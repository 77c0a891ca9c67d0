import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDocumentChat, type HistoryDocuments } from "../../src/agent/document-chat.js";
import { ModelError } from "../../src/providers/provider.js";
import { openHistories } from "../../src/session/histories.js";
import { type Line, scriptedModel } from "../support/scripted-model.js";
import { temporaryFolder } from "../support/workspace.js";

const { signal } = new AbortController();

function openChat(lines: readonly Line[], contextTokens = 100_000) {
  const stored = openHistories({
    file: join(temporaryFolder(), "histories.sqlite"),
    clock: () => "2026-02-11T17:00:00Z",
  });
  const accesses: string[] = [];
  const histories: HistoryDocuments = {
    loadHistory: (...ids) => (accesses.push("load"), stored.loadHistory(...ids)),
    saveHistory: (...args) => (accesses.push("save"), stored.saveHistory(...args)),
  };
  const { model, requests } = scriptedModel(lines);
  const chat = createDocumentChat({
    histories,
    model: { ...model, contextTokens },
    tools: [],
    settings: { maxIterations: 10, toolResultMaxChars: 4000, toolCompaction: "view", maxTokens: 100 },
    system: async () => "S",
    clock: () => "2026-02-11T17:00:00",
  });
  return { chat, stored, accesses, requests };
}

describe("a chat kept as one document", () => {
  it("goes through load and save only, once each per message (002-9)", async () => {
    const { chat, stored, accesses } = openChat([{ text: "hello" }]);
    expect(await chat.processMessage("agent", "chat", "hi", signal)).toBe("hello");
    expect(accesses).toEqual(["load", "save"]);
    expect(await stored.loadHistory("agent", "chat")).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ]);
  });

  it("is left as it was by a turn that fails", async () => {
    const { chat, stored } = openChat([{ text: "hello" }, new ModelError("network", "gone", "wait")]);
    await chat.processMessage("agent", "chat", "hi", signal);
    await expect(chat.processMessage("agent", "chat", "again", signal)).rejects.toThrow("gone");
    expect((await stored.loadHistory("agent", "chat")).length).toBe(2);
  });

  it("keeps the summary plus this turn once it is half full (002-14)", async () => {
    const long = "words ".repeat(2000);
    const { chat, stored, accesses } = openChat([{ text: long }, { text: "second" }, { text: "they talked" }], 6000);
    await chat.processMessage("agent", "chat", "first", signal);
    accesses.length = 0;
    await chat.processMessage("agent", "chat", "next", signal);
    expect(await stored.loadHistory("agent", "chat")).toEqual([
      { role: "assistant", content: "Conversation summary at T=2026-02-11T17:00:00\n\nthey talked" },
      { role: "user", content: "next" },
      { role: "assistant", content: "second" },
    ]);
    expect(accesses).toEqual(["load", "save"]);
  });

  it("summarises all of a long history, piece by piece, never leaving out its middle", async () => {
    const { chat, stored, requests } = openChat(
      [{ text: "one" }, { text: "two" }, { text: "three" }, { text: "all" }],
      3000,
    );
    const history = Array.from({ length: 40 }, (_, at) => ({ role: "user", content: `fact ${at} ${"x".repeat(200)}` }));
    await stored.saveHistory("agent", "chat", history);
    await chat.compactSession("agent", "chat", signal);
    const asked = requests.map(({ messages }) => JSON.stringify(messages[1]?.content)).join("\n");
    for (let at = 0; at < 40; at++) expect(asked).toContain(`fact ${at} `);
    expect(requests.length).toBeGreaterThan(1);
    expect(asked).toContain(String.raw`The summary so far:\none`);
  });

  it("loses nothing when the summary cannot be had", async () => {
    const long = "words ".repeat(2000);
    const { chat, stored } = openChat(
      [{ text: long }, { text: "second" }, new ModelError("overload", "busy", "wait")],
      6000,
    );
    await chat.processMessage("agent", "chat", "first", signal);
    await chat.processMessage("agent", "chat", "next", signal);
    expect((await stored.loadHistory("agent", "chat")).length).toBe(4);
  });

  it("can be compacted on request, and says when there is nothing to compact (002-9)", async () => {
    const { chat, stored } = openChat([{ text: "hello" }, { text: "greetings" }]);
    expect(await chat.compactSession("agent", "chat", signal)).toEqual({ success: false, reason: expect.any(String) });
    await chat.processMessage("agent", "chat", "hi", signal);
    expect(await chat.compactSession("agent", "chat", signal)).toEqual({ success: true });
    expect((await stored.loadHistory("agent", "chat")).map((row) => row["content"])).toEqual([
      "Conversation summary at T=2026-02-11T17:00:00\n\ngreetings",
    ]);
  });

  it("answers two messages of one chat one after the other", async () => {
    const { chat, stored } = openChat([{ text: "a" }]);
    await Promise.all(["1", "2", "3"].map((text) => chat.processMessage("agent", "chat", text, signal)));
    expect((await stored.loadHistory("agent", "chat")).map((row) => row["content"])).toEqual([
      "1",
      "a",
      "2",
      "a",
      "3",
      "a",
    ]);
  });
});
