/** The rules of document 003, row by row; the backend is scripted, the ledger and the sessions are real. */
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BackendEnd } from "../../src/backends/backend.js";
import { cutShort } from "../../src/backends/rotation.js";
import { gate } from "../support/gate.js";
import { type Answer, chat, numbers, openTalk, scriptedBackend, type TalkOptions } from "../support/talk-house.js";

async function openScripted(script: readonly Answer[] = [], options: Omit<TalkOptions, "backend"> = {}) {
  const scripted = scriptedBackend(script);
  return { ...(await openTalk({ ...options, backend: scripted.backend })), ...scripted };
}

const failed: BackendEnd = { kind: "failed", failure: "overload", reason: "529", acted: false };
const lost: BackendEnd = { kind: "lost", reason: "No conversation found" };
const hour = 3_600_000;

describe("inside a window", () => {
  it("the first message begins a conversation, and its handle is kept for this chat (003-1)", async () => {
    const { say, calls, active } = await openScripted([{ handle: "00000000-0000-4000-8000-000000000001" }]);
    expect(await say("hello")).toBe("answer 1");
    expect(calls[0]).toMatchObject({ prompt: "hello", system: "You answer in telegram:42." });
    expect(calls[0]).not.toHaveProperty("handle");
    expect(calls[0]).not.toHaveProperty("once");
    expect(await active()).toMatchObject({ id: "00000000-0000-4000-8000-000000000001", count: 1 });
  });

  it("messages 2 to 20 go on with it, bare: no history, no memory (003-2, 003-11)", async () => {
    const { say, calls, active } = await openScripted([], { memory: "Ann likes trains." });
    const texts = numbers(20);
    for (const text of texts) await say(text);
    const first = await active().then(() => calls[1]?.handle);
    expect(calls.map(({ handle }) => handle)).toEqual([undefined, ...Array.from({ length: 19 }, () => first)]);
    expect(calls.slice(1).map(({ prompt }) => prompt)).toEqual(texts.slice(1));
  });

  it("the count goes up by one with each message (003-11)", async () => {
    const { say, active } = await openScripted();
    for (const [at, text] of numbers(19).entries()) {
      await say(text);
      expect(await active()).toMatchObject({ kind: "active", count: at + 1 });
    }
    await say("the twentieth");
    expect(await active()).toEqual({ kind: "none", because: "full" });
  });

  it("chats have their own conversations and counts (003-8)", async () => {
    const { say, calls, active } = await openScripted();
    for (const text of numbers(3)) for (const key of ["telegram:1", "telegram:2"]) await say(text, key);
    expect(await active("telegram:1")).toMatchObject({ count: 3 });
    expect(await active("telegram:2")).toMatchObject({ count: 3 });
    expect(new Set(calls.slice(2).map(({ handle }) => handle)).size).toBe(2);
  });

  it("another program's turn in the same session is not missed: the conversation is begun anew", async () => {
    const { say, calls, sessions, forgotten } = await openScripted();
    await say("one");
    const session = await sessions.getOrCreate(chat);
    session.addMessage("user", "said to a model");
    session.addMessage("assistant", "answered by a model");
    await sessions.save(session);
    await say("two");
    expect(calls[1]).not.toHaveProperty("handle");
    expect(calls[1]?.prompt).toContain("answered by a model");
    expect(forgotten).toHaveLength(1);
    await say("three");
    expect(calls[2]?.handle).toBeDefined();
  });

  it("/new is a new conversation for the backend too", async () => {
    const { say, calls, sessions } = await openScripted();
    await say("my secret is 7");
    const session = await sessions.getOrCreate(chat);
    session.clear();
    await sessions.save(session);
    await say("what is my secret?");
    expect(calls[1]).not.toHaveProperty("handle");
    expect(calls[1]?.prompt).toBe("what is my secret?");
  });
});

describe("rotation", () => {
  it("message 21 begins a new conversation with what was said and what is remembered (003-3, 003-4)", async () => {
    const { say, calls, memory } = await openScripted();
    for (const text of numbers(20)) await say(text);
    memory.text = "Ann likes trains.";
    await say("message 21");
    const { prompt = "" } = calls[20] ?? {};
    expect(calls[20]).not.toHaveProperty("handle");
    for (const text of numbers(20)) expect(prompt).toContain(`>\n${text}\n<`);
    expect(prompt).toContain("Ann likes trains.");
    expect(prompt.endsWith("\n---\n\nNow respond:\n\nmessage 21")).toBe(true);
    await say("message 22");
    expect(calls[21]).toMatchObject({ prompt: "message 22", handle: expect.any(String) });
    expect(calls[21]?.handle).not.toBe(calls[1]?.handle);
  });

  it("comes after as many messages as the window has, over and over", async () => {
    const { say, calls } = await openScripted([], { windowSize: 3 });
    for (const text of numbers(10)) await say(text);
    expect(calls.map(({ handle }) => (handle === undefined ? "new" : "on"))).toEqual(
      "new on on new on on new on on new".split(" "),
    );
  });

  it("with a window of one, every message begins anew", async () => {
    const { say, calls } = await openScripted([], { windowSize: 1 });
    for (const text of numbers(3)) await say(text);
    expect(calls.every(({ handle }) => handle === undefined)).toBe(true);
  });

  it("shows the last hundred messages of this chat and of no other (003-4, 003-21)", async () => {
    const { say, calls } = await openScripted([], { windowSize: 60 });
    await say("from somebody else", "telegram:1");
    for (const text of numbers(60)) await say(text);
    await say("the next");
    const { prompt = "" } = calls.at(-1) ?? {};
    expect(prompt.match(/<message /g)).toHaveLength(100);
    expect(prompt).not.toContain("somebody else");
    expect(prompt).not.toContain("\nmessage 10\n");
    expect(prompt).toContain("\nmessage 11\n");
  });

  it("offers the window that is left for consolidation, and waits for nobody (003-26)", async () => {
    const { say, left } = await openScripted([], { windowSize: 2 });
    await say("one");
    await say("two");
    expect(left).toEqual([]);
    await say("three");
    expect(left).toEqual([chat]);
    await say("four");
    expect(left).toEqual([chat]);
  });

  it("comes a day after the last message, too", async () => {
    const { say, calls, pass, left } = await openScripted();
    await say("one");
    pass(23 * hour);
    await say("two");
    pass(23 * hour);
    await say("three");
    expect(calls.map(({ handle }) => handle !== undefined)).toEqual([false, true, true]);
    pass(24 * hour);
    await say("four");
    expect(calls[3]).not.toHaveProperty("handle");
    expect(calls[3]?.prompt).toContain("\nthree\n");
    expect(left).toEqual([chat]);
  });
});

describe("a handle in trouble", () => {
  it.each([
    ["an error (003-9)", failed],
    ["nothing at all (003-17)", lost],
  ])("answered by %s: dropped, said in the log, and the message is run once more in a new one", async (_, end) => {
    const { say, calls, warnings, forgotten, active } = await openScripted([{}, {}, end]);
    await say("one");
    await say("two");
    expect(await say("three")).toBe("answer 4");
    expect(calls).toHaveLength(4);
    expect(calls[2]).toMatchObject({ prompt: "three", handle: calls[1]?.handle });
    expect(calls[3]).not.toHaveProperty("handle");
    expect(calls[3]?.prompt).toContain("\ntwo\n");
    expect(calls[3]?.prompt).not.toContain("cut short");
    expect(warnings).toEqual([expect.stringContaining("could not go on")]);
    expect(forgotten).toEqual([calls[1]?.handle]);
    expect(await active()).toMatchObject({ count: 1 });
    await say("four");
    expect(calls[4]?.handle).not.toBe(calls[1]?.handle);
  });

  it("that had begun to act when it failed: the new conversation is told", async () => {
    const { say, calls } = await openScripted([{}, { ...failed, acted: true }]);
    await say("one");
    await say("two");
    expect(calls[2]?.prompt).toContain(cutShort);
  });

  it("the second run is the last: it fails, the chat is told, and nothing is kept (003-18)", async () => {
    const { say, calls, active, rows } = await openScripted([{}, lost, failed]);
    await say("one");
    await expect(say("two")).rejects.toMatchObject({ kind: "overload", told: expect.stringContaining("overloaded") });
    expect(calls).toHaveLength(3);
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(await rows()).toEqual(["user: one", "assistant: answer 1"]);
  });

  it("a new conversation that fails is not tried again, and leaves no handle (003-18)", async () => {
    const { say, calls, active, rows } = await openScripted([failed]);
    await expect(say("one")).rejects.toMatchObject({ name: "ModelError" });
    expect(calls).toHaveLength(1);
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(await rows()).toEqual([]);
    expect(await say("two")).toBe("answer 2");
  });

  it.each([0, 1])(
    "output that nobody understands is the answer, logged, and the handle is dropped (003-10) [%i]",
    async (at) => {
      const script: Answer[] = [{}, {}];
      script[at] = { kind: "unreadable", raw: "Seg fault" };
      const { say, active, warnings, calls } = await openScripted(script);
      if (at === 1) await say("one");
      expect(await say("two")).toBe("Seg fault");
      expect(await active()).toEqual({ kind: "none", because: "first" });
      expect(warnings).toEqual([expect.stringContaining("Seg fault")]);
      await say("three");
      expect(calls.at(-1)).not.toHaveProperty("handle");
    },
  );

  it("no answer at all is a sentence, not silence, and the handle is dropped (003-23)", async () => {
    const end: BackendEnd = {
      kind: "silent",
      note: "No answer.",
      usage: { input: 1, output: 0, cached: 0 },
      toolsUsed: [],
    };
    const { say, active, rows } = await openScripted([{}, end]);
    await say("one");
    expect(await say("two")).toBe("No answer.");
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(await rows()).toContain("assistant: No answer.");
  });

  it("too slow: what there is of the answer is delivered, the handle dropped, nothing run again (003-24)", async () => {
    const end: BackendEnd = { kind: "timed-out", seconds: 600, partial: "So far" };
    const { say, calls, active, forgotten } = await openScripted([{}, end, { ...end, partial: "" }]);
    await say("one");
    expect(await say("two")).toBe("So far\n\n[I was stopped here: it took longer than 10 minutes.]");
    expect(calls).toHaveLength(2);
    expect(forgotten).toEqual([calls[1]?.handle]);
    expect(await active()).toEqual({ kind: "none", because: "first" });
    await expect(say("three")).rejects.toMatchObject({ told: expect.stringContaining("within 10 minutes") });
  });

  it("stopped in the middle: dropped, for its state is unknown (003-24)", async () => {
    const stop = new AbortController();
    const { say, active, forgotten } = await openScripted([
      {},
      async ({ signal }) => {
        stop.abort(new Error("enough"));
        signal.throwIfAborted();
        return {};
      },
    ]);
    await say("one");
    await expect(say("two", chat, { signal: stop.signal })).rejects.toThrow("enough");
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(forgotten).toHaveLength(1);
  });

  it("stopped at the last moment: what it has seen is not in our log, so it is dropped too", async () => {
    const stop = new AbortController();
    const { say, active, rows } = await openScripted([
      {},
      () => {
        stop.abort(new Error("enough"));
        return {};
      },
    ]);
    await say("one");
    await expect(say("two", chat, { signal: stop.signal })).rejects.toThrow("enough");
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(await rows()).toHaveLength(2);
  });

  it("a backend that could not even be started has changed nothing: the handle stays", async () => {
    const { say, active, calls } = await openScripted([
      {},
      () => {
        throw new Error("no such command");
      },
    ]);
    await say("one");
    await expect(say("two")).rejects.toThrow("no such command");
    expect(await active()).toMatchObject({ count: 1 });
    await say("three");
    expect(calls[2]).toMatchObject({ prompt: "three", handle: calls[1]?.handle });
  });

  it("under another name: the row follows and the count is kept, so rotation still comes (003-19)", async () => {
    const renamed: Answer = () => ({ handle: randomUUID() });
    const { say, calls, active } = await openScripted([renamed, renamed, renamed, renamed, renamed], {
      windowSize: 4,
    });
    for (const text of numbers(4)) await say(text);
    expect(new Set(calls.map(({ handle }) => handle)).size).toBe(4);
    expect(await active()).toEqual({ kind: "none", because: "full" });
    await say("five");
    expect(calls[4]).not.toHaveProperty("handle");
  });

  it.each([undefined, "../../etc/passwd", "--help", ""])("a handle like %j is not kept (003-22)", async (handle) => {
    const { say, active, calls, forgotten } = await openScripted([{ handle } as Answer, {}, { handle } as Answer]);
    expect(await say("one")).toBe("answer 1");
    expect(await active()).toEqual({ kind: "none", because: "first" });
    await say("two");
    expect(await say("three")).toBe("answer 3");
    expect(await active()).toEqual({ kind: "none", because: "first" });
    expect(forgotten).toEqual([calls[2]?.handle]);
  });

  it("planted in the table: what is no handle of this backend is neither used nor removed by it (003-22)", async () => {
    const { say, handles, calls, forgotten, pass } = await openScripted();
    await handles.create(chat, "--dangerously-skip-permissions");
    await say("one");
    expect(calls[0]).not.toHaveProperty("handle");
    await say("two");
    expect(calls[1]?.handle).toMatch(/^[0-9a-f-]{36}$/);
    expect(forgotten).toEqual([]);
    pass(25 * hour);
    expect(await handles.old(24 * hour)).toContain("--dangerously-skip-permissions");
  });

  it("a ledger in trouble costs tokens, not answers", async () => {
    const { say, ledger, calls, rows, warnings } = await openScripted();
    await say("one");
    await ledger.close();
    expect(await say("two")).toBe("answer 2");
    expect(calls[1]).not.toHaveProperty("handle");
    expect(calls[1]?.prompt).toContain("\none\n");
    expect(await rows()).toHaveLength(4);
    expect(warnings.length).toBeGreaterThan(0);
  });
});

describe("two at once", () => {
  it("in one chat run one after the other; in two, side by side (003-15)", async () => {
    const [hold, begun] = [gate(), gate()];
    const order: string[] = [];
    const line: Answer = async ({ prompt }) => {
      const word = prompt.split("\n").at(-1) ?? "";
      order.push(`${word} begins`);
      if (word === "one") {
        begun.open();
        await hold.wait;
      }
      order.push(`${word} ends`);
      return {};
    };
    const { say } = await openScripted([line, line, line]);
    const one = say("one");
    await begun.wait;
    const two = say("two");
    await say("elsewhere", "telegram:7");
    hold.open();
    await Promise.all([one, two]);
    expect(order).toEqual(["one begins", "elsewhere begins", "elsewhere ends", "one ends", "two begins", "two ends"]);
  });

  it("from two processes: both are answered, and the conversation that lost a branch is not used again (003-25)", async () => {
    const { backend, calls } = scriptedBackend();
    const first = await openTalk({ backend });
    const second = await openTalk({ backend, before: first });
    await first.say("one");
    await second.sessions.getOrCreate(chat);
    const [hold, begun] = [gate(), gate()];
    const slow = {
      ...backend,
      run: async (call: Parameters<typeof backend.run>[0]) => {
        begun.open();
        await hold.wait;
        return backend.run(call);
      },
    };
    const third = await openTalk({ backend: slow, before: first });
    const left = third.think("left");
    await begun.wait;
    expect(await second.think("right")).toMatchObject({ reply: expect.stringContaining("answer") });
    hold.open();
    expect(await left).toMatchObject({ reply: expect.stringContaining("answer") });
    // Who comes second begins a conversation of its own, and that is the one to go on with.
    expect(calls.slice(1).map(({ handle }) => handle)).toEqual([undefined, expect.any(String)]);
    expect(first.warnings).toContainEqual(expect.stringContaining("two messages at once"));
    const found = await first.active();
    expect(found).toMatchObject({ kind: "active", count: 1 });
    expect(found).not.toMatchObject({ id: calls[2]?.handle });
  });

  it("a process that died in the middle: nobody goes on with what it was using", async () => {
    const { backend, calls, forgotten } = scriptedBackend([{}, () => new Promise(() => {})]);
    const first = await openTalk({ backend });
    await first.say("one");
    const second = await openTalk({ backend, before: first });
    void first.think("two");
    await expect.poll(() => calls.length).toBe(2);
    await second.say("three");
    expect(calls[2]).not.toHaveProperty("handle");
    expect(forgotten).toEqual([calls[1]?.handle]);
    await second.say("four");
    expect(calls[3]?.handle).toBeDefined();
  });
});

describe("clean-up", () => {
  it("forgets conversations a day after their last message, with what the backend keeps, and no others (003-7, 003-12)", async () => {
    const { say, calls, pass, cleanUp, active, forgotten, rows } = await openScripted([], { windowSize: 2 });
    for (const text of numbers(4)) await say(text, "telegram:1");
    pass(20 * hour);
    for (const text of numbers(2)) await say(text, "telegram:2");
    pass(5 * hour);
    expect(await cleanUp()).toBe(2);
    expect(forgotten).toEqual([calls[1]?.handle, calls[3]?.handle]);
    expect(await active("telegram:1")).toEqual({ kind: "none", because: "first" });
    expect(await active("telegram:2")).toEqual({ kind: "none", because: "full" });
    expect(await cleanUp()).toBe(0);
    // History is not a matter of handles.
    expect(await rows("telegram:1")).toHaveLength(8);
  });

  it("gives nothing to a backend that cannot have made it, and goes on after one that fails", async () => {
    const { handles, cleanUp, pass, backend, forgotten, warnings } = await openScripted();
    const [a, b] = [randomUUID(), randomUUID()];
    for (const id of ["../../../home", a, "-rf", b]) await handles.create("telegram:1", id);
    pass(25 * hour);
    const forget = backend.forget.bind(backend);
    Object.assign(backend, {
      forget: async (id: string) => {
        if (id === a) throw new Error("disk");
        return forget(id);
      },
    });
    expect(await cleanUp()).toBe(4);
    expect(forgotten).toEqual([b]);
    expect(warnings).toEqual([expect.stringContaining("could not be removed: disk")]);
    expect(await handles.old(24 * hour)).toEqual([]);
  });
});

describe("the loss of everything a backend has", () => {
  it("costs no history: the next message simply begins anew (003-14)", async () => {
    const { say, calls, rows } = await openScripted([{}, {}, lost]);
    await say("one");
    await say("two");
    await say("three");
    expect(calls[3]?.prompt).toContain("\none\n");
    expect(await rows()).toEqual([
      "user: one",
      "assistant: answer 1",
      "user: two",
      "assistant: answer 2",
      "user: three",
      "assistant: answer 4",
    ]);
  });
});

describe("any sequence of endings", () => {
  type Kind = "good" | "renamed" | "lost" | "failed" | "garbage" | "silent" | "slow" | "nameless";
  const endings: Readonly<Record<Kind, Answer>> = {
    good: {},
    renamed: () => ({ handle: randomUUID() }),
    lost,
    failed,
    garbage: { kind: "unreadable", raw: "x" },
    silent: { kind: "silent", note: "n", usage: { input: 0, output: 0, cached: 0 }, toolsUsed: [] },
    slow: { kind: "timed-out", seconds: 1, partial: "p" },
    nameless: { handle: undefined } as Answer,
  };
  const kinds = Object.keys(endings) as Kind[];

  it("rotates where the rules say, answers or says why, and keeps what was answered", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 14 }),
        fc.integer({ min: 1, max: 4 }),
        async (script, windowSize) => {
          const { say, calls, rows, active } = await openScripted(
            script.map((kind) => endings[kind]),
            { windowSize },
          );
          // The rules, in their shortest form: how many messages the current handle has had; undefined: there is none.
          let count: number | undefined;
          let at = 0;
          let stored = 0;
          for (let number = 1; at < script.length; number++) {
            const before = at;
            const outcome = await say(`message ${number}`).catch(() => undefined);
            const resumes = count !== undefined && count < windowSize;
            let kind = script[at] ?? "good";
            const isFresh = [!resumes];
            at++;
            let now: number | undefined = resumes ? count : 0;
            if (resumes && (kind === "lost" || kind === "failed")) {
              kind = script[at] ?? "good";
              isFresh.push(true);
              at++;
              now = 0;
            }
            const isGood = kind === "good" || kind === "renamed";
            count = isGood && now !== undefined ? now + 1 : undefined;
            expect(calls.slice(before, at).map(({ handle }) => handle === undefined)).toEqual(isFresh);
            expect(calls).toHaveLength(at);
            expect(outcome === undefined).toBe(kind === "lost" || kind === "failed");
            if (outcome !== undefined) {
              expect(outcome).not.toBe("");
              stored++;
            }
            const found = await active();
            if (count !== undefined && count < windowSize) expect(found).toMatchObject({ kind: "active", count });
            else expect(found).toMatchObject({ kind: "none" });
          }
          expect(await rows()).toHaveLength(2 * stored);
        },
      ),
      { numRuns: 25 },
    );
  });
});
