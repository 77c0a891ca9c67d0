/** What later nanobots leave in a file when they die in the middle of a turn. */
import { describe, expect, it } from "vitest";
import { pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { openWorkspace } from "../support/workspace.js";

const key = "telegram:42";
const file = "telegram_42.jsonl";
const now = "2026-06-30T12:34:56.654321";

const question = { role: "user", content: "list", timestamp: "2026-01-01T00:00:00" };
const calls = ["c1", "c2"].map((id) => ({ id, type: "function", function: { name: "exec", arguments: "{}" } }));
const asked = { role: "assistant", content: "", tool_calls: calls };
const result = { role: "tool", tool_call_id: "c1", name: "exec", content: "a.txt" };
const checkpoint = {
  phase: "awaiting_tools",
  iteration: 0,
  model: "m",
  assistant_message: asked,
  completed_tool_results: [result],
  pending_tool_calls: calls.slice(1),
};
const interrupted = {
  role: "tool",
  tool_call_id: "c2",
  name: "exec",
  content: "Error: Task interrupted before this tool finished.",
  timestamp: now,
};

function houseWith(metadata: Readonly<Record<string, PythonValue>>, rows: readonly object[], between = "") {
  const head = { _type: "metadata", key, created_at: now, updated_at: now, metadata, last_consolidated: 0 };
  const house = openWorkspace({ [file]: `${[head, ...rows].map((row) => pythonJson(row)).join(`\n${between}`)}\n` });
  return { ...house, sessions: house.open() };
}

describe("an interrupted turn in the metadata", () => {
  it("with a checkpoint is finished before the next row, and its key is gone", async () => {
    const { sessions, text } = houseWith({ runtime_checkpoint: checkpoint, title: "kept" }, [question]);
    const session = await sessions.getOrCreate(key);
    session.addMessage("user", "next");
    await sessions.save(session);
    const next = { role: "user", content: "next", timestamp: now };
    const stamped = [asked, result].map((row) => ({ ...row, timestamp: now }));
    expect(session.slice(0)).toEqual([question, ...stamped, interrupted, next]);
    expect(session.metadata).toEqual({ title: "kept" });
    expect(text(file)).not.toContain("runtime_checkpoint");
  });

  it("is not finished twice when part of it is in the log already", async () => {
    const { sessions } = houseWith({ runtime_checkpoint: checkpoint }, [question, { ...asked, timestamp: "t" }]);
    const session = await sessions.getOrCreate(key);
    session.settle();
    expect(session.slice(2)).toEqual([{ ...result, timestamp: now }, interrupted]);
    session.settle();
    expect(session.length).toBe(4);
  });

  it("without an answer gets one that says so", async () => {
    const { sessions } = houseWith({ pending_user_turn: true }, [question]);
    const session = await sessions.getOrCreate(key);
    session.addMessage("user", "next");
    expect(session.slice(1, 2)).toEqual([
      { role: "assistant", content: "Error: Task interrupted before a response was generated.", timestamp: now },
    ]);
    expect(session.metadata).toEqual({});
  });

  it("that was answered after all leaves nothing", async () => {
    const answer = { role: "assistant", content: "a", timestamp: "t" };
    const { sessions } = houseWith({ pending_user_turn: true }, [question, answer]);
    const session = await sessions.getOrCreate(key);
    session.settle();
    expect(session.slice(0)).toEqual([question, answer]);
    expect(session.metadata).toEqual({});
  });

  it("stays as it is until something is added", async () => {
    const { sessions, text } = houseWith({ runtime_checkpoint: checkpoint }, [question]);
    const session = await sessions.getOrCreate(key);
    expect(session.length).toBe(1);
    await sessions.save(session);
    expect(text(file)).toContain("runtime_checkpoint");
  });

  it("comes back when the save of the next turn fails", async () => {
    const { sessions } = houseWith({ runtime_checkpoint: checkpoint }, [question]);
    const session = await sessions.getOrCreate(key);
    session.addMessage("user", "\ud83d");
    await expect(sessions.save(session)).rejects.toThrow("lone surrogate");
    expect(session.slice(0)).toEqual([question]);
    expect(session.metadata).toEqual({ runtime_checkpoint: checkpoint });
  });

  it.each([
    null,
    true,
    "x",
    3,
    [],
    {},
    { assistant_message: 1, completed_tool_results: {}, pending_tool_calls: [7, null, {}] },
  ])("that makes no sense (%j) does no harm", async (odd) => {
    const { sessions } = houseWith({ runtime_checkpoint: odd, pending_user_turn: odd }, [question]);
    const session = await sessions.getOrCreate(key);
    session.addMessage("user", "next");
    await sessions.save(session);
    expect(session.slice(0, 1)).toEqual([question]);
    expect(session.slice(-1 + session.length)).toEqual([{ role: "user", content: "next", timestamp: now }]);
    expect(session.metadata).toEqual({});
  });
});

describe("/new", () => {
  it("removes the last summary and the unfinished turn, and keeps the rest", async () => {
    const metadata = {
      _last_summary: { text: "s" },
      runtime_checkpoint: checkpoint,
      pending_user_turn: true,
      title: "t",
    };
    const { sessions, text } = houseWith(metadata, [question]);
    const session = await sessions.getOrCreate(key);
    session.clear();
    await sessions.save(session);
    expect(session.metadata).toEqual({ title: "t" });
    expect(text(file).split("\n")).toHaveLength(2);
    expect(text(file)).toContain('"metadata": {"title": "t"}');
  });
});

describe("the provider_state line of the newest nanobot", () => {
  const state = `${pythonJson({ _type: "provider_state", state: { kind: "k", payload: {} } })}\n`;
  const rows = ["u0", "a0", "u1", "a1"].map((content) => ({
    role: content.startsWith("u") ? "user" : "assistant",
    content,
  }));

  it("is no row: neither counted, nor shown, nor in the cursor's way", async () => {
    const house = openWorkspace({
      [file]: `${pythonJson({ _type: "metadata", key, created_at: now, metadata: {}, last_consolidated: 2 })}\n${state}${rows.map((row) => `${pythonJson(row)}\n`).join("")}`,
    });
    const sessions = house.open();
    const session = await sessions.getOrCreate(key);
    expect(session.length).toBe(4);
    expect(session.history()).toEqual(rows.slice(2));
    expect(house.warnings).toEqual([]);
    session.addMessage("user", "u2");
    await sessions.save(session);
    expect(house.text(file)).not.toContain("provider_state");
    expect(house.names()).toEqual([file]);
    expect((await house.open().getOrCreate(key)).history().map((row) => row.content)).toEqual(["u1", "a1", "u2"]);
  });
});
