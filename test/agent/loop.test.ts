import * as z from "zod/mini";
import { describe, expect, it } from "vitest";
import { toolHint, type TurnEvent } from "../../src/agent/loop.js";
import { createThinkFilter, withoutThinking } from "../../src/agent/think.js";
import { tokensOf } from "../../src/agent/tokens.js";
import { defineTool, errorAdvice } from "../../src/agent/tools/tool.js";
import {
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type Reply,
} from "../../src/providers/provider.js";
import { gate } from "../support/reading.js";
import { call, scriptedModel } from "../support/scripted-model.js";
import { refusal } from "../support/strict-model.js";
import { openTurns, toolDoing, toolSaying } from "../support/turn-house.js";

const probe = [call("probe", {}, "c1")];
const lastMessage = (request: ModelRequest | undefined): unknown => request?.messages.at(-1)?.content;

describe("a tool result", () => {
  it.each([
    ["4000 letters", "x".repeat(4000), "x".repeat(4000)],
    ["4001 letters", "x".repeat(4001), `${"x".repeat(4000)}\n\n[truncated]`],
    ["4000 characters of two units each", "😀".repeat(4000), "😀".repeat(4000)],
    ["4001 of them", "😀".repeat(4001), `${"😀".repeat(4000)}\n\n[truncated]`],
  ])("of %s is shown and stored up to 4000 characters (001-7, 001-22)", async (_, result, kept) => {
    const house = openTurns({ lines: [{ toolCalls: probe }, { text: "ok" }], tools: [toolSaying("probe", result)] });
    await house.say("go");
    expect(lastMessage(house.requests[1])).toBe(kept);
    expect((await house.rows())[2]).toMatchObject({ role: "tool", content: kept });
  });

  it("may be limited otherwise", async () => {
    const lines = [{ toolCalls: probe }, { text: "ok" }];
    const settings = { toolResultMaxChars: 3 };
    const house = openTurns({ lines, tools: [toolSaying("probe", "abcd")], settings });
    await house.say("go");
    expect(lastMessage(house.requests[1])).toBe("abc\n\n[truncated]");
  });
});

describe("a model that never stops calling tools", () => {
  const looping = (text: string | null) => ({ lines: [{ text, toolCalls: probe }], tools: [toolSaying("probe", "r")] });

  it("is asked ten times in the HTTP chat, which ends with its last words and a mark (001-8)", async () => {
    const house = openTurns({
      ...looping("looking"),
      settings: { maxIterations: 10 },
      store: { outOfSteps: "marker" },
    });
    const { reply, end, toolsUsed } = await house.say("go");
    expect(reply).toBe("looking\n\n[Tool call limit reached]");
    expect(end).toBe("out-of-steps");
    expect(toolsUsed.length).toBe(10);
    expect(house.requests.length).toBe(10);
  });

  it("has perhaps said nothing at all (001-8)", async () => {
    const house = openTurns({ ...looping(null), settings: { maxIterations: 10 }, store: { outOfSteps: "marker" } });
    expect((await house.say("go")).reply).toBe("\n\n[Tool call limit reached]");
  });

  it("is asked forty times elsewhere, which ends with nanobot's sentence", async () => {
    const house = openTurns(looping("looking"));
    expect((await house.say("go")).reply).toBe(
      "I reached the maximum number of tool call iterations (40) without completing the task. " +
        "You can try breaking the task into smaller steps.",
    );
    expect(house.requests.length).toBe(40);
    // As nanobot has it, the sentence itself is not stored; the next turn is legal all the same.
    expect((await house.rows()).at(-1)).toMatchObject({ role: "tool" });
    await house.say("and?");
    expect(refusal(house.requests[40]?.messages ?? [])).toBeUndefined();
  });
});

describe("a call", () => {
  const add = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => String(a + b),
  });
  const resultOf = async (...args: Parameters<typeof call>): Promise<unknown> => {
    const house = openTurns({ lines: [{ toolCalls: [call(...args)] }, { text: "ok" }], tools: [add] });
    expect((await house.say("go")).reply).toBe("ok");
    expect(refusal(house.requests[1]?.messages ?? [])).toBeUndefined();
    return lastMessage(house.requests[1]);
  };

  it("is answered by its tool", async () => {
    expect(await resultOf("add", { a: 1, b: 2 })).toBe("3");
  });

  it("of a tool nobody knows is answered with those there are", async () => {
    expect(await resultOf("subtract", {})).toBe("Error: Tool 'subtract' not found. Available: add");
  });

  it.each([
    ["with a field missing", { a: 1 }],
    ["with text for a number", { a: 1, b: "two" }],
    ["with a list", [1, 2]],
    ["with a number", "42"],
    ["with null", "null"],
    ["with half an object", '{"a": 1, "b":'],
    ["with prose", "add one and two, please"],
    ["with half a character", '{"a": "\ud800"'],
    ["with nothing", ""],
  ])("%s is answered with what is wrong", async (_, args) => {
    const answer = String(await resultOf("add", args));
    expect(answer).toMatch(/^Error: Invalid parameters for tool 'add': /);
    expect(answer.endsWith(errorAdvice)).toBe(true);
  });

  it("with the same id as another of the same turn is still answered", async () => {
    const round = [call("add", { a: 1, b: 1 }, "same")];
    const house = openTurns({ lines: [{ toolCalls: round }, { toolCalls: round }, { text: "ok" }], tools: [add] });
    await house.say("go");
    expect(refusal(house.requests[2]?.messages ?? [])).toBeUndefined();
    expect(house.requests[2]?.messages.filter(({ role }) => role === "tool").length).toBe(2);
  });

  it.each([
    ['{"path": "a.md"}', 'read("a.md")'],
    [`{"path": "${"😀".repeat(41)}"}`, `read("${"😀".repeat(40)}…")`],
    ['{"timeout": 5, "path": "a.md"}', "read"],
    ['[{"path": "a.md"}]', 'read("a.md")'],
    ["nonsense", "read"],
  ])("%s is hinted at in a few words, as in nanobot", (args, hint) => {
    expect(toolHint(call("read", args))).toBe(hint);
  });
});

describe("what a model thinks aloud", () => {
  it.each([
    ["<think>hm</think>yes", "yes"],
    ["a<think>1</think>b<think>2</think>c", "abc"],
    ["<think>outer <think>inner</think> rest", "rest"],
    ["<think>only</think>", null],
    ["  ", null],
    // nanobot leaves it, and so nothing a model says is ever lost to a tag it forgot.
    ["<think>never closed", "<think>never closed"],
    ["a < b <thin", "a < b <thin"],
  ])("is not part of the answer: %j", (said, answer) => {
    expect(withoutThinking(said)).toBe(answer);
  });

  it("is held back while it streams, wherever the pieces are cut", () => {
    const said = "one <think>th</th</think>two <think></think><thin three <think>open <";
    const passed = (pieces: readonly string[]): string => {
      let text = "";
      const filter = createThinkFilter((part) => void (text += part));
      for (const piece of pieces) filter.push(piece);
      filter.end();
      return text;
    };
    const expected = "one two <thin three <think>open <";
    expect(passed([...said])).toBe(expected);
    for (let at = 0; at <= said.length; at++) expect(passed([said.slice(0, at), said.slice(at)])).toBe(expected);
  });

  it("is passed over quickly, however long", () => {
    const filter = createThinkFilter(() => {});
    filter.push("<think>");
    for (let piece = 0; piece < 200_000; piece++) filter.push("word ");
    filter.end();
  });

  it("reaches neither the chat nor the final row", async () => {
    const house = openTurns({ lines: [{ text: "<think>hm</think> yes" }] });
    expect((await house.say("sure?")).reply).toBe("yes");
    expect((await house.rows()).at(-1)).toMatchObject({ content: "yes" });
    expect(house.events).toEqual([{ kind: "text", text: " yes" }]);
  });
});

describe("what can be shown of a turn", () => {
  it("is the text, taken back when it was only the way to a tool", async () => {
    const lines = [{ text: "let me look", toolCalls: [call("probe", { q: "x" }, "c1")] }, { text: "found" }];
    const house = openTurns({ lines, tools: [toolSaying("probe", "r")] });
    await house.say("go");
    expect(house.events.map((event) => ("text" in event ? `${event.kind}: ${event.text}` : event.kind))).toEqual([
      "text: let me look",
      "restart",
      "progress: let me look",
      "tool-call",
      "tool-result",
      "text: found",
    ]);
  });

  it("begins anew when the model's answer did, half a think-block included", async () => {
    const reply: Reply = { text: "all", toolCalls: [], end: "stop", usage: { input: 1, output: 1, cached: 0 } };
    const events: ModelEvent[] = [
      { kind: "text", text: "<think>ha" },
      { kind: "restart" },
      { kind: "text", text: "all" },
      { kind: "reply", reply },
    ];
    const model: Model = {
      name: "test/restarting",
      contextTokens: 10_000,
      async *stream() {
        yield* events;
      },
    };
    const house = openTurns({ model });
    await house.say("go");
    expect(house.events).toEqual([{ kind: "restart" }, { kind: "text", text: "all" }] satisfies TurnEvent[]);
  });

  it("includes what all calls of the model together have cost", async () => {
    const usage = { input: 100, output: 7, cached: 60 };
    const lines = [
      { toolCalls: probe, usage },
      { toolCalls: probe, usage },
      { text: "ok", usage },
    ];
    const house = openTurns({ lines, tools: [toolSaying("probe", "r")] });
    expect((await house.say("go")).usage).toEqual({ input: 300, output: 21, cached: 180 });
  });
});

describe("a request that the model finds too long", () => {
  /** Counts twice what we estimate, and takes so many. */
  function strictModel(takes: number, lines: Parameters<typeof scriptedModel>[0]) {
    const script = scriptedModel(lines);
    const sizes: number[] = [];
    const model: Model = {
      ...script.model,
      contextTokens: takes,
      async *stream(request, signal) {
        sizes.push(tokensOf(request.messages));
        expect(refusal(request.messages)).toBeUndefined();
        if (2 * tokensOf(request.messages) > takes) throw new ModelError("too-long", "too long", "shorten");
        yield* script.model.stream(request, signal);
      },
    };
    return { model, sizes, requests: script.requests };
  }

  it("shrinks with every try until it fits, and keeps what is asked", async () => {
    const { model, sizes, requests } = strictModel(8000, [{ text: "x".repeat(3000) }]);
    const house = openTurns({ model, settings: { maxTokens: 100 } });
    for (let turn = 0; turn < 12; turn++) await house.say(`question ${turn} ${"words ".repeat(100)}`);
    expect(sizes.length).toBeGreaterThan(12);
    expect(Math.max(...sizes)).toBeGreaterThan(4000);
    expect(String(lastMessage(requests.at(-1)))).toContain("question 11");
  });

  it("shrinks even if it is one single message", async () => {
    const { model, sizes } = strictModel(8000, [{ text: "ok" }]);
    const house = openTurns({ model, settings: { maxTokens: 100 } });
    expect((await house.say("words ".repeat(100_000))).reply).toBe("ok");
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  it("teaches the rest of the turn: the next step is not too long again", async () => {
    const { model, sizes } = strictModel(8000, [{ toolCalls: probe }, { toolCalls: probe }, { text: "ok" }]);
    const house = openTurns({ model, settings: { maxTokens: 100 }, tools: [toolSaying("probe", "r".repeat(4000))] });
    await house.say("words ".repeat(100_000));
    const tooLong = sizes.filter((size) => 2 * size > 8000).length;
    expect(tooLong).toBe(1);
    expect(sizes.length).toBe(4);
  });

  it("fails in the end if nothing is short enough", async () => {
    const { model, sizes } = strictModel(10, [{ text: "ok" }]);
    const house = openTurns({ model });
    await expect(house.say("words ".repeat(10_000))).rejects.toThrow("too long");
    expect(sizes.length).toBeLessThan(20);
    expect(house.names()).toEqual([]);
  });
});

describe("a turn that goes on after a crash", () => {
  it("takes a tool that was running for interrupted, and runs later calls even if they bear its id", async () => {
    const asked = { role: "assistant", content: null, tool_calls: probe };
    const resume = { rows: [{ now: asked, stored: asked }], started: new Set(["c1"]) };
    const house = openTurns({
      lines: [{ toolCalls: probe }, { text: "ok" }],
      tools: [toolSaying("probe", "found")],
    });
    await house.say("go", { resume });
    const results = (await house.rows()).filter(({ role }) => role === "tool").map(({ content }) => content);
    expect(results).toEqual(["Error: Task interrupted before this tool finished.", "found"]);
  });
});

describe("a turn that is cancelled", () => {
  /** Runs a turn, cancels it as told, and returns what it was rejected with and how long that took. */
  async function cancelled(house: ReturnType<typeof openTurns>, reached: Promise<void>, abort: AbortController) {
    const turn = house.say("go", { signal: abort.signal }).then(
      () => "answered",
      (error: unknown) => error,
    );
    await reached;
    const start = performance.now();
    abort.abort(new Error("stopped"));
    abort.abort(new Error("stopped again"));
    const outcome = await turn;
    expect(performance.now() - start).toBeLessThan(1000);
    return outcome;
  }
  const never = new Promise<never>(() => {});

  it("before it began asks nobody and stores nothing", async () => {
    const house = openTurns({ lines: [{ text: "ok" }] });
    await expect(house.say("go", { signal: AbortSignal.abort(new Error("stopped")) })).rejects.toThrow("stopped");
    expect(house.requests).toEqual([]);
    expect(house.names()).toEqual([]);
  });

  it("while the model speaks ends at once, even if the model does not listen", async () => {
    const speaking = gate();
    const model: Model = {
      name: "test/deaf",
      contextTokens: 10_000,
      async *stream() {
        yield { kind: "text", text: "well" };
        speaking.open();
        await never;
      },
    };
    const house = openTurns({ model });
    expect(await cancelled(house, speaking.passed, new AbortController())).toEqual(new Error("stopped"));
    expect(house.names()).toEqual([]);
  });

  it("while a tool runs ends at once, even if the tool does not listen, and the tool is told", async () => {
    const running = gate();
    let told = false;
    const tool = toolDoing("probe", (_, { signal }) => {
      signal.addEventListener("abort", () => void (told = true));
      running.open();
      return never;
    });
    const house = openTurns({ lines: [{ text: "before", toolCalls: probe }, { text: "ok" }], tools: [tool] });
    expect(await cancelled(house, running.passed, new AbortController())).toEqual(new Error("stopped"));
    expect(told).toBe(true);
    expect(house.requests.length).toBe(1);
    expect(house.names()).toEqual([]);
  });

  it("with its last word stores nothing either", async () => {
    const abort = new AbortController();
    const answer = async () => {
      abort.abort(new Error("stopped"));
      return { text: "too late" };
    };
    const house = openTurns({ lines: [answer] });
    await expect(house.say("go", { signal: abort.signal })).rejects.toThrow("stopped");
    expect(house.names()).toEqual([]);
  });

  it("leaves the chat as it was: the next message is answered", async () => {
    const abort = new AbortController();
    const house = openTurns({
      lines: [{ text: "one" }, async () => (abort.abort(new Error("stopped")), {}), { text: "three" }],
    });
    await house.say("1");
    const before = house.file();
    await expect(house.say("2", { signal: abort.signal })).rejects.toThrow("stopped");
    expect(house.file()).toBe(before);
    expect((await house.say("3")).reply).toBe("three");
    expect((await house.rows()).map(({ content }) => content)).toEqual(["1", "one", "3", "three"]);
  });
});
