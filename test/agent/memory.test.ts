/** Consolidation: in the background, one at a time, and nothing is ever lost (004-10 … 004-17). */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rowLine } from "../../src/agent/memory.js";
import type { ModelMessage, Row } from "../../src/message.js";
import { ModelError } from "../../src/providers/provider.js";
import { goldenJson } from "../support/golden.js";
import { addRows, askedIn, openMemoryHouse, saves, talkingModel } from "../support/memory-house.js";
import { heapMegabytes } from "../support/heap.js";
import { gate } from "../support/reading.js";
import { scriptedModel, textOf } from "../support/scripted-model.js";

const key = "cli:direct";
const { signal } = new AbortController();
const inTime = { signal, deadline: signal };
const never = new Promise<never>(() => {});
const rowNumbers = (lines: readonly string[]): number[] => lines.map((line) => Number(/row (\d+)$/.exec(line)?.[1]));

describe("a consolidation", () => {
  it("runs in the background: no reply waits for it (004-10)", async () => {
    const thinking = gate();
    const model = talkingModel(async () => (await thinking.passed, saves("summary", "# Memory")));
    const house = openMemoryHouse({ model, window: 4 });
    for (const text of ["1", "2", "3", "4"]) expect(await house.say(key, text)).toBe("ok");
    expect(house.read("MEMORY.md")).toBeUndefined();
    thinking.open();
    await house.memory.idle();
    expect(house.read("MEMORY.md")).toBe("# Memory");
  });

  it("starts when the unconsolidated rows fill the window, and leaves half of it (004-10)", async () => {
    const { model, requests } = scriptedModel([saves("summary", "# Memory")]);
    const house = openMemoryHouse({ model, window: 10 });
    const session = await house.filled(key, 9);
    house.memory.consolidateSoon(session, signal);
    await house.memory.idle();
    expect(requests.length).toBe(0);
    addRows(session, 1);
    house.memory.consolidateSoon(session, signal);
    await house.memory.idle();
    expect(rowNumbers(askedIn(requests[0]?.messages).lines)).toEqual([0, 1, 2, 3, 4]);
    expect(session.lastConsolidated).toBe(5);
  });

  it("does not run with every turn from then on (004-17)", async () => {
    let asked = 0;
    const model = talkingModel(async () => saves(`summary ${++asked}`));
    const house = openMemoryHouse({ model, window: 10 });
    for (let turn = 0; turn < 20; turn++) {
      await house.say(key, `turn ${turn}`);
      await house.memory.idle();
    }
    // 40 rows in all: at 10 the first, and then whenever 5 are left of it and 5 have come.
    expect(asked).toBe(6);
  });

  it("writes both files, moves the cursor, on disk at once, and never asks about a row twice (004-12, 004-16)", async () => {
    const { model, requests } = scriptedModel([saves("[2026-06-30 12:00] first", "# One"), saves("second", "# Two")]);
    const house = openMemoryHouse({ model });
    const session = await house.filled(key, 10);
    await house.memory.consolidate(session, 4, signal);
    expect(house.read("HISTORY.md")).toBe("[2026-06-30 12:00] first\n\n");
    expect(house.read("MEMORY.md")).toBe("# One");
    expect(house.text("cli_direct.jsonl").split("\n")[0]).toContain('"last_consolidated": 4}');
    await house.memory.consolidate(session, 10, signal);
    expect(requests.map(({ messages }) => rowNumbers(askedIn(messages).lines))).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7, 8, 9],
    ]);
    expect(askedIn(requests[1]?.messages).memory).toBe("# One");
    await house.memory.consolidate(session, 10, signal);
    expect(requests.length).toBe(2);
  });

  it("that waits for its turn holds no conversation in memory", async () => {
    const thinking = gate();
    const house = openMemoryHouse({
      model: talkingModel(async () => (await thinking.passed, saves("summary"))),
      window: 4,
    });
    const many = 200;
    const due = async (number: number): Promise<WeakRef<object>> => {
      const session = await house.filled(`telegram:${number}`, 4);
      house.memory.consolidateSoon(session, signal);
      return new WeakRef(session);
    };
    const sessions: WeakRef<object>[] = [];
    for (let number = 0; number < many; number++) sessions.push(await due(number));
    await heapMegabytes();
    // The manager keeps 128 at hand for whoever speaks next.
    expect(sessions.filter((session) => session.deref()).length).toBeLessThan(135);
    thinking.open();
    await house.memory.idle();
    expect(house.read("HISTORY.md")?.match(/summary/g)).toHaveLength(many);
  });

  it("happens once at a time for a session, while other sessions are free (004-11)", async () => {
    const first = gate();
    let asked = 0;
    const model = talkingModel(async () => (asked++ === 0 && (await first.passed), saves("summary")));
    const house = openMemoryHouse({ model, scope: "chat" });
    const one = await house.filled("telegram:1", 10);
    const other = await house.filled("telegram:2", 10);
    house.memory.consolidateSoon(one, signal);
    house.memory.consolidateSoon(one, signal);
    await house.memory.consolidate(other, 5, signal);
    expect([one.lastConsolidated, other.lastConsolidated]).toEqual([0, 5]);
    first.open();
    await house.memory.idle();
    expect(asked).toBe(2);
    expect(one.lastConsolidated).toBe(5);
  });

  it("of a hundred sessions at once loses no update of the MEMORY.md they share", async () => {
    let running = 0;
    const model = talkingModel(async ({ messages }) => {
      expect(++running).toBe(1);
      const { memory, lines } = askedIn(messages);
      await new Promise((resolve) => void setImmediate(resolve));
      running--;
      const name = /USER: (\S+)/.exec(lines[0] ?? "")?.[1] ?? "";
      return saves(`[2026-06-30 12:00] ${name}`, `${memory}- ${name}\n`);
    });
    const house = openMemoryHouse({ model, window: 2 });
    const names = Array.from({ length: 100 }, (_, at) => `chat-${at}`);
    await Promise.all(names.map((name) => house.say(`telegram:${name}`, name)));
    await house.memory.idle();
    const sorted = (text: string | undefined): string[] => (text ?? "").split("\n").filter(Boolean).sort();
    expect(sorted(house.read("MEMORY.md"))).toEqual(names.map((name) => `- ${name}`).sort());
    expect(sorted(house.read("HISTORY.md"))).toEqual(names.map((name) => `[2026-06-30 12:00] ${name}`).sort());
    for (const name of names) {
      expect((await house.sessions.getOrCreate(`telegram:${name}`)).lastConsolidated).toBe(1);
    }
  });

  it("neither skips nor loses the rows that arrive meanwhile (004-16)", async () => {
    const asked = gate();
    const thinking = gate();
    const summarised: number[][] = [];
    const model = talkingModel(async ({ messages }) => {
      summarised.push(rowNumbers(askedIn(messages).lines));
      asked.open();
      await thinking.passed;
      return saves("summary");
    });
    const house = openMemoryHouse({ model });
    const session = await house.filled(key, 10);
    house.memory.consolidateSoon(session, signal);
    await asked.passed;
    addRows(session, 6);
    await house.sessions.save(session);
    thinking.open();
    await house.memory.idle();
    // nanobot would count from the new end and go to 11: rows 5 to 10 would be neither summarised nor shown.
    expect(session.lastConsolidated).toBe(5);
    await house.memory.consolidate(session, session.length, signal);
    expect(summarised.flat()).toEqual(Array.from({ length: 16 }, (_, at) => at));
    expect(session.length).toBe(16);
  });

  it("takes several calls when the rows are too long for one", async () => {
    const { model, requests } = scriptedModel([saves("part")]);
    const house = openMemoryHouse({ model: { ...model, contextTokens: 900 } });
    const session = await house.sessions.getOrCreate(key);
    for (let row = 0; row < 6; row++) session.addMessage("user", `${"word ".repeat(100)}row ${row}`);
    session.addMessage("user", `${"endless ".repeat(1000)}row 6`);
    await house.memory.consolidate(session, 7, signal);
    expect(requests.length).toBeGreaterThan(3);
    const lines = requests.flatMap(({ messages }) => askedIn(messages).lines.filter((line) => /row \d$/.test(line)));
    expect(rowNumbers(lines)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(session.lastConsolidated).toBe(7);
  });

  it("asks again if somebody edits MEMORY.md meanwhile, and builds on the edit", async () => {
    const shown: string[] = [];
    const model = talkingModel(async ({ messages }) => {
      const { memory } = askedIn(messages);
      if (shown.push(memory) === 1) house.write("MEMORY.md", "- by hand\n");
      return saves("summary", `${memory}- by model\n`);
    });
    const house = openMemoryHouse({ model });
    expect(await house.memory.consolidate(await house.filled(key, 4), 4, signal)).toBe("done");
    expect(shown).toEqual(["", "- by hand\n"]);
    expect(house.read("MEMORY.md")).toBe("- by hand\n- by model\n");
    expect(house.read("HISTORY.md")).toBe("summary\n\n");
  });

  it("gives up for now if somebody edits it each time", async () => {
    let edits = 0;
    const model = talkingModel(async () => (house.write("MEMORY.md", `edit ${++edits}`), saves("summary", "mine")));
    const house = openMemoryHouse({ model });
    const session = await house.filled(key, 4);
    expect(await house.memory.consolidate(session, 4, signal)).toBe("failed");
    expect([session.lastConsolidated, house.read("HISTORY.md")]).toEqual([0, undefined]);
    expect(house.read("MEMORY.md")).toBe(`edit ${edits}`);
  });

  it("does not ask again where the edit does not matter", async () => {
    const model = talkingModel(async () => (house.write("MEMORY.md", "edited"), saves("summary")));
    const house = openMemoryHouse({ model });
    expect(await house.memory.consolidate(await house.filled(key, 4), 4, signal)).toBe("done");
    expect(house.read("MEMORY.md")).toBe("edited");
  });

  it("ends when its program ends, even if the model does not listen, and counts as not tried", async () => {
    const abort = new AbortController();
    const asked = gate();
    const house = openMemoryHouse({ model: talkingModel(async () => (asked.open(), never)) });
    const session = await house.filled(key, 10);
    house.memory.consolidateSoon(session, abort.signal);
    await asked.passed;
    abort.abort();
    await house.memory.idle();
    expect([session.lastConsolidated, house.warnings]).toEqual([0, []]);
  });

  it("of a conversation that /new has emptied meanwhile is over at once", async () => {
    const house = openMemoryHouse({ model: scriptedModel([saves("summary")]).model });
    const session = await house.filled(key, 6);
    const outcomes = await Promise.all([
      house.memory.startAnew(key, inTime),
      house.memory.consolidate(session, 6, signal),
    ]);
    expect(outcomes).toEqual(["done", "done"]);
    expect(house.read("HISTORY.md")).toBe("summary\n\n");
  });
});

describe("a consolidation that fails", () => {
  it.each([
    ["because the model cannot be reached", new ModelError("network", "gone", "wait")],
    ["because it does not call the tool", { text: "I'd rather not." }],
    [
      "because it calls it without sense",
      {
        toolCalls: saves("x").toolCalls.map((call) => ({
          ...call,
          function: { name: "save_memory", arguments: "[]" },
        })),
      },
    ],
  ])("%s leaves the cursor and the files as they were (004-16)", async (_, line) => {
    const house = openMemoryHouse({ model: scriptedModel([line]).model });
    house.write("MEMORY.md", "old");
    const session = await house.filled(key, 10);
    const before = house.text("cli_direct.jsonl");
    expect(await house.memory.consolidate(session, 5, signal)).toBe("failed");
    expect([house.read("MEMORY.md"), house.read("HISTORY.md"), session.lastConsolidated]).toEqual([
      "old",
      undefined,
      0,
    ]);
    expect(house.text("cli_direct.jsonl")).toBe(before);
    expect(house.warnings.length).toBe(1);
  });

  it("for the third time archives the rows as they are, in nanobot's form", async () => {
    const house = openMemoryHouse({ model: scriptedModel([{ text: "no" }]).model });
    const session = await house.sessions.getOrCreate(key);
    session.addRows([
      { role: "user", content: "hi", timestamp: "2026-06-30T09:00:00.5" },
      { role: "assistant", content: null, tool_calls: [], timestamp: "2026-06-30T09:00:01" },
      { role: "assistant", content: "yo", timestamp: "2026-06-30T09:01:00", tools_used: ["exec", "exec"] },
    ]);
    await house.sessions.save(session);
    const outcomes: string[] = [];
    for (let tries = 0; tries < 3; tries++) outcomes.push(await house.memory.consolidate(session, 3, signal));
    expect(outcomes).toEqual(["failed", "failed", "archived"]);
    expect(house.read("HISTORY.md")).toBe(
      "[2026-06-30 12:34] [RAW] 3 messages\n[2026-06-30T09:00] USER: hi\n[2026-06-30T09:01] ASSISTANT [tools: exec, exec]: yo\n\n",
    );
    expect(house.read("MEMORY.md")).toBeUndefined();
    expect(session.lastConsolidated).toBe(3);
  });

  it("is forgotten once one succeeds", async () => {
    const no = { text: "no" };
    const house = openMemoryHouse({ model: scriptedModel([no, no, saves("fine"), no]).model });
    const session = await house.filled(key, 10);
    const outcomes: string[] = [];
    for (const to of [4, 4, 4, 8, 8]) outcomes.push(await house.memory.consolidate(session, to, signal));
    expect(outcomes).toEqual(["failed", "failed", "done", "failed", "failed"]);
  });
});

describe("/new", () => {
  it("brings everything into memory before it clears (004-14)", async () => {
    const { model, requests } = scriptedModel([saves("first"), saves("rest", "# All")]);
    const house = openMemoryHouse({ model });
    const session = await house.filled(key, 6);
    await house.memory.consolidate(session, 2, signal);
    expect(await house.memory.startAnew(key, inTime)).toBe("done");
    expect(rowNumbers(askedIn(requests[1]?.messages).lines)).toEqual([2, 3, 4, 5]);
    expect(house.read("HISTORY.md")).toBe("first\n\nrest\n\n");
    const anew = await house.sessions.getOrCreate(key);
    expect([anew.length, anew.lastConsolidated, anew.history()]).toEqual([0, 0, []]);
    expect(house.text("cli_direct.jsonl").split("\n").length).toBe(2);
  });

  it("in an empty session asks nobody", async () => {
    const { model, requests } = scriptedModel([]);
    const house = openMemoryHouse({ model });
    expect(await house.memory.startAnew(key, inTime)).toBe("done");
    expect(requests).toEqual([]);
  });

  it("archives the rows as they are if the model fails, and says so (004-15)", async () => {
    const house = openMemoryHouse({ model: scriptedModel([new ModelError("network", "gone", "wait")]).model });
    await house.filled(key, 2);
    expect(await house.memory.startAnew(key, inTime)).toBe("archived");
    expect(house.read("HISTORY.md")).toMatch(
      /^\[2026-06-30 12:34\] \[RAW\] 2 messages\n.* USER: row 0\n.* ASSISTANT: row 1\n\n$/,
    );
    expect((await house.sessions.getOrCreate(key)).length).toBe(0);
  });

  it("archives them if there is no more time, though the model never answers (004-15)", async () => {
    const house = openMemoryHouse({ model: talkingModel(() => never) });
    await house.filled(key, 2);
    const deadline = new AbortController();
    const done = house.memory.startAnew(key, { signal, deadline: deadline.signal });
    deadline.abort();
    expect(await done).toBe("archived");
    expect(house.read("HISTORY.md")).toContain("[RAW] 2 messages");
  });

  it("waits no longer for a consolidation that was already running", async () => {
    const house = openMemoryHouse({ model: talkingModel(() => never) });
    const session = await house.filled(key, 10);
    house.memory.consolidateSoon(session, signal);
    const deadline = new AbortController();
    const done = house.memory.startAnew(key, { signal, deadline: deadline.signal });
    deadline.abort();
    expect(await done).toBe("archived");
    expect(house.read("HISTORY.md")).toContain("[RAW] 10 messages");
    await house.memory.idle();
  });

  it("waits no longer for the sessions that are using the same MEMORY.md", async () => {
    const house = openMemoryHouse({ model: talkingModel(() => never) });
    const stop = new AbortController();
    house.memory.consolidateSoon(await house.filled("telegram:busy", 10), stop.signal);
    await house.filled(key, 2);
    const deadline = new AbortController();
    const done = house.memory.startAnew(key, { signal, deadline: deadline.signal });
    deadline.abort();
    expect(await done).toBe("archived");
    stop.abort();
    await house.memory.idle();
  });

  it("that is given up changes nothing", async () => {
    const house = openMemoryHouse({ model: talkingModel(() => never) });
    const session = await house.filled(key, 2);
    const abort = new AbortController();
    const done = house.memory.startAnew(key, { signal: abort.signal, deadline: signal });
    abort.abort(new Error("stopped"));
    await expect(done).rejects.toThrow("stopped");
    expect([session.length, house.read("HISTORY.md")]).toEqual([2, undefined]);
  });

  it("cannot be undone by a turn that was in flight: the old rows stay away, the new ones stay (004-21)", async () => {
    const speaking = gate();
    const mayEnd = gate();
    const model = scriptedModel([
      async ({ mustCall }) => {
        if (mustCall) return saves("summary");
        speaking.open();
        await mayEnd.passed;
        return { text: "late answer" };
      },
    ]).model;
    const house = openMemoryHouse({ model });
    await house.filled(key, 4);
    const turn = house.say(key, "late question");
    await speaking.passed;
    await house.memory.startAnew(key, inTime);
    mayEnd.open();
    await turn;
    const rows = (await house.sessions.getOrCreate(key)).slice(0);
    expect(rows.map(({ content }) => content)).toEqual(["late question", "late answer"]);
    const { open } = house;
    expect((await open().getOrCreate(key)).slice(0).map(({ content }) => content)).toEqual([
      "late question",
      "late answer",
    ]);
  });

  it("brings in also what a turn has added while the rest was being summarised", async () => {
    const asked = gate();
    const thinking = gate();
    const summarised: string[][] = [];
    const model = talkingModel(async ({ messages }) => {
      summarised.push(askedIn(messages).lines.map((line) => line.slice(line.indexOf(": ") + 2)));
      asked.open();
      await thinking.passed;
      return saves("summary");
    });
    const house = openMemoryHouse({ model, window: 100 });
    await house.filled(key, 2);
    const done = house.memory.startAnew(key, inTime);
    await asked.passed;
    await house.say(key, "one more thing");
    thinking.open();
    expect(await done).toBe("done");
    expect(summarised).toEqual([
      ["row 0", "row 1"],
      ["one more thing", "ok"],
    ]);
    expect((await house.sessions.getOrCreate(key)).length).toBe(0);
  });

  it("finishes what a crash left of the old conversation, so that its cursor never counts the new one's rows", async () => {
    const house = openMemoryHouse({ model: scriptedModel([saves("summary")]).model });
    const session = await house.filled(key, 4);
    await house.memory.consolidate(session, 4, signal);
    // As if the process had died after the cursor was saved and before the change was crossed out.
    const intent = {
      time: "t",
      by: { kind: "session", key, cursor: 4 },
      log: { file: "HISTORY.md", from: 0, text: "summary\n\n" },
    };
    const [state = ""] = house.stateFolders();
    writeFileSync(join(state, "pending.json"), JSON.stringify(intent));
    await house.memory.startAnew(key, inTime);
    await house.filled(key, 6);
    await house.memory.consolidate(await house.filled("telegram:1", 2), 2, signal);
    expect((await house.sessions.getOrCreate(key)).lastConsolidated).toBe(0);
    expect(house.read("HISTORY.md")).toBe("summary\n\nsummary\n\n");
  });
});

describe("an edit of MEMORY.md", () => {
  it("by the model's own tools is noticed with the next prompt, and can be taken back like any change", async () => {
    const house = openMemoryHouse({ model: talkingModel(async () => saves("s")) });
    house.write("MEMORY.md", "facts");
    await house.say(key, "remember nonsense");
    await house.memory.idle();
    house.write("MEMORY.md", "nonsense");
    await house.say(key, "and now?");
    await house.memory.idle();
    expect(await house.folders.of(key).versions()).toMatchObject([{ by: "edit", before: "facts", after: "nonsense" }]);
  });
});

describe("memory of each chat for itself", () => {
  it("shows no chat another's, in files and in prompts", async () => {
    const prompts: string[] = [];
    const model = scriptedModel([
      async ({ messages, mustCall }) => {
        const said = /USER: (secret\S+)/.exec(textOf(messages[1]))?.[1];
        if (mustCall) return said === undefined ? saves("") : saves(`about ${said}`, `# ${said}`);
        prompts.push(textOf(messages[0]));
        return { text: "ok" };
      },
    ]).model;
    const house = openMemoryHouse({ model, scope: "chat", window: 2 });
    for (const chat of ["ann", "bob"]) {
      await house.say(`telegram:${chat}`, `secret-of-${chat}`);
      await house.memory.idle();
      await house.say(`telegram:${chat}`, "again");
      await house.memory.idle();
    }
    expect(prompts).toEqual(["Memory: ", "Memory: # secret-of-ann", "Memory: ", "Memory: # secret-of-bob"]);
    const folders = ["ann", "bob"].map((chat) => house.folders.of(`telegram:${chat}`).folder);
    expect(new Set(folders).size).toBe(2);
    for (const folder of folders) expect(folder.startsWith(join(house.workspace, "memory", "chats"))).toBe(true);
    for (const [at, chat] of ["ann", "bob"].entries()) {
      expect(readFileSync(join(folders[at] ?? "", "HISTORY.md"), "utf8")).toBe(`about secret-of-${chat}\n\n`);
    }
    expect(house.read("MEMORY.md")).toBeUndefined();
  });

  it("keeps keys apart that look the same as names", () => {
    const house = openMemoryHouse({ scope: "chat" });
    const keys = ["a:b", "a_b", "a/b", "..", ":", "x".repeat(500), `${"x".repeat(500)}y`, "😀".repeat(200)];
    const folders = keys.map((name) => house.folders.of(name).folder);
    expect(new Set(folders).size).toBe(keys.length);
  });
});

describe("a memory that must not be read", () => {
  it("is not shown, which the owner is told, and nobody waits for an answer because of it", async () => {
    const house = openMemoryHouse({ model: talkingModel(async () => saves("s")) });
    writeFileSync(join(house.home, "config.json"), "the key");
    mkdirSync(join(house.workspace, "memory"));
    symlinkSync(join(house.home, "config.json"), join(house.workspace, "memory", "MEMORY.md"));
    expect(await house.memory.text(key)).toBe("");
    expect(await house.say(key, "hello")).toBe("ok");
    expect(house.warnings[0]).toContain("out of reach");
  });

  it("costs no row: in the end they are archived as they are", async () => {
    const house = openMemoryHouse({ model: scriptedModel([saves("s", "new")]).model });
    mkdirSync(join(house.workspace, "memory"));
    symlinkSync("/etc/hostname", join(house.workspace, "memory", "MEMORY.md"));
    await house.filled(key, 2);
    expect(await house.memory.startAnew(key, inTime)).toBe("archived");
    expect(house.read("HISTORY.md")).toContain("[RAW] 2 messages");
  });
});

describe("a row as the summariser is shown it", () => {
  it.each<[Row, string[]]>([
    [{ role: "user", content: "hi", timestamp: "2026-06-30T09:00:00.5" }, ["[2026-06-30T09:00] USER: hi"]],
    [{ role: "tool", content: "r", name: "exec" }, ["[?] TOOL: r"]],
    [{ role: "assistant", content: null }, []],
    [{ role: "user", content: [{ type: "text", text: "it's" }] }, [`[?] USER: [{'type': 'text', 'text': "it's"}]`]],
  ])("%j", (row, line) => {
    expect(rowLine(row)).toEqual(line);
  });
});

/** Whole turns of the Python original around its window. */
describe("where nanobot consolidates", () => {
  type Case = {
    case: string;
    kind?: string;
    input: {
      memory_window: number;
      session_file: string;
      script: { memory?: boolean; content?: string; tool_calls?: unknown[] }[];
      inbound: string[];
    };
    result: {
      memory_requests: { memory_conversation: string }[];
      memory_after: string | null;
      history_after: string | null;
    };
  };
  const cases = goldenJson<Case[]>("consolidation/v0.1.4.post4.json").filter(({ kind }) => kind === "agent_loop");

  /**
   * We differ on purpose. nanobot looks before the turn and starts while it runs; we look once the answer is stored, so
   * that two rows more count: where it just does not reach the window, we do. What is summarised ends half a window
   * before the last row, and the cursor stands there, where nanobot's jumps over rows that arrived meanwhile.
   */
  it.each(cases)("so do we, after the turn: $case", async ({ input, result }) => {
    const window = input.memory_window;
    const script = input.script.find(({ memory }) => memory);
    const requests: (readonly ModelMessage[])[] = [];
    const model = talkingModel(async ({ messages }) => {
      requests.push(messages);
      return script?.tool_calls
        ? saves("[2026-03-09 09:00] consolidated", "# Mem\n- one")
        : { text: script?.content ?? "" };
    }, "reply");
    const house = openMemoryHouse({ model, window });
    writeFileSync(join(house.folder, "cli_direct.jsonl"), input.session_file);
    const { length, lastConsolidated: cursor } = await house.sessions.getOrCreate(key);
    for (const text of input.inbound) expect(await house.say(key, text)).toBe("reply");
    await house.memory.idle();
    const due = length + 2 - cursor >= window;
    expect(due || result.memory_requests.length === 0).toBe(true);
    expect(requests.length).toBe(due ? 1 : 0);
    const session = await house.sessions.getOrCreate(key);
    const succeeds = due && script?.tool_calls !== undefined;
    expect(session.lastConsolidated).toBe(succeeds ? length + 2 - window / 2 : cursor);
    if (!due || result.memory_requests.length === 0) return;
    const { lines } = askedIn(requests[0]);
    expect(rowNumbers(lines.map((line) => line.replace("message", "row")))).toEqual(
      Array.from({ length: length + 2 - window / 2 - cursor }, (_, at) => cursor + at),
    );
    // The rows themselves are shown as nanobot shows them.
    const theirs = (result.memory_requests[0]?.memory_conversation ?? "").split("\n");
    expect(lines.slice(0, theirs.length)).toEqual(theirs.slice(0, lines.length));
    expect(house.read("MEMORY.md") ?? null).toBe(result.memory_after);
    expect(house.read("HISTORY.md") ?? null).toBe(result.history_after);
  });
});
