/** Answers for clients that can only add to what they have. */
import { array, assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { createAnswer, createTextFlow } from "../../src/http/answer.js";
import type { Told } from "../../src/http/asking.js";
import { call } from "../support/scripted-model.js";

const text = (piece: string): Told => ({ kind: "text", text: piece });
const restart: Told = { kind: "restart" };
const look: Told = { kind: "tool-call", call: call("look", {}), hint: "look" };

/** What a client has in the end. */
function read(events: readonly Told[], answer: string): string {
  let all = "";
  const flow = createTextFlow((piece) => (all += piece));
  for (const event of events) flow.hear(event);
  flow.end(answer);
  return all;
}

describe("the pieces of an answer", () => {
  it("are told as they come", () => {
    expect(read([text("hel"), text("lo")], "hello")).toBe("hello");
  });

  it("are told in the end if they did not come before", () => {
    expect(read([], "help text")).toBe("help text");
    expect(read([text("step 10"), restart, look], "step 10\n\n[limit]")).toBe("step 10\n\nstep 10\n\n[limit]");
    expect(read([text("half")], "half and the rest")).toBe("half and the rest");
  });

  it("are set apart from what was said before a tool was used", () => {
    expect(read([text("let me look"), restart, look, text("found")], "found")).toBe("let me look\n\nfound");
    expect(read([restart, look, text("found")], "found")).toBe("found");
  });

  it("go on where they were broken off, if the new answer says the same", () => {
    expect(read([text("hello th"), restart, text("hel"), text("lo there")], "hello there")).toBe("hello there");
    expect(read([text("hello"), restart, text("hello")], "hello")).toBe("hello");
  });

  it("begin anew behind what was broken off, if it says something else", () => {
    expect(read([text("hello"), restart, text("he is out")], "he is out")).toBe("hello\n\nhe is out");
    expect(read([text("hello"), restart, text("hel")], "hel")).toBe("hello\n\nhel");
  });

  it("always end with the answer", () => {
    const pieces = array(string({ minLength: 1, maxLength: 4 }));
    assert(
      property(pieces, pieces, (before, answer) => {
        const all = read([...before.map(text), restart, ...answer.map(text)], answer.join(""));
        expect(all.trim().endsWith(answer.join("").trim())).toBe(true);
      }),
    );
  });
});

describe("an answer", () => {
  const hear = (...events: Told[]) => {
    const answer = createAnswer();
    for (const event of events) answer.hear(event);
    return answer.result;
  };
  const usage = { input: 1, output: 2, cached: 0 };

  it("is the reply, or what a tool has said in its place", () => {
    const turn = { outcome: { kind: "answered" }, usage } as const;
    expect(hear({ kind: "finished", turn, reply: "hi" })).toEqual({ kind: "answered", text: "hi", usage });
    expect(hear({ kind: "said", text: "a" }, { kind: "said", text: "b" }, { kind: "finished", turn })).toEqual({
      kind: "answered",
      text: "a\n\nb",
      usage,
    });
  });

  it("may be none", () => {
    const busy = { kind: "failed", reason: "too many messages waiting" } as const;
    expect(hear({ kind: "finished", turn: { outcome: { kind: "failed", reason: "x" } } }).kind).toBe("failed");
    expect(hear({ kind: "finished", turn: { outcome: { kind: "dead" } } }).kind).toBe("failed");
    expect(hear({ kind: "finished", turn: { outcome: busy }, reply: "later" })).toEqual({
      kind: "busy",
      words: "later",
    });
    expect(hear({ kind: "postponed" }).kind).toBe("postponed");
    expect(hear().kind).toBe("failed");
  });
});
