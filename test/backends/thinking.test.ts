/** Turns that the claude command thinks through: the stub, real sessions, a real ledger. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../src/agent/loop.js";
import { createThinking, storeTurn } from "../../src/agent/turn.js";
import { createClaudeCli } from "../../src/backends/claude-cli.js";
import { cutShort } from "../../src/backends/rotation.js";
import type { Row, ToolCall } from "../../src/message.js";
import { type HouseOptions, isAlive, openClaude } from "../support/claude-house.js";
import { scriptedModel } from "../support/scripted-model.js";
import { chat, numbers, openTalk, scriptedBackend, type TalkOptions } from "../support/talk-house.js";

async function openStub(options: HouseOptions & Omit<TalkOptions, "backend"> = {}) {
  const claude = openClaude(options);
  const backend = createClaudeCli({ settings: claude.settings, env: claude.world });
  return { claude, backend, ...(await openTalk({ ...options, backend })) };
}

const until = async (is: () => boolean): Promise<void> => {
  for (let tries = 0; !is() && tries < 500; tries++) await new Promise((done) => setTimeout(done, 20));
};

describe("a turn with the claude command", () => {
  it("is stored like any other: question, answer, nothing else", async () => {
    const { say, house } = await openStub();
    expect(await say("hello")).toBe("I have heard 1 prompt(s). The last: hello");
    const [, ...rows] = readFileSync(join(house.folder, "telegram_42.jsonl"), "utf8").trim().split("\n");
    expect(rows).toEqual([
      '{"role": "user", "content": "hello", "timestamp": "2026-06-30T12:34:56.654321"}',
      '{"role": "assistant", "content": "I have heard 1 prompt(s). The last: hello", "timestamp": "2026-06-30T12:34:56.654321"}',
    ]);
  });

  it("remembers inside the window, and across windows (003-1, 003-2, 003-3)", async () => {
    const { say, claude } = await openStub({ windowSize: 3 });
    for (const text of numbers(7)) await say(text);
    const calls = claude.calls();
    expect(calls.map(({ resumed }) => resumed !== null)).toEqual([false, true, true, false, true, true, false]);
    expect(calls.filter(({ args }) => args.includes("--no-session-persistence"))).toEqual([]);
    expect(calls.map(({ args }) => args.slice(0, 3))).toEqual(calls.map(() => ["-p", "--output-format", "json"]));
    expect(calls[2]?.prompt).toBe("message 3");
    // Everything ever said is somewhere in what the backend sees.
    const seen = JSON.stringify(calls[6]?.context);
    for (const text of numbers(7)) expect(seen).toContain(text);
  });

  it("names the tools that were seen at work", async () => {
    const { think } = await openStub();
    const events: TurnEvent[] = [];
    const { rows, toolsUsed, model, usage } = await think("look [api tool]", chat, {
      on: (event) => void events.push(event),
    });
    expect(toolsUsed).toEqual(["Read"]);
    // Whose tokens these are, the ledger counts.
    expect(model).toBe("claude-cli");
    expect(usage.output).toBeGreaterThan(0);
    expect(rows.at(-1)).toMatchObject({ role: "assistant", tools_used: ["Read"] });
    expect(Object.keys(rows.at(-1) ?? {})).toEqual(["role", "content", "timestamp", "tools_used"]);
    expect(events.map(({ kind }) => kind)).toContain("progress");
  });

  it("takes back what was shown of a conversation that failed", async () => {
    const { say } = await openStub();
    await say("one");
    const events: TurnEvent[] = [];
    const shown = await say("two [api:resume 529]", chat, { on: (event) => void events.push(event) });
    expect(events[0]).toEqual({ kind: "restart" });
    const text = events.map((event) => (event.kind === "text" ? event.text : "")).join("");
    expect(text).toBe(shown);
  });

  it("says where the files are that came with the message, unless it says so itself", async () => {
    const { say, claude, rows } = await openStub();
    await say("look at [image: /media/a.jpg]", chat, { media: ["/media/a.jpg", "/media/b.pdf"] });
    await say("", chat, { media: ["/media/c.jpg"] });
    await say(" ");
    expect(claude.calls().map(({ prompt }) => prompt)).toEqual([
      "look at [image: /media/a.jpg]\n[file: /media/b.pdf]",
      "[file: /media/c.jpg]",
      "[a message without words]",
    ]);
    expect((await rows())[0]).toBe("user: look at [image: /media/a.jpg]\n[file: /media/b.pdf]");
  });

  it("goes on after a restart, from the ledger", async () => {
    const first = await openStub();
    await first.say("one");
    await first.ledger.close();
    const second = await openTalk({ backend: first.backend, before: first });
    await second.say("two");
    expect(first.claude.calls()[1]).toMatchObject({ prompt: "two", found: true });
  });

  it("goes on when every file of the command is lost (003-14)", async () => {
    const { say, claude, rows } = await openStub();
    await say("one");
    rmSync(join(claude.config, "projects"), { recursive: true });
    expect(await say("two")).toContain("The last: two");
    expect(claude.calls().map(({ found }) => found)).toEqual([false, false, false]);
    expect(claude.calls()[2]?.prompt).toContain("\none\n");
    expect(await rows()).toHaveLength(4);
  });

  it("keeps one file per open window: what is dropped is removed (003-12)", async () => {
    const { say, claude, pass, cleanUp } = await openStub({ windowSize: 2 });
    for (const text of numbers(3)) await say(text);
    expect(claude.files()).toHaveLength(2);
    await say("four [api:resume 529]");
    expect(claude.files()).toHaveLength(2);
    pass(25 * 3_600_000);
    await cleanUp();
    expect(claude.files()).toEqual([]);
  });

  it("leaves one file behind an id that changes with every message (003-19)", async () => {
    const { say, claude } = await openStub({ version: "1.0.37" });
    for (const text of numbers(3)) await say(text);
    expect(claude.calls().map(({ found }) => found)).toEqual([false, true, true]);
    expect(claude.files()).toHaveLength(1);
  });

  it("that stands alone keeps nothing, shows nothing and touches no handle (003-13)", async () => {
    const { say, claude, active } = await openStub({ memory: "Ann likes trains." });
    await say("one");
    const before = await active();
    expect(await say("two", chat, { stateless: true })).toContain("heard 1 prompt(s). The last: two");
    expect(claude.calls()[1]).toMatchObject({ prompt: "two", resumed: null });
    expect(claude.calls()[1]?.args).toContain("--no-session-persistence");
    expect(claude.files()).toHaveLength(1);
    expect(await active()).toEqual(before);
  });
});

describe("a chat that changes between a model and the backend", () => {
  it("loses nothing in either direction", async () => {
    const { say, claude, sessions, house, rows } = await openStub();
    const { model, requests } = scriptedModel([{ text: "from the model" }]);
    const thinkWithModel = createThinking({
      model,
      tools: [],
      sessions,
      clock: house.clock,
      prompt: async () => "S",
      settings: { maxIterations: 10, toolResultMaxChars: 4000, toolCompaction: "view", maxTokens: 100 },
      store: { viewMessages: 100, toolsUsed: true, failed: "nothing", outOfSteps: "sentence" },
    });
    await say("one, to the backend");
    const from = { channel: "telegram", chat: "42" };
    const input = { session: chat, from, text: "two, to the model", signal: new AbortController().signal };
    await storeTurn(sessions, chat, (await thinkWithModel(input)).rows);
    expect(JSON.stringify(requests[0])).toContain("one, to the backend");
    await say("three, to the backend");
    expect(claude.calls()[1]?.prompt).toContain("from the model");
    await say("four");
    expect(claude.calls()[2]).toMatchObject({ prompt: "four", found: true });
    expect((await rows()).map((row) => row.split(":")[0])).toEqual([...Array(4)].flatMap(() => ["user", "assistant"]));
  });
});

describe("a turn that a crash cut short", () => {
  const started = (...ids: string[]) => ({ resume: { rows: [], started: new Set(ids) } });

  it("is noted before the backend is called, and its answer before anybody is told", async () => {
    const { backend, calls } = scriptedBackend();
    const { say } = await openTalk({ backend });
    const journal: string[] = [];
    await say("one", chat, {
      starting: (call: ToolCall) =>
        void journal.push(`started ${call.id} (${call.function.name}), ${calls.length} calls`),
      keep: (stored: Row) => void journal.push(`kept ${String(stored["content"])}`),
    });
    expect(journal).toEqual([`started ${calls[0]?.id} (scripted), 0 calls`, "kept answer 1"]);
  });

  it("is not run a second time behind the backend's back: a new conversation is told of it", async () => {
    const { backend, calls, abandoned, forgotten } = scriptedBackend();
    const { say } = await openTalk({ backend });
    await say("one");
    await say("two", chat, started("backend-7"));
    // Whatever is left of it is ended first; the handle it used is in an unknown state.
    expect(abandoned).toEqual(["backend-7"]);
    expect(forgotten).toHaveLength(1);
    expect(calls[1]).not.toHaveProperty("handle");
    expect(calls[1]?.prompt).toContain("\none\n");
    expect(calls[1]?.prompt).toContain(`${cutShort}\n\n---\n\nNow respond:\n\ntwo`);
    await say("three");
    expect(calls[2]?.prompt).toBe("three");
  });

  it("with its answer in the journal is only written down", async () => {
    const { backend, calls } = scriptedBackend();
    const { think } = await openTalk({ backend });
    const answer = { role: "assistant", content: "done", tools_used: ["Read"] };
    const resume = { rows: [{ now: answer, stored: answer }], started: new Set<string>() };
    const { rows, reply } = await think("one", chat, { resume });
    expect(reply).toBe("done");
    expect(rows.map(({ role, content }) => `${String(role)}: ${String(content)}`)).toEqual([
      "user: one",
      "assistant: done",
    ]);
    expect(calls).toEqual([]);
  });

  it("after that goes on with the same conversation, for it has seen all of it", async () => {
    const { backend, calls } = scriptedBackend();
    const first = await openTalk({ backend });
    const journal: Row[] = [];
    // The process dies after the answer is noted and before it is stored.
    await first.think("one", chat, { keep: (stored) => void journal.push(stored) });
    first.house.clock.now = "2026-06-30T13:00:00";
    const second = await openTalk({ backend, before: first });
    const resume = { rows: journal.map((row) => ({ now: row, stored: row })), started: new Set<string>() };
    await second.say("one", chat, { resume });
    await second.say("two");
    expect(calls).toHaveLength(2);
    expect(calls[1]).toMatchObject({ prompt: "two", handle: expect.any(String) });
  });

  it("begun by a model and gone on with by a backend keeps the steps that were made", async () => {
    const { backend, calls } = scriptedBackend();
    const { think } = await openTalk({ backend });
    const call = { id: "c1", type: "function", function: { name: "exec", arguments: "{}" } };
    const rows = [
      { role: "assistant", content: "Let me look.", tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", name: "exec", content: "42" },
    ];
    const resume = { rows: rows.map((row) => ({ now: row, stored: row })), started: new Set<string>() };
    const thought = await think("one", chat, { resume });
    expect(thought.rows.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(calls[0]?.prompt).toContain(cutShort);
  });

  it("leaves no process of the dead one at work", async () => {
    const { backend, claude, say } = await openStub();
    const stop = new AbortController();
    const orphan = backend.run({ id: "backend-9", prompt: "one [api hang]", system: "", signal: stop.signal });
    await until(() => claude.hanging().length > 0);
    await say("two", chat, started("backend-9"));
    expect(claude.hanging().filter(isAlive)).toEqual([]);
    await orphan;
  });
});
