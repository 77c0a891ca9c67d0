/** Whole histories in one store, as the design document 002 has them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { EntryTooLarge, openHistories, UserError } from "../../src/index.js";
import type { Row } from "../../src/message.js";
import { noEntry } from "../../src/session/document-backend.js";
import { parsePythonJson } from "../../src/session/python-json.js";
import { entryAt, keysOf, sqliteBackend, watched } from "../support/backend.js";
import { handClock, temporaryFolder } from "../support/workspace.js";

const history: Row[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "naïve 🐈‍⬛ 日本語" },
  { role: "assistant", content: null, tool_calls: [{ id: "1", function: { name: "ls", arguments: "{}" } }] },
];
const say = (content: string): Row => ({ role: "user", content });

function open(options: { maxEntryBytes?: number } = {}) {
  const watch = watched(sqliteBackend());
  const clock = handClock("2026-02-11T17:00:00.000Z");
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const { backend } = watch;
  const reopen = () => openHistories({ backend, clock, log, ...options });
  return { watch, clock, warnings, backend, reopen, histories: reopen() };
}

/** The one entry that was set aside. */
async function asideIn(backend: ReturnType<typeof sqliteBackend>): Promise<{ key: string; value: string | undefined }> {
  const [key = "", ...more] = await keysOf(backend, "aside-");
  expect(more).toEqual([]);
  return { key, value: (await backend.get(key))?.value };
}

describe("a history that is saved", () => {
  it("002-1 is one entry of exactly five fields under the agent's and the chat's id", async () => {
    const { histories, backend } = open();
    await histories.saveHistory("agent-uuid", "chat-uuid", history);
    expect(await keysOf(backend)).toEqual(["agent-history-agent-uuid-chat-uuid"]);
    const entry = await entryAt(backend, "agent-history-agent-uuid-chat-uuid");
    expect(entry).toStrictEqual({
      agentId: "agent-uuid",
      chatId: "chat-uuid",
      history,
      lastUpdated: "2026-02-11T17:00:00.000Z",
      size: 3,
    });
    expect(Object.keys(entry as object)).toEqual(["agentId", "chatId", "history", "lastUpdated", "size"]);
  });

  it("002-1 is stamped with the real time in UTC when no clock is given", async () => {
    const backend = sqliteBackend();
    const before = new Date().toISOString();
    await openHistories({ backend }).saveHistory("a", "c", []);
    const { lastUpdated } = (await entryAt(backend, "agent-history-a-c")) as { lastUpdated: string };
    expect(lastUpdated).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(lastUpdated >= before && lastUpdated <= new Date().toISOString()).toBe(true);
  });

  it("002-2 again updates that entry: still one, later, with its new size", async () => {
    const { histories, backend, clock } = open();
    await histories.saveHistory("a", "c", history);
    clock.now = "2026-02-11T17:00:01.500Z";
    await histories.saveHistory("a", "c", [...history, say("more")]);
    expect(await keysOf(backend)).toEqual(["agent-history-a-c"]);
    expect(await entryAt(backend, "agent-history-a-c")).toMatchObject({
      lastUpdated: "2026-02-11T17:00:01.500Z",
      size: 4,
    });
    await histories.saveHistory("a", "c", [say("Conversation summary")]);
    expect(await histories.loadHistory("a", "c")).toEqual([say("Conversation summary")]);
    expect(await keysOf(backend)).toEqual(["agent-history-a-c"]);
  });

  it("002-4 is read deep-equal by a new process", async () => {
    const file = join(temporaryFolder(), "deep", "histories.sqlite");
    const first = openHistories({ file });
    await first.saveHistory("a", "c", history);
    await first.close();
    const script = `
      import { openHistories } from ${JSON.stringify(new URL("../../src/session/histories.ts", import.meta.url).href)};
      const histories = openHistories({ file: ${JSON.stringify(file)} });
      process.stdout.write(JSON.stringify(await histories.loadHistory("a", "c")));
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    expect(await once(child, "close")).toEqual([0, null]);
    expect(JSON.parse(output)).toEqual(history);
  });

  it("002-4 comes back whatever is in it", async () => {
    const { histories, backend } = open();
    const nasty = fc.string({ unit: nastyUnit });
    const value = fc.jsonValue({ stringUnit: nastyUnit });
    const message = fc
      .record({ role: nasty, content: nasty })
      .chain((row) => value.map((extra) => ({ ...row, extra })));
    await fc.assert(
      fc.asyncProperty(fc.array(message), nasty, async (messages, chat) => {
        await histories.saveHistory("agent", chat, messages);
        expect(await histories.loadHistory("agent", chat)).toStrictEqual(messages);
      }),
      { numRuns: 150 },
    );
    for (const key of await keysOf(backend)) expect(await entryAt(backend, key)).toBeTypeOf("object");
  });

  it("002-4 keeps numbers and the order of keys that JavaScript alone would lose", async () => {
    const { histories } = open();
    const text = '{"role": "user", "b": 1.0, "2": 12345678901234567890, "1": -0.0, "__proto__": {"x": 1e+22}}';
    await histories.saveHistory("a", "c", [parsePythonJson(text) as Row]);
    await histories.saveHistory("a", "c", await histories.loadHistory("a", "c"));
    const [message] = await histories.loadHistory("a", "c");
    expect(message).toStrictEqual(parsePythonJson(text));
    expect(Object.is(message?.["1"], -0)).toBe(true);
  });

  it("002-5 takes one write, to the one store, and is still there after a year", async () => {
    const { histories, watch, clock, reopen } = open();
    await histories.saveHistory("a", "c", history);
    watch.reset();
    await histories.loadHistory("a", "c");
    await histories.saveHistory("a", "c", [...history, say("more")]);
    expect(watch.writes).toEqual(["put agent-history-a-c"]);
    clock.now = "2027-02-11T17:00:00.000Z";
    expect(await reopen().loadHistory("a", "c")).toEqual([...history, say("more")]);
  });

  it("002-5 is read from the store each time: what another process saved is seen at once", async () => {
    const { histories, reopen } = open();
    await histories.saveHistory("a", "c", history);
    await reopen().saveHistory("a", "c", [say("from elsewhere")]);
    expect(await histories.loadHistory("a", "c")).toEqual([say("from elsewhere")]);
  });

  it("002-11 may be far larger than 256 KiB", async () => {
    const { histories } = open();
    const large = Array.from({ length: 600 }, (_, at) => say(`${at} ${"é".repeat(10_000)}`));
    await histories.saveHistory("a", "c", large);
    expect(await histories.loadHistory("a", "c")).toEqual(large);
  });

  it("is what it was when the save was called, and saves keep their order", async () => {
    const { histories } = open();
    const growing = [say("1")];
    const saves: Promise<void>[] = [];
    for (let at = 2; at < 9; at++) {
      saves.push(histories.saveHistory("a", "c", growing));
      growing.push(say(String(at)));
    }
    const loaded = histories.loadHistory("a", "c");
    await Promise.all(saves);
    expect(await loaded).toEqual(growing.slice(0, -1));
  });
});

describe("a history that was never saved", () => {
  it("002-3 is empty, and asking for it creates nothing", async () => {
    const { histories, backend, watch, warnings } = open();
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    expect(watch.writes).toEqual([]);
    expect(await keysOf(backend)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it("002-3 does not even create the file", async () => {
    const file = join(temporaryFolder(), "sessions", "histories.sqlite");
    const histories = openHistories({ file });
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    await histories.close();
    expect(existsSync(join(file, ".."))).toBe(false);
  });
});

describe("the migration of histories that were only cached", () => {
  it("002-8 is over: it says so and touches nothing", async () => {
    const { histories, watch } = open();
    expect(await histories.migrateCacheOnlyHistories()).toStrictEqual({ migrated: 0, failed: 0, deprecated: true });
    expect(watch.calls).toEqual([]);
  });

  it("002-10 is not needed: entries of the dual-write version load unchanged and keep their key", async () => {
    const { histories, backend, warnings } = open();
    const value = JSON.stringify({
      agentId: "a",
      chatId: "c",
      history,
      lastUpdated: "2026-02-10T09:00:00.000Z",
      size: 3,
    });
    await backend.put("agent-history-a-c", { value }, noEntry);
    expect(await histories.loadHistory("a", "c")).toStrictEqual(history);
    expect((await backend.get("agent-history-a-c"))?.value).toBe(value);
    await histories.saveHistory("a", "c", [...history, say("more")]);
    expect(await keysOf(backend)).toEqual(["agent-history-a-c"]);
    expect(warnings).toEqual([]);
  });

  it("002-10 is not needed for entries that name their chat by a number, or not at all", async () => {
    const { histories, backend } = open();
    await backend.put("agent-history-a-42", { value: '{"agentId":"a","chatId":42,"history":[{"n":1}]}' }, noEntry);
    await backend.put("agent-history-a-43", { value: '{"history":[{"n":2}]}' }, noEntry);
    expect(await histories.loadHistory("a", "42")).toEqual([{ n: 1 }]);
    expect(await histories.loadHistory("a", "43")).toEqual([{ n: 2 }]);
  });
});

describe("a store that fails", () => {
  it("002-6 on reading gives an empty history, and the log says why", async () => {
    const { histories, watch, warnings } = open();
    await histories.saveHistory("a", "c", history);
    watch.breaks = (call) => call === "get";
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/"a".*"c".*get is out of order/)]);
  });

  it("002-7 on writing tells the caller and the log, and the earlier history stays", async () => {
    const { histories, watch, warnings } = open();
    await histories.saveHistory("a", "c", history);
    watch.breaks = (call) => call === "put";
    await expect(histories.saveHistory("a", "c", [])).rejects.toThrow("put is out of order");
    expect(warnings).toEqual([expect.stringMatching(/"a".*"c".*put is out of order/)]);
    watch.reset();
    expect(await histories.loadHistory("a", "c")).toEqual(history);
  });

  it("002-12 on reading never leads to a wipe: the next save sets aside what it had not read", async () => {
    const { histories, watch, warnings, backend } = open();
    await histories.saveHistory("a", "c", history);
    const before = (await backend.get("agent-history-a-c"))?.value;
    watch.breaks = (call) => call === "get";
    const loaded = await histories.loadHistory("a", "c");
    watch.reset();
    await histories.saveHistory("a", "c", [...loaded, say("hello?")]);
    expect(await histories.loadHistory("a", "c")).toEqual([say("hello?")]);
    const { key, value } = await asideIn(backend);
    expect(value).toBe(before);
    expect(warnings.at(-1)).toContain(key);
  });

  it("002-12 is not forgotten when somebody else reads well in between", async () => {
    const { histories, watch, backend } = open();
    await histories.saveHistory("a", "c", history);
    watch.breaks = (call) => call === "get";
    const loaded = await histories.loadHistory("a", "c");
    watch.reset();
    expect(await histories.loadHistory("a", "c")).toEqual(history);
    await histories.saveHistory("a", "c", [...loaded, say("hello?")]);
    expect((await asideIn(backend)).value).toContain("日本語");
  });

  it("002-12 sets aside once: the save after that is an ordinary one", async () => {
    const { histories, watch, backend } = open();
    await histories.saveHistory("a", "c", history);
    watch.breaks = (call) => call === "get";
    await histories.loadHistory("a", "c");
    watch.reset();
    await histories.saveHistory("a", "c", [say("1")]);
    await histories.saveHistory("a", "c", [say("1"), say("2")]);
    expect((await asideIn(backend)).value).toContain("日本語");
  });

  it("002-12 until the save itself: it throws, for it could set nothing aside", async () => {
    const { histories, watch, backend } = open();
    await histories.saveHistory("a", "c", history);
    watch.breaks = (call) => call === "get";
    await histories.loadHistory("a", "c");
    await expect(histories.saveHistory("a", "c", [say("hello?")])).rejects.toThrow("get is out of order");
    watch.breaks = (call) => call === "put";
    await expect(histories.saveHistory("a", "c", [say("hello?")])).rejects.toThrow("put is out of order");
    watch.reset();
    expect(await keysOf(backend)).toEqual(["agent-history-a-c"]);
    expect(await entryAt(backend, "agent-history-a-c")).toMatchObject({ history });
  });

  it.each([1, 2, 3, 4, 5, 6, 7])(
    "002-12 at call %i of a turn leaves the history as before or as after, and loses none",
    async (k) => {
      const { histories, watch, backend, reopen } = open();
      await histories.saveHistory("a", "c", history);
      watch.reset();
      watch.breaks = (_, count) => count === k;
      const loaded = await histories.loadHistory("a", "c");
      const after = [...loaded, say("hello?")];
      const saved = await histories.saveHistory("a", "c", after).then(
        () => true,
        () => false,
      );
      watch.reset();
      expect(await reopen().loadHistory("a", "c")).toEqual(saved ? after : history);
      const kept = await Promise.all((await keysOf(backend)).map(async (key) => (await backend.get(key))?.value));
      expect(kept.join()).toContain("日本語");
    },
  );

  it("because its file is damaged is named with the file and what to do; nothing is written over it", async () => {
    const file = join(temporaryFolder(), "histories.sqlite");
    writeFileSync(file, "this is no database at all, whatever its name may say\n".repeat(100));
    const before = readFileSync(file);
    const warnings: string[] = [];
    const histories = openHistories({ file, log: { warn: (message) => void warnings.push(message) } });
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(file)]);
    await expect(histories.saveHistory("a", "c", history)).rejects.toThrow(UserError);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe("two processes with one conversation", () => {
  it("cannot overwrite each other unseen: what the later one had not read is set aside", async () => {
    const { histories, reopen, backend, warnings } = open();
    const other = reopen();
    await histories.saveHistory("a", "c", history);
    const loaded = await histories.loadHistory("a", "c");
    await other.saveHistory("a", "c", [...(await other.loadHistory("a", "c")), say("theirs")]);
    await histories.saveHistory("a", "c", [...loaded, say("ours")]);
    expect(await histories.loadHistory("a", "c")).toEqual([...history, say("ours")]);
    const { key, value } = await asideIn(backend);
    expect(value).toContain("theirs");
    expect(warnings).toEqual([expect.stringContaining(key)]);
  });

  it("that create it at the same moment lose nothing either", async () => {
    const file = join(temporaryFolder(), "histories.sqlite");
    const log = { warn: () => {} };
    const all = Array.from({ length: 6 }, () => openHistories({ backend: sqliteBackend(file), log }));
    await Promise.all(all.map((histories) => histories.loadHistory("a", "c")));
    await Promise.all(all.map((histories, at) => histories.saveHistory("a", "c", [say(`from ${at}`)])));
    const backend = sqliteBackend(file);
    const texts = await Promise.all((await keysOf(backend)).map(async (key) => (await backend.get(key))?.value ?? ""));
    for (const at of all.keys()) expect(texts.join()).toContain(`from ${at}"`);
  });
});

describe("conversations whose keys look alike", () => {
  const pairs: [string, string][] = [
    ["a-b", "c"],
    ["a", "b-c"],
    ["bot", "-100123"],
    ["bot", "100123"],
    ["bot-", "100123"],
    ["bot", "ABC"],
    ["bot", "XYZ"],
    ["bot", "abc"],
    ["bot", "user@x.y"],
    ["bot", "user-x-y"],
    ["bot", "user:x:y"],
    ["bot", ""],
    ["", "bot-"],
    ["bot", "nul\0a"],
    ["bot", "nul\0b"],
    ["bot", "nul\ufffda"],
    ["bot", "nul"],
    ["bot", "half\ud800"],
    ["bot", "half\udc00"],
    ["bot", "é"],
    ["bot", "e\u0301"],
  ];

  it.each([
    ["in this order", pairs],
    ["in the other order", pairs.toReversed()],
  ])("002-13 never share an entry, saved %s", async (_, saved) => {
    const { histories, backend } = open();
    for (const [agent, chat] of saved) expect(await histories.loadHistory(agent, chat)).toEqual([]);
    for (const round of [1, 2]) {
      for (const [agent, chat] of saved) await histories.saveHistory(agent, chat, [say(`${agent}|${chat}|${round}`)]);
    }
    expect(await keysOf(backend)).toHaveLength(pairs.length);
    for (const [agent, chat] of saved) {
      expect(await histories.loadHistory(agent, chat)).toEqual([say(`${agent}|${chat}|2`)]);
    }
  });

  it("002-13 share no entry when they come at the same time", async () => {
    const { histories, backend } = open();
    await Promise.all(pairs.map(([agent, chat]) => histories.saveHistory(agent, chat, [say(`${agent}|${chat}`)])));
    expect(await keysOf(backend)).toHaveLength(pairs.length);
    for (const [agent, chat] of pairs) {
      expect(await histories.loadHistory(agent, chat)).toEqual([say(`${agent}|${chat}`)]);
    }
  });

  it("002-13 leave the plain key to the first; the other gets it with a short fingerprint", async () => {
    const { histories, backend } = open();
    await histories.saveHistory("a", "b-c", [say("first")]);
    await histories.saveHistory("a-b", "c", [say("second")]);
    expect(await keysOf(backend)).toEqual([
      "agent-history-a-b-c",
      expect.stringMatching(/^agent-history-a-b-c~[0-9a-f]{8}$/),
    ]);
    expect(await entryAt(backend, "agent-history-a-b-c")).toMatchObject({ agentId: "a", chatId: "b-c" });
  });

  it("002-13 are told apart by the ids inside the entry, not by its key", async () => {
    const { histories, backend, watch } = open();
    const value = '{"agentId": "a", "chatId": "somebody else", "history": [{"role": "user", "content": "secret"}]}';
    await backend.put("agent-history-a-c", { value }, noEntry);
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    watch.reset();
    await histories.saveHistory("a", "c", history);
    expect(watch.writes).toEqual([expect.stringMatching(/^put agent-history-a-c~/)]);
    expect((await backend.get("agent-history-a-c"))?.value).toBe(value);
    expect(await histories.loadHistory("a", "c")).toEqual(history);
  });

  it("002-13 do not mix when the entry of one is damaged", async () => {
    const { histories, backend } = open();
    await histories.saveHistory("a-b", "c", [say("first")]);
    await histories.saveHistory("a", "b-c", [say("second")]);
    const plain = await backend.get("agent-history-a-b-c");
    await backend.put("agent-history-a-b-c", { value: "{" }, plain?.revision ?? noEntry);
    expect(await histories.loadHistory("a-b", "c")).toEqual([]);
    expect(await histories.loadHistory("a", "b-c")).toEqual([say("second")]);
  });
});

describe("an entry over the limit", () => {
  it("002-15 is refused with a typed error before anything is written; the earlier state is intact", async () => {
    const { histories, watch, backend } = open({ maxEntryBytes: 1000 });
    await histories.saveHistory("a", "c", [say("short")]);
    watch.reset();
    const error = await histories.saveHistory("a", "c", [say("é".repeat(500))]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EntryTooLarge);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ name: "EntryTooLarge", limit: 1000, bytes: expect.toSatisfy((n) => n > 1000) });
    expect(watch.writes).toEqual([]);
    expect(await keysOf(backend)).toEqual(["agent-history-a-c"]);
    expect(await histories.loadHistory("a", "c")).toEqual([say("short")]);
  });

  it("002-15 counts bytes, and the limit itself still fits", async () => {
    const measure = open();
    await measure.histories.saveHistory("a", "c", [say("日本語")]);
    const bytes = Buffer.byteLength((await measure.backend.get("agent-history-a-c"))?.value ?? "", "utf8");
    await open({ maxEntryBytes: bytes }).histories.saveHistory("a", "c", [say("日本語")]);
    await expect(open({ maxEntryBytes: bytes - 1 }).histories.saveHistory("a", "c", [say("日本語")])).rejects.toThrow(
      EntryTooLarge,
    );
  });

  it("002-15 is one of more than 16 MiB unless it is set otherwise", async () => {
    const { histories } = open();
    await histories.saveHistory("a", "c", [say("x".repeat(16 * 1024 * 1024 - 1000))]);
    await expect(histories.saveHistory("a", "c", [say("x".repeat(16 * 1024 * 1024))])).rejects.toThrow(EntryTooLarge);
  });

  it("002-15 is refused even when the earlier entry would have had to be set aside", async () => {
    const { histories, watch, backend } = open({ maxEntryBytes: 1000 });
    await backend.put("agent-history-a-c", { value: "{" }, noEntry);
    watch.reset();
    await expect(histories.saveHistory("a", "c", [say("x".repeat(1000))])).rejects.toThrow(EntryTooLarge);
    expect(watch.writes).toEqual([]);
  });
});

describe("a damaged entry", () => {
  it.each([
    ["cut off", '{"agentId": "a", "chatId": "c", "history": [{"role": "us'],
    ["empty", ""],
    ["another value", "[1, 2]"],
    ["without a history", '{"agentId": "a", "chatId": "c", "size": 0}'],
    ["with a history that is no list", '{"agentId": "a", "chatId": "c", "history": {"0": {}}}'],
  ])("002-16 (%s) loads as empty, is logged, and is set aside by the next save", async (_, value) => {
    const { histories, backend, warnings } = open();
    await backend.put("agent-history-a-c", { value }, noEntry);
    expect(await histories.loadHistory("a", "c")).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/"a".*"c"/)]);
    await histories.saveHistory("a", "c", history);
    expect(await histories.loadHistory("a", "c")).toEqual(history);
    const aside = await asideIn(backend);
    expect(aside.value).toBe(value);
    expect(warnings).toEqual([expect.anything(), expect.stringContaining(aside.key)]);
  });

  it("002-16 is set aside also by a save that nobody loaded for", async () => {
    const { histories, backend } = open();
    await backend.put("agent-history-a-c", { value: "{" }, noEntry);
    await histories.saveHistory("a", "c", history);
    expect((await asideIn(backend)).value).toBe("{");
  });

  it("002-16 set aside within the same millisecond as another keeps its own key", async () => {
    const { histories, backend } = open();
    for (const value of ["{", "["]) {
      const revision = (await backend.get("agent-history-a-c"))?.revision ?? noEntry;
      await backend.put("agent-history-a-c", { value }, revision);
      await histories.saveHistory("a", "c", history);
    }
    const keys = await keysOf(backend, "aside-");
    const values = await Promise.all(keys.map(async (key) => (await backend.get(key))?.value));
    expect(values).toEqual(["{", "["]);
  });

  it("002-16 is never made by ourselves: a message nobody could read back is refused", async () => {
    const { histories } = open();
    await histories.saveHistory("a", "c", history);
    let deep: unknown = "bottom";
    for (let depth = 0; depth < 1000; depth++) deep = [deep];
    await expect(histories.saveHistory("a", "c", [{ role: "user", content: deep }])).rejects.toThrow(SyntaxError);
    const long = 10n ** 5000n;
    await expect(histories.saveHistory("a", "c", [{ role: "user", content: long }])).rejects.toThrow(SyntaxError);
    expect(await histories.loadHistory("a", "c")).toEqual(history);
  });
});

describe("a crash in the middle of a save", () => {
  it("002-17 leaves the old or the new document, wherever the process is killed", async () => {
    const file = join(temporaryFolder(), "histories.sqlite");
    const script = fileURLToPath(new URL("../support/saving-histories.ts", import.meta.url));
    let told = -1;
    for (let round = 0; round < 6; round++) {
      const child = spawn(process.execPath, ["--import", "tsx", script, file, String(told + 1)]);
      onTestFinished(() => void child.kill("SIGKILL"));
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      await once(child.stdout, "data");
      await sleep(20 + round * 13);
      child.kill("SIGKILL");
      await once(child, "close");
      const acknowledged = Number(output.trimEnd().split("\n").at(-1));

      const histories = openHistories({ file });
      const stored = await histories.loadHistory("agent", "chat");
      await histories.close();
      const versions = new Set(stored.map(({ content }) => Number(String(content).split(" ")[0])));
      expect(versions.size).toBe(1);
      const [version = -1] = versions;
      expect(stored).toHaveLength((version % 40) + 1);
      expect([acknowledged, acknowledged + 1]).toContain(version);
      told = version;
    }
  });

  it("002-17 leaves the old or the new document, at whichever byte the disk stopped", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "histories.sqlite");
    const older = [say("old ".repeat(3000))];
    const newer = [...older, say("new ".repeat(3000))];
    const first = openHistories({ file });
    await first.saveHistory("a", "c", older);
    await first.close();
    const second = openHistories({ file });
    onTestFinished(() => second.close());
    await second.saveHistory("a", "c", newer);
    const log = readFileSync(`${file}-wal`);
    expect(log.length).toBeGreaterThan(8192);

    const outcomes = new Set<string>();
    for (let cut = 0; cut <= log.length; cut = cut === log.length ? cut + 1 : Math.min(cut + 397, log.length)) {
      const copy = join(folder, `cut-${cut}.sqlite`);
      copyFileSync(file, copy);
      copyFileSync(`${file}-wal`, `${copy}-wal`);
      truncateSync(`${copy}-wal`, cut);
      const histories = openHistories({ file: copy });
      const loaded = await histories.loadHistory("a", "c");
      await histories.close();
      outcomes.add(loaded.length === 1 ? "old" : "new");
      expect(loaded).toEqual(loaded.length === 1 ? older : newer);
    }
    expect([...outcomes]).toEqual(["old", "new"]);
  });
});

describe("a file moved away under a running process", () => {
  it("takes no save with it: saves are refused until it is back", async () => {
    const file = join(temporaryFolder(), "histories.sqlite");
    const histories = openHistories({ backend: sqliteBackend(file), log: { warn: () => {} } });
    await histories.saveHistory("a", "c", history);
    renameSync(file, `${file}.old`);
    await expect(histories.saveHistory("a", "c", [...history, say("more")])).rejects.toThrow(UserError);
    expect(existsSync(file)).toBe(false);
    renameSync(`${file}.old`, file);
    await histories.saveHistory("a", "c", [...history, say("more")]);
    expect(await openHistories({ backend: sqliteBackend(file) }).loadHistory("a", "c")).toHaveLength(4);
  });
});

const nastyUnit = fc.constantFrom("\0", "\ud83d", "\udc00", "😀", "\u2028", "\\", '"', "0", "1", "é", "a");
