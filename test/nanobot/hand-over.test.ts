/** One program takes over from the other in awkward places: names, damage, turns that never ended. */
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sessionFileName } from "../../src/session/key.js";
import { openSessions, openStore } from "../../src/session/open.js";
import { parsePythonJson, type PythonValue } from "../../src/session/python-json.js";
import { temporaryFolder } from "../support/workspace.js";
import { versions } from "./install.js";
import { describeEach, snapshotOf } from "./nanobot.js";
import { type Step, withoutTimestamp } from "./turns.js";

const silent = { warn: () => {} };

/** Each has a file name of its own in every naming, or this would be about something else. */
const nastyKeys: readonly string[] = [
  "",
  ":",
  "..",
  "telegram:-100:topic:5",
  "slack:C1:1700000000.123",
  "matrix:!room:example.org",
  'x<>:"/\\|?*y',
  " :spaces ",
  "in side: spaces",
  "../../escape:1",
  ".hidden:1",
  "~home:$HOME`id`",
  "%2e%2e%2f:1",
  "CON:1",
  "dots:1...",
  "\u0085\u001cstripped by Python only:1",
  "\ufeffstripped by JavaScript only:1",
  "zero\u200bwidth:1",
  "line\u2028separator:1",
  "tab\tand\nnewline:1",
  "emoji:😀👩‍👩‍👧",
  "漢字:かな",
  `long:${"ß".repeat(80)}`,
  "dGVsZWdyYW06OTk",
];

function nanogateAt(workspace: string) {
  const sessions = openSessions({ workspace, log: silent });
  onTestFinished(() => sessions.close());
  return sessions;
}

const say = (content: PythonValue, role = "user"): Step => ({ do: "say", role, content, extras: {} });
const withoutTimes = (rows: readonly string[]): string[] => rows.map(withoutTimestamp);

describeEach(versions, (program, version) => {
  const naming = version === "0.3.0" ? "base64url" : "nanobot";
  const open = () => {
    const workspace = temporaryFolder();
    const sessions = nanogateAt(workspace);
    const folder = join(workspace, "sessions");
    return {
      workspace,
      sessions,
      nanobot: program().at(workspace),
      names: () => readdirSync(folder).filter((name) => name !== ".nanogate.lock"),
      pathOf: (name: string) => join(folder, name),
      nanogateSays: async (key: string, ...texts: string[]) => {
        const session = await sessions.getOrCreate(key);
        for (const text of texts) session.addMessage("user", text);
        await sessions.save(session);
        return session;
      },
    };
  };

  describe("a key that makes a difficult file name", () => {
    it.each(nastyKeys)("is found by nanobot where nanogate put it: %j", async (key) => {
      const { nanobot, nanogateSays, names } = open();
      await nanogateSays(key, "from nanogate");
      expect(names()).toEqual([sessionFileName(key)]);
      const session = await nanogateSays(key, "once more");
      expect((await nanobot.load(key)).rows).toEqual(snapshotOf(session).rows);
      expect(names()).toEqual([sessionFileName(key, { naming })]);
      expect((await nanobot.turn(key, [say("from nanobot")])).rows).toHaveLength(3);
      expect(snapshotOf(await nanogateSays(key, "and back")).rows).toHaveLength(4);
      expect((await nanobot.load(key)).rows).toHaveLength(4);
      expect(names()).toEqual([sessionFileName(key, { naming })]);
    });

    it.each(nastyKeys)("is found by nanogate where nanobot put it: %j", async (key) => {
      const { nanobot, sessions, names } = open();
      const { rows } = await nanobot.turn(key, [say("from nanobot")]);
      expect(names()).toEqual([sessionFileName(key, { naming })]);
      expect(snapshotOf(await sessions.getOrCreate(key)).rows).toEqual(rows);
    });

    it("is listed by both under the same name", async () => {
      const { nanobot, nanogateSays, sessions } = open();
      // nanobot takes an empty key for a missing one when it lists, and guesses one from the file name.
      const keys = nastyKeys.filter((key) => key !== "").sort();
      for (const key of keys) await nanogateSays(key, "hello");
      for (const key of keys.filter((_, at) => at % 2 === 0)) await nanobot.save(key);
      expect((await nanobot.list()).map(({ key }) => key).sort()).toEqual(keys);
      expect((await sessions.list()).map(({ key }) => key).sort()).toEqual(keys);
    });

    it("keeps its rows where another key has the same file name", async () => {
      const { nanobot, nanogateSays } = open();
      const first = await nanogateSays("a:b", "of a:b");
      const second = await nanogateSays("a_b", "of a_b");
      expect((await nanobot.load("a:b")).rows).toEqual(snapshotOf(first).rows);
      // Older versions know one file for both and would take the first one's rows for the second's.
      if (version === "0.3.0") expect((await nanobot.load("a_b")).rows).toEqual(snapshotOf(second).rows);
    });
  });

  describe("a turn of nanobot's while nanogate has not saved its own", () => {
    const key = "telegram:42";

    it("comes first, and nanogate's goes behind it", async () => {
      const { nanobot, sessions, nanogateSays } = open();
      const session = await nanogateSays(key, "one");
      session.addMessage("user", "three");
      await nanobot.turn(key, [say("two"), { do: "set", path: ["title"], value: "theirs" }]);
      await sessions.save(session);
      const { rows, metadata } = await nanobot.load(key);
      expect(withoutTimes(rows)).toEqual(
        ["one", "two", "three"].map((text) => `{"role": "user", "content": "${text}"}`),
      );
      expect(metadata).toBe('{"title": "theirs"}');
      expect(snapshotOf(session).rows).toEqual(rows);
    });

    it("may clear the session, and what nanogate adds is then its beginning", async () => {
      const { nanobot, sessions, nanogateSays } = open();
      const session = await nanogateSays(key, "one", "two");
      session.lastConsolidated = 1;
      session.addMessage("user", "three");
      await nanobot.turn(key, [{ do: "clear" }]);
      await sessions.save(session);
      const { rows, lastConsolidated } = await nanobot.load(key);
      expect(withoutTimes(rows)).toEqual(['{"role": "user", "content": "three"}']);
      expect(lastConsolidated).toBe("0");
      expect(snapshotOf(session).rows).toEqual(rows);
    });
  });

  describe("a file whose last line was torn", () => {
    const text = "never finished 😀";
    const tear = async (
      { nanogateSays, pathOf }: ReturnType<typeof open>,
      lost: number,
    ): Promise<readonly string[]> => {
      const { rows } = snapshotOf(await nanogateSays("telegram:42", "one", "two", text));
      const path = pathOf(sessionFileName("telegram:42"));
      truncateSync(path, readFileSync(path).length - lost);
      return rows.slice(0, 2);
    };
    // From the end: the newline and the brace, the timestamp, the middle of the emoji's four bytes.
    const losses = [2, 20, Buffer.byteLength('", "timestamp": "2026-01-01T00:00:00.000000"}\n') + 2];

    it.each(losses)("loads after nanogate has gone on with it (%i bytes lost)", async (lost) => {
      const house = open();
      const whole = await tear(house, lost);
      const session = await house.nanogateSays("telegram:42", "after the accident");
      const { rows } = await house.nanobot.load("telegram:42");
      expect(rows.slice(0, 2)).toEqual(whole);
      expect(rows).toEqual(snapshotOf(session).rows);
      expect(rows).toHaveLength(3);
      expect(await house.nanobot.list()).toHaveLength(1);
    });

    it.each(losses)("loads after nanogate has repaired it (%i bytes lost)", async (lost) => {
      const house = open();
      const whole = await tear(house, lost);
      const store = openStore({ workspace: house.workspace, log: silent });
      const results = [];
      for await (const result of store.verify({ repair: true })) results.push(result);
      await store.close();
      expect(results.map(({ rows, damage }) => [rows, damage.length])).toEqual([[2, 1]]);
      expect((await house.nanobot.load("telegram:42")).rows).toEqual(whole);
      expect(await house.nanobot.list()).toHaveLength(1);
    });
  });
});

// v0.1.4.post4 writes a turn when it is over; what it never finished is nowhere to be found.
describeEach(["0.2.2", "0.3.0"], (program) => {
  const call = (id: string) => ({ id, type: "function", function: { name: "probe", arguments: '{"n": 1.0}' } });
  const asked = { role: "assistant", content: "", tool_calls: [call("c1"), call("c2")] };
  const result = { role: "tool", tool_call_id: "c1", name: "probe", content: "done 😀\u2028" };
  const checkpoints: Readonly<Record<string, PythonValue>> = {
    "before any tool had finished": {
      phase: "awaiting_tools",
      iteration: 0,
      model: "m",
      assistant_message: asked,
      completed_tool_results: [],
      pending_tool_calls: [call("c1"), call("c2")],
    },
    "between two tools": {
      phase: "awaiting_tools",
      iteration: 0,
      model: "m",
      assistant_message: asked,
      completed_tool_results: [result],
      pending_tool_calls: [call("c2")],
    },
    "after the answer": {
      phase: "final_response",
      iteration: 3,
      model: "m",
      assistant_message: { role: "assistant", content: "the answer", reasoning_content: "because", latency_ms: 1.5 },
      completed_tool_results: [],
      pending_tool_calls: [],
    },
    "with calls that have lost their name": {
      phase: "awaiting_tools",
      assistant_message: { ...asked, timestamp: "2026-01-01T00:00:00" },
      completed_tool_results: null,
      pending_tool_calls: [{ id: "c1", name: "probe" }, { id: "c2", function: { name: "" } }, "nonsense"],
    },
    "with nothing in it": {},
  };
  /** What is already stored of the turn when the program dies. */
  const stored: Readonly<Record<string, readonly Step[]>> = {
    "only the question is stored": [say("question")],
    "the first rows are stored": [say("question"), { do: "rows", rows: [asked] }],
    "all of it is stored": [
      say("question"),
      { do: "rows", rows: [asked, result, { role: "assistant", content: "the answer", reasoning_content: "because" }] },
    ],
  };
  const pending: Step = { do: "set", path: ["pending_user_turn"], value: true };
  const other: Step = { do: "set", path: ["title"], value: parsePythonJson('{"b": 1.0, "1": 2}') };
  const key = "telegram:42";

  const open = () => {
    const workspace = temporaryFolder();
    return { nanobot: program().at(workspace), sessions: nanogateAt(workspace) };
  };

  describe.each(Object.entries(checkpoints))("dies %s", (_, checkpoint) => {
    it.each(Object.entries(stored))("and nanogate settles it as nanobot would, when %s", async (__, steps) => {
      const { nanobot, sessions } = open();
      await nanobot.turn(key, [...steps, other, pending]);
      await nanobot.checkpoint(key, checkpoint);
      const expected = await nanobot.resume(key);
      expect(expected.resumed).toBe(true);
      const session = await sessions.getOrCreate(key);
      session.settle();
      const settled = snapshotOf(session);
      expect(withoutTimes(settled.rows)).toEqual(withoutTimes(expected.session.rows));
      expect(settled.metadata).toBe(expected.session.metadata);
    });

    it("and does not replay it once nanogate has gone on", async () => {
      const { nanobot, sessions } = open();
      await nanobot.turn(key, [say("question"), other, pending]);
      await nanobot.checkpoint(key, checkpoint);
      const session = await sessions.getOrCreate(key);
      session.addRows([
        { role: "user", content: "are you there?" },
        { role: "assistant", content: "yes" },
      ]);
      await sessions.save(session);
      const { resumed, session: theirs } = await nanobot.resume(key);
      expect(resumed).toBe(false);
      expect(theirs.rows).toEqual(snapshotOf(session).rows);
      expect(withoutTimes(theirs.rows).at(-1)).toBe('{"role": "assistant", "content": "yes"}');
    });
  });

  it("dies before the model answered, and nanogate closes the turn as nanobot would", async () => {
    const { nanobot, sessions } = open();
    await nanobot.turn(key, [say("question"), pending]);
    const expected = await nanobot.resume(key);
    const session = await sessions.getOrCreate(key);
    session.settle();
    expect(withoutTimes(snapshotOf(session).rows)).toEqual(withoutTimes(expected.session.rows));
    session.addMessage("user", "again");
    await sessions.save(session);
    const { resumed, session: theirs } = await nanobot.resume(key);
    expect(resumed).toBe(false);
    expect(theirs.rows).toEqual(snapshotOf(session).rows);
  });

  it("dies, and nothing of it comes back after nanogate has cleared the session", async () => {
    const { nanobot, sessions } = open();
    await nanobot.turn(key, [say("question"), pending]);
    await nanobot.checkpoint(key, checkpoints["between two tools"] ?? {});
    const session = await sessions.getOrCreate(key);
    session.clear();
    await sessions.save(session);
    const { resumed, session: theirs } = await nanobot.resume(key);
    expect(resumed).toBe(false);
    expect(theirs.rows).toEqual([]);
  });
});
