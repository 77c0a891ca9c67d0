import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildRequest } from "../../src/agent/request.js";
import { tokensOf } from "../../src/agent/tokens.js";
import type { Row } from "../../src/message.js";
import { refusal } from "../support/strict-model.js";

const user = (content: unknown): Row => ({ role: "user", content, timestamp: "2026-01-01T00:00:00" });
const assistant = (content: unknown, ...ids: string[]): Row => ({
  role: "assistant",
  content,
  ...(ids.length > 0 && {
    tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "probe", arguments: "{}" } })),
  }),
});
const tool = (id: string, content: unknown = "result"): Row => ({
  role: "tool",
  tool_call_id: id,
  name: "probe",
  content,
});
const ask = user("now?");
const build = (past: readonly Row[], limit = 10_000, turn: readonly Row[] = [ask]) =>
  buildRequest({ system: "S", past, turn, limit });

describe("a request", () => {
  it("is the system message, the history and the question", () => {
    expect(build([user("hi"), assistant("hello")])).toEqual([
      { role: "system", content: "S" },
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
      { role: "user", content: "now?" },
    ]);
  });

  it("shows only the five allowed fields of a row (004-8, 001-15)", () => {
    const past = [
      user("hi"),
      { ...assistant(null, "c1"), tools_used: ["probe"], reasoning_content: "hm", _compacted: true },
      { ...tool("c1"), _compacted: true, timestamp: "t" },
      assistant("done"),
    ];
    expect(JSON.stringify(build(past))).not.toMatch(/_compacted|timestamp|tools_used|reasoning/);
  });

  it("leaves out results nobody asked for and calls nobody answered", () => {
    const past = [user("a"), tool("orphan"), assistant("thinking", "c1", "c2"), tool("c2"), assistant("b")];
    expect(build(past).slice(1, -1)).toEqual([
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: "thinking",
        tool_calls: [{ id: "c2", type: "function", function: { name: "probe", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c2", name: "probe", content: "result" },
      { role: "assistant", content: "b" },
    ]);
  });

  it("keeps calls apart whose ids come again in another turn (001-13)", () => {
    const round = [user("a"), assistant(null, "call_1"), tool("call_1"), assistant("b")];
    const messages = build([...round, ...round], 10_000, [ask, assistant(null, "call_1"), tool("call_1")]);
    expect(refusal(messages)).toBeUndefined();
    const ids = messages.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : []));
    expect(new Set(ids).size).toBe(3);
  });

  it("joins two questions in a row", () => {
    expect(build([user("one"), user("two")]).at(-1)).toEqual({ role: "user", content: "one\n\ntwo\n\nnow?" });
  });

  it("drops the oldest exchanges first, and whole", () => {
    const past = Array.from({ length: 100 }, (_, at) => [user(`question ${at}`), assistant(`answer ${at}`)]).flat();
    const messages = build(past, 300);
    expect(tokensOf(messages)).toBeLessThanOrEqual(300);
    expect(messages[1]?.role).toBe("user");
    expect(messages.at(-2)).toEqual({ role: "assistant", content: "answer 99" });
  });

  it("begins at the same place for several turns, so that prompt caches hit", () => {
    const exchange = (at: number): Row[] => [user(`question number ${at}`), assistant(`answer number ${at}`)];
    const starts = Array.from({ length: 24 }, (_, more) => {
      const past = Array.from({ length: 100 + more }, (__, at) => exchange(at)).flat();
      return JSON.stringify(build(past, 2000)[1]);
    });
    expect(new Set(starts).size).toBeLessThanOrEqual(5);
  });

  it("fits when a single row exceeds the limit", () => {
    const huge = "x".repeat(1_000_000);
    for (const turn of [
      [user(huge)],
      [ask, assistant(null, "c1"), tool("c1", huge)],
      [ask, assistant(huge, "c1"), tool("c1", huge)],
      [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
            { type: "text", text: huge },
          ],
        },
      ],
    ]) {
      const messages = build([user(huge), assistant(huge)], 500, turn);
      expect(refusal(messages)).toBeUndefined();
      expect(tokensOf(messages)).toBeLessThanOrEqual(500);
    }
  });

  it("fits when this turn alone has made a hundred calls", () => {
    const rounds = Array.from({ length: 100 }, (_, at) => [
      assistant(`step ${at}`, `c${at}`),
      tool(`c${at}`, "y".repeat(4000)),
    ]);
    const messages = build([], 2000, [ask, ...rounds.flat()]);
    expect(refusal(messages)).toBeUndefined();
    expect(tokensOf(messages)).toBeLessThanOrEqual(2000);
    expect(messages.at(-1)?.role).toBe("tool");
  });

  it("fits when the system prompt alone exceeds the limit", () => {
    const messages = buildRequest({ system: "rules ".repeat(50_000), past: [], turn: [ask], limit: 400 });
    expect(refusal(messages)).toBeUndefined();
    expect(tokensOf(messages)).toBeLessThanOrEqual(400);
    expect(messages.at(-1)).toEqual({ role: "user", content: "now?" });
  });
});

describe("any history whatsoever", () => {
  const id = fc.constantFrom("c1", "c2", "c3", "call with spaces", "x".repeat(60), "");
  const text = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
    fc.constantFrom("", "  ", "\n", "hello", "\ud83d", "😀 half \ude00", "x".repeat(900)),
  );
  const part = fc.oneof(
    fc.record({ type: fc.constant("text"), text }),
    fc.constant({ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }),
    fc.constantFrom(null, 7, "bare", {}, { type: "image_url" }, { type: "video" }),
  );
  const content = fc.oneof(
    { weight: 4, arbitrary: text },
    fc.array(part, { maxLength: 3 }),
    fc.constantFrom(null, undefined, 0, true, 10n ** 30n, {}, []),
  );
  const call = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        id,
        type: fc.constant("function"),
        function: fc.record({
          name: fc.constantFrom("probe", "bad name!", ""),
          arguments: fc.constantFrom("{}", '{"a": 1}', "", "[1]", "{broken", "null"),
        }),
      }),
    },
    fc.constantFrom(null, {}, { id: "c1" }, { id: "c1", function: null }, "c1"),
  );
  const row: fc.Arbitrary<Row> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ role: fc.constant("user"), content }) },
    { weight: 3, arbitrary: fc.record({ role: fc.constant("assistant"), content }) },
    {
      weight: 3,
      arbitrary: fc.record({ role: fc.constant("assistant"), content, tool_calls: fc.array(call, { maxLength: 3 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ role: fc.constant("tool"), tool_call_id: id, name: fc.constant("probe"), content }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Row[]>(
        {},
        { role: "system", content: "old" },
        { role: 7 },
        { content: "no role" },
        { role: "assistant", tool_calls: "none" },
      ),
    },
  );
  const turn = fc
    .tuple(fc.record({ role: fc.constant("user"), content }), fc.array(row, { maxLength: 4 }))
    .map(([first, rest]) => {
      // Within a turn the loop asks only when every call is answered; a turn never ends with the assistant's words.
      const rows: Row[] = [first, ...rest];
      return [
        ...rows,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "last", type: "function", function: { name: "probe", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "last", name: "probe", content: "ok" },
      ];
    });

  it("becomes a request that the strictest API takes, within the limit", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 10 }),
        fc.oneof(fc.constant([ask]), turn),
        fc.integer({ min: 250, max: 2000 }),
        (past, now, limit) => {
          const messages = buildRequest({ system: "You are a test.", past, turn: now, limit });
          const problem = refusal(messages);
          if (problem !== undefined) throw new Error(problem);
          if (tokensOf(messages) > limit) throw new Error(`${tokensOf(messages)} tokens, ${limit} allowed`);
        },
      ),
      { numRuns: 100_000 },
    );
  });
});
