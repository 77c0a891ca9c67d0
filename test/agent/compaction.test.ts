import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactedView, resultStub, toolRow } from "../../src/agent/compaction.js";
import type { Row } from "../../src/message.js";
import { ModelError } from "../../src/providers/provider.js";
import { call } from "../support/scripted-model.js";
import { refusal } from "../support/strict-model.js";
import { openTurns, toolSaying } from "../support/turn-house.js";

const found = (count: number): string =>
  JSON.stringify({
    success: true,
    results: Array.from({ length: count }, (_, at) => ({ source: `Notes/${at}.md`, text: "…".repeat(30) })),
  });
const long = `plain words ${"x".repeat(600)}`;

describe("the stub of a result", () => {
  it("of five results is the one of the design document (001-9, 001-10)", () => {
    expect(resultStub("search_vault", found(5))).toBe(
      '{"tool": "search_vault", "status": "success", "summary": "5 results", ' +
        '"files": ["Notes/0.md", "Notes/1.md", "Notes/2.md", "Notes/3.md", "Notes/4.md"]}',
    );
  });

  it("says one result, and names a file once however often it was found", () => {
    expect(JSON.parse(resultStub("grep", '{"results": [{"source": "a.md"}]}'))).toMatchObject({ summary: "1 result" });
    const twice = '[{"path": "a.md"}, {"path": "b.md"}, {"path": "a.md"}]';
    expect(JSON.parse(resultStub("grep", twice))).toMatchObject({ summary: "3 results", files: ["a.md", "b.md"] });
  });

  it.each([
    ["an error field", '{"success": false, "error": "no such note"}', "no such note"],
    ["only a message", '{"success": false, "message": "vault is locked"}', "vault is locked"],
    ["an error without success", '{"error": "timed out"}', "timed out"],
    ["no words at all", '{"success": false}', '{"success": false}'],
    ["an error that is an object", '{"error": {"code": 7}}', '{"error": {"code": 7}}'],
    ["a tool's own words", "Error: Path x is outside", "Error: Path x is outside"],
  ])("of a failure keeps its message: %s (001-11)", (_, result, error) => {
    expect(JSON.parse(resultStub("read", result))).toEqual({ tool: "read", status: "error", error });
  });

  it("of a failure keeps the files and the count as well", () => {
    const result = '{"success": false, "error": "partial", "path": "a.md", "results": []}';
    expect(resultStub("read", result)).toBe(
      '{"tool": "read", "status": "error", "summary": "0 results", "files": ["a.md"], "error": "partial"}',
    );
  });

  it.each([
    [199, 199],
    [200, 200],
    [201, 200],
  ])("of %i characters that are no JSON has the first %i as its summary (001-12)", (length, kept) => {
    const text = "é".repeat(length - 1) + "😀";
    const { summary } = JSON.parse(resultStub("exec", text)) as { summary: string };
    expect([...summary].length).toBe(kept);
    expect(text.startsWith(summary)).toBe(true);
  });

  it.each(["42", "null", '"success story"', "[1,2]", "{}", "", "true", "NaN", '"\\ud800"', '{"results": {"a": 1}}'])(
    "of %s is one (001-18)",
    (result) => {
      expect(JSON.parse(resultStub("odd", result))).toMatchObject({ tool: "odd", status: "success" });
    },
  );

  it("of anything whatsoever is JSON with a tool and a status (001-18)", () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc.json().map((json) => `{"error": ${json}}`),
    );
    fc.assert(
      fc.property(anything, (result) => {
        const stub = JSON.parse(resultStub("any", result)) as Row;
        expect(stub["tool"]).toBe("any");
        expect(["success", "error"]).toContain(stub["status"]);
      }),
    );
  });

  it("of a list a hundred thousand lists deep is one", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(JSON.parse(resultStub("odd", `{"error": ${deep}}`))).toMatchObject({ status: "error" });
    expect(JSON.parse(resultStub("odd", deep))).toMatchObject({ summary: "1 result" });
  });
});

describe("an old tool result", () => {
  const tool = (id: string | undefined, content: unknown, more: Row = {}): Row => ({
    role: "tool",
    ...(id !== undefined && { tool_call_id: id }),
    content,
    ...more,
  });
  const asked = (...calls: readonly [name: string, id: string][]): Row => ({
    role: "assistant",
    content: null,
    tool_calls: calls.map(([name, id]) => call(name, {}, id)),
  });
  const toolNames = (rows: readonly Row[]): unknown[] =>
    rows.flatMap(({ role, content }) => (role === "tool" ? [(JSON.parse(String(content)) as Row)["tool"]] : []));

  it("is named after the call with its id, also among several and when ids come again (001-13)", () => {
    const rows = [
      asked(["search", "c1"], ["read", "c2"]),
      tool("c2", long),
      tool("c1", long, { name: "wrong" }),
      asked(["exec", "c1"]),
      tool("c1", long),
      tool("nobody", long, { name: "own" }),
      tool("nobody", long),
    ];
    expect(toolNames(compactedView(rows, "view"))).toEqual(["read", "search", "exec", "own", "tool"]);
  });

  it("without an id, or with odd calls before it, harms nobody (001-18)", () => {
    const odd = [null, 7, {}, { id: "c1" }, { id: "c1", function: null }, { id: "c1", function: { name: 3 } }];
    const rows = [
      { role: "assistant", tool_calls: odd },
      { role: "assistant", tool_calls: "x" },
      tool(undefined, long),
    ];
    expect(toolNames(compactedView(rows, "view"))).toEqual(["tool"]);
  });

  it("is left alone where the stub would be longer, and where it is no text", () => {
    const rows = [tool("c1", "ok"), tool("c1", [{ type: "text", text: long }]), { role: "user", content: long }];
    expect(compactedView(rows, "view")).toEqual(rows);
  });

  it("is left alone when compaction is off", () => {
    expect(compactedView([tool("c1", long)], "off")).toEqual([tool("c1", long)]);
  });

  it("that is a stub is never made one again (001-14)", () => {
    const { stored } = toolRow({ id: "c1", name: "search" }, found(5), found(5), "store");
    expect(compactedView([stored], "store")[0]).toBe(stored);
    expect(compactedView([stored], "view")[0]).toBe(stored);
  });
});

describe("a turn with tools", () => {
  const search = [call("search", { q: "x" }, "c1")];
  /** The tool results among the messages of the n-th request. */
  const resultsIn = (house: ReturnType<typeof openTurns>, request: number): string[] =>
    (house.requests[request]?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.content] : []));

  it.each(["store", "view", "off"] as const)(
    "shows the model whole results until it is over: %s (001-19)",
    async (mode) => {
      const lines = [{ toolCalls: search }, { text: "more", toolCalls: search }, { text: "done" }, { text: "again" }];
      const house = openTurns({ lines, tools: [toolSaying("search", found(5))], compaction: mode });
      await house.say("look");
      expect(resultsIn(house, 1)).toEqual([found(5)]);
      expect(resultsIn(house, 2)).toEqual([found(5), found(5)]);
      await house.say("and now?");
      const shown = mode === "off" ? found(5) : resultStub("search", found(5));
      expect(resultsIn(house, 3)).toEqual([shown, shown]);
    },
  );

  it("stores stubs in mode store, with their ids, so that the history stays legal (001-9, 001-16)", async () => {
    const lines = [{ toolCalls: search }, { text: "done" }, { text: "again" }];
    const house = openTurns({ lines, tools: [toolSaying("search", found(5))], compaction: "store" });
    await house.say("look");
    const [, asked, result] = await house.rows();
    expect(asked?.["tool_calls"]).toEqual([call("search", '{"q": "x"}', "c1")]);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "c1", name: "search", _compacted: true });
    expect(result?.["content"]).toBe(resultStub("search", found(5)));
    await house.say("and now?");
    expect(refusal(house.requests[2]?.messages ?? [])).toBeUndefined();
  });

  it.each(["store", "view"] as const)(
    "makes the stub from the whole result, though the model saw it cut: %s (001-17)",
    async (mode) => {
      const lines = [{ toolCalls: search }, { text: "done" }, { text: "again" }];
      const house = openTurns({ lines, tools: [toolSaying("search", found(200))], compaction: mode });
      await house.say("look");
      expect(resultsIn(house, 1)[0]).toBe(`${found(200).slice(0, 4000)}\n\n[truncated]`);
      await house.say("and now?");
      const stub = JSON.parse(resultsIn(house, 2)[0] ?? "") as { summary: string; files: string[] };
      expect(stub.summary).toBe("200 results");
      expect(stub.files.length).toBe(200);
    },
  );

  it.each(["store", "view", "off"] as const)(
    "leaves what is stored as it is, byte for byte, whatever later turns do: %s (001-14)",
    async (mode) => {
      const lines = [
        { toolCalls: search },
        { text: "done" },
        { toolCalls: search },
        new ModelError("network", "gone", "wait"),
        { toolCalls: search },
        { text: "fine" },
      ];
      const house = openTurns({ lines, tools: [toolSaying("search", found(200))], compaction: mode });
      await house.say("look");
      const rowsOf = (): string[] => house.file().split("\n").slice(1);
      const before = rowsOf();
      await expect(house.say("fails")).rejects.toThrow("gone");
      expect(rowsOf()).toEqual(before);
      await house.say("works");
      expect(rowsOf().slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    },
  );

  it.each(["store", "view", "off"] as const)(
    "shows no model our own marks, in no request: %s (001-15)",
    async (mode) => {
      const lines = [{ toolCalls: search }, { toolCalls: search }, { text: "done" }];
      const house = openTurns({ lines, tools: [toolSaying("search", found(200))], compaction: mode });
      await house.say("one");
      await house.say("two");
      await house.say("three");
      expect(JSON.stringify(house.requests)).not.toMatch(/_compacted|_stub/);
    },
  );
});
