/** One entry per message, whatever is told twice, late or in another order. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LiveEvent } from "../../../src/gateway/live.js";
import type { Row } from "../../../src/message.js";
import { type Happening, happen, noTurns, type Turns } from "../../../web/src/chat/turns.js";

const to = { channel: "web", chat: "a" };
const call = { id: "c1", type: "function", function: { name: "exec", arguments: "{}" } } as const;

const rowsOf = (id: string): readonly Row[] => [
  { role: "user", content: `ask ${id}`, timestamp: `2026-11-16T10:00:00.${id}` },
  { role: "assistant", content: `answer ${id}`, timestamp: `2026-11-16T10:00:01.${id}` },
];

const finished = (id: string, rows = rowsOf(id)): LiveEvent => ({
  kind: "finished",
  turn: { rows, messages: [{ kind: "text", to, text: `answer ${id}`, answers: id }], outcome: { kind: "answered" } },
});

const news = (id: string, event: LiveEvent): Happening => ({ kind: "news", id, trace: `t${id}`, event });
const asked = (id: string): Happening => ({ kind: "asked", id, text: `ask ${id}`, images: [] });
const all = (happenings: readonly Happening[], from: Turns = noTurns, total = 0): Turns =>
  happenings.reduce((turns, happening) => happen(turns, happening, total), from);

/** Everything that is told of one message, in order. */
const lifeOf = (id: string): readonly Happening[] => [
  asked(id),
  news(id, { kind: "accepted", text: `ask ${id}` }),
  news(id, { kind: "text", text: "let me " }),
  news(id, { kind: "text", text: "see" }),
  news(id, { kind: "progress", text: "let me see" }),
  news(id, { kind: "tool-call", call, hint: "exec" }),
  news(id, { kind: "tool-result", call, result: "ok" }),
  news(id, { kind: "text", text: "answer " }),
  news(id, { kind: "text", text: id }),
  news(id, finished(id)),
];

describe("a message", () => {
  it("is seen on its way: asked, taken, worked on, answered", () => {
    const seen = lifeOf("1").map((_, at) => all(lifeOf("1").slice(0, at + 1)).list[0]);
    expect(seen.map((turn) => turn?.phase.kind)).toEqual([
      "sending",
      "waiting",
      ...Array.from({ length: 7 }, () => "working"),
      "ended",
    ]);
    expect(seen[3]?.draft).toBe("let me see");
    expect(seen[8]).toMatchObject({
      draft: "answer 1",
      question: "ask 1",
      steps: [{ kind: "progress" }, { result: "ok" }],
    });
  });

  it("leaves when it stands in the session", () => {
    const turns = all([...lifeOf("1"), { kind: "stored", newest: rowsOf("1") }]);
    expect(turns.list).toEqual([]);
  });

  it("stays when it is not stored: commands, failures, what was stopped", () => {
    const turns = all([asked("1"), news("1", finished("1", [])), { kind: "stored", newest: rowsOf("2") }], noTurns, 7);
    expect(turns.list).toMatchObject([{ at: 7, phase: { kind: "ended", reply: "answer 1" } }]);
  });

  it("is begun anew when the connection was lost, without a word twice", () => {
    const turns = all([...lifeOf("1").slice(0, 5), { kind: "connected" }, ...lifeOf("1").slice(1, 9)]);
    expect(turns.list).toMatchObject([{ draft: "answer 1", steps: [{ kind: "progress" }, { kind: "call" }] }]);
  });

  it("shows what it had until it is told anew", () => {
    const turns = all([...lifeOf("1").slice(0, 4), { kind: "connected" }]);
    expect(turns.list[0]?.draft).toBe("let me see");
  });

  it("of somebody else that ended while nobody looked is in the rows only", () => {
    const foreign = lifeOf("1").slice(1, 4);
    expect(all([...foreign, { kind: "connected" }, { kind: "stored", newest: rowsOf("1") }]).list).toEqual([]);
    const own = all([...lifeOf("1").slice(0, 4), { kind: "connected" }, { kind: "stored", newest: rowsOf("1") }]);
    expect(own.list).toHaveLength(1);
    const over: Happening = { kind: "over", id: "1", outcome: { kind: "answered" } };
    expect(all([over, { kind: "stored", newest: rowsOf("1") }], own).list).toEqual([]);
  });

  it("that was refused can be sent again", () => {
    const refused: Happening = { kind: "refused", id: "1", problem: "too big", fix: "send less" };
    expect(all([asked("1"), refused]).list[0]?.phase.kind).toBe("refused");
    expect(all([asked("1"), refused, asked("1")]).list[0]?.phase.kind).toBe("sending");
    // The refusal of a repeat says nothing about the first time.
    expect(all([...lifeOf("1"), refused]).list[0]?.phase.kind).toBe("ended");
  });

  it("is not said twice where progress is both told and said", () => {
    const said: Happening = { kind: "said", id: "s", text: "let me see" };
    expect(all([...lifeOf("1").slice(0, 6), said]).list).toHaveLength(1);
    expect(all([{ ...said, text: "a reminder" }]).list).toMatchObject([{ phase: { reply: "a reminder" } }]);
  });
});

describe("any order of any number of copies of what is told", () => {
  const ids = ["1", "2", "3"];
  const rows = ids.flatMap(rowsOf);
  const copies = fc
    .array(
      fc.constantFrom<Happening>(...ids.flatMap(lifeOf), { kind: "connected" }, { kind: "stored", newest: rows }),
      {
        maxLength: 60,
      },
    )
    .chain((more) =>
      fc.shuffledSubarray([...ids.flatMap(lifeOf), ...more], { minLength: ids.length * 10 + more.length }),
    );

  it("yields each message once at every moment, and in the end none beside the stored rows", () => {
    fc.assert(
      fc.property(copies, (happenings) => {
        let turns = noTurns;
        for (const happening of happenings) {
          turns = happen(turns, happening, rows.length);
          const seen = turns.list.map(({ id }) => id);
          expect(new Set(seen).size).toBe(seen.length);
        }
        expect(happen(turns, { kind: "stored", newest: rows }, rows.length).list).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("yields the whole answer, while it is not stored yet", () => {
    const told = fc.array(fc.constantFrom(...lifeOf("1"), { kind: "connected" } as const), { maxLength: 40 });
    fc.assert(
      fc.property(told, told, (before, after) => {
        const turns = all([...before, news("1", finished("1")), ...after]);
        expect(turns.list).toMatchObject([{ id: "1", phase: { kind: "ended", reply: "answer 1" } }]);
      }),
    );
  });
});
