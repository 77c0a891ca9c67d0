/** The document driver: sessions kept as the history documents of design 002. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ChangedElsewhere, EntryTooLarge, openHistories } from "../../src/index.js";
import type { Row } from "../../src/message.js";
import { createDocumentStore, type DocumentOptions } from "../../src/session/document.js";
import { noEntry } from "../../src/session/document-backend.js";
import { openStore, type SessionOptions } from "../../src/session/open.js";
import { parsePythonJson } from "../../src/session/python-json.js";
import type { SessionHeader, SessionStore } from "../../src/session/store.js";
import { localIsoTime } from "../../src/util/clock.js";
import { entryAt, keysOf, sqliteBackend, watched } from "../support/backend.js";
import { handClock, openWorkspace } from "../support/workspace.js";

const say = (content: string): Row => ({ role: "user", content, timestamp: "2026-06-30T12:34:56.654321" });
const first = [say("hi"), { role: "assistant", content: "hello", timestamp: "2026-06-30T12:34:57.000001" }];
const entryKey = "agent-history-nanogate-telegram:1";
const header: SessionHeader = {
  key: "telegram:1",
  createdAt: "2026-06-30T12:00:00",
  updatedAt: "2026-06-30T12:34:56.654321",
  metadata: { title: "a chat" },
  lastConsolidated: 1,
};

function openDriver(options: Partial<DocumentOptions> = {}) {
  const watch = watched(sqliteBackend());
  const { backend } = watch;
  const clock = handClock("2026-06-30T12:34:56.654321");
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const reopen = (others: Partial<DocumentOptions> = {}): SessionStore =>
    createDocumentStore({ folder: "nowhere", backend, clock, log, ...options, ...others });
  return { watch, backend, clock, warnings, reopen, store: reopen() };
}

function openHouse(options: Partial<SessionOptions> = {}) {
  const house = openWorkspace();
  const open = () => {
    const sessions = house.open({ driver: "document", ...options });
    onTestFinished(() => sessions.close());
    return sessions;
  };
  return { ...house, open, file: join(house.folder, "histories.sqlite") };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function rowsOf(store: SessionStore, key: string): Promise<readonly Row[]> {
  const log = await store.open(key);
  return log.read(0, log.length);
}

async function damageEntry(backend: ReturnType<typeof sqliteBackend>, key: string, value: string): Promise<void> {
  const entry = await backend.get(key);
  await backend.put(key, { ...entry, value }, entry?.revision ?? noEntry);
}

describe("a session kept as a document", () => {
  it("002-1 is one entry of the five fields, the session key being the chat id; its header lies beside", async () => {
    const { store, backend, clock } = openDriver();
    clock.now = "2026-06-30T12:34:56.654321+02:00";
    await (await store.open("telegram:1")).append(header, first);
    expect(await keysOf(backend)).toEqual([entryKey]);
    expect(await entryAt(backend, entryKey)).toStrictEqual({
      agentId: "nanogate",
      chatId: "telegram:1",
      history: first,
      lastUpdated: "2026-06-30T10:34:56.654Z",
      size: 2,
    });
    expect(JSON.parse((await backend.get(entryKey))?.head ?? "")).toEqual({
      _type: "metadata",
      key: "telegram:1",
      created_at: header.createdAt,
      updated_at: header.updatedAt,
      metadata: { title: "a chat" },
      last_consolidated: 1,
    });
  });

  it("002-1 belongs to the agent that is configured", async () => {
    const { store, reopen, backend } = openDriver({ agentId: "helper" });
    await (await store.open("telegram:1")).append(header, first);
    expect(await keysOf(backend)).toEqual(["agent-history-helper-telegram:1"]);
    expect(await rowsOf(reopen({ agentId: "other" }), "telegram:1")).toEqual([]);
    expect(await all(reopen({ agentId: "other" }).list())).toEqual([]);
  });

  it("002-2 stays one entry as turns are added and when it is cleared", async () => {
    const { store, backend } = openDriver();
    const log = await store.open("telegram:1");
    await log.append(header, first);
    await log.append({ ...header, lastConsolidated: 2 }, [say("more")]);
    expect(log.length).toBe(3);
    expect(await entryAt(backend, entryKey)).toMatchObject({ size: 3, history: [...first, say("more")] });
    await log.replace({ ...header, lastConsolidated: 0 }, []);
    expect(log.length).toBe(0);
    expect(await entryAt(backend, entryKey)).toMatchObject({ size: 0, history: [] });
    expect(await keysOf(backend)).toEqual([entryKey]);
  });

  it("002-3 is not created by opening it, nor is the file", async () => {
    const house = openHouse();
    const session = await house.open().getOrCreate("telegram:1");
    expect(session.length).toBe(0);
    expect(await house.open().list()).toEqual([]);
    expect(existsSync(house.file)).toBe(false);
  });

  it("002-4 goes on in a new process: rows, times, metadata and cursor", async () => {
    const house = openHouse();
    const sessions = house.open();
    const session = await sessions.getOrCreate("telegram:1");
    session.addMessage("user", "naïve 日本語 \0 \ud800 🐈");
    session.addMessage("assistant", null, { tool_calls: [{ id: "1" }], cost: 1.5 });
    session.metadata["half\udc00"] = ["\0"];
    session.lastConsolidated = 1;
    await sessions.save(session);
    await sessions.close();
    house.clock.now = "2027-01-01T00:00:00";

    const again = await house.open().getOrCreate("telegram:1");
    expect(again.slice(0)).toEqual(session.slice(0));
    expect(again.metadata).toEqual({ "half\udc00": ["\0"] });
    expect(again.lastConsolidated).toBe(1);
    expect(again.createdAt).toBe("2026-06-30T12:34:56.654321");
    expect(again.updatedAt).toBe("2026-06-30T12:34:56.654321");
  });

  it("002-4 keeps numbers and the order of keys as Python has them, through any number of saves", async () => {
    const { store } = openDriver();
    const row = '{"role": "user", "b": 1.0, "2": 12345678901234567890, "1": -0.0, "__proto__": {"x": 1e+22}}';
    await (await store.open("telegram:1")).append(header, [parsePythonJson(row) as Row]);
    await (await store.open("telegram:1")).append(header, []);
    expect(await rowsOf(store, "telegram:1")).toStrictEqual([parsePythonJson(row)]);
  });

  it("002-5 takes one write a turn, value and header in one, and reads no cache", async () => {
    const { watch, reopen, clock } = openDriver();
    await (await reopen().open("telegram:1")).append(header, first);
    watch.reset();
    const log = await reopen().open("telegram:1");
    await log.append({ ...header, lastConsolidated: 2 }, [say("more")]);
    expect(watch.writes).toEqual([`put ${entryKey}`]);
    clock.now = "2027-06-30T12:34:56.654321";
    expect(await rowsOf(reopen(), "telegram:1")).toEqual([...first, say("more")]);
  });

  it("002-11 may be far larger than 256 KiB", async () => {
    const { store } = openDriver();
    const large = Array.from({ length: 500 }, (_, at) => say(`${at} ${"é".repeat(2000)}`));
    await (await store.open("telegram:1")).append(header, large);
    expect(await rowsOf(store, "telegram:1")).toEqual(large);
  });

  it("is not changed by whoever changes a row or metadata that was handed in or out", async () => {
    const { store } = openDriver();
    const log = await store.open("telegram:1");
    const row = { role: "user", content: "as it was" };
    const metadata = { title: "as it was" };
    await log.append({ ...header, metadata }, [row]);
    row.content = "changed";
    metadata.title = "changed";
    Object.assign(log.read(0, 1)[0] ?? {}, { content: "changed" });
    expect(log.header.metadata).toEqual({ title: "as it was" });
    await log.append(log.header, []);
    expect(await rowsOf(store, "telegram:1")).toEqual([{ role: "user", content: "as it was" }]);
  });
});

describe("histories and sessions in one store", () => {
  it("002-10 meet: what the dual-write version wrote is a session, unchanged until its next turn", async () => {
    const { store, backend, warnings } = openDriver();
    const value = JSON.stringify({
      agentId: "nanogate",
      chatId: "chat-uuid",
      history: first,
      lastUpdated: "2026-02-10T09:00:00.000Z",
      size: 2,
    });
    await backend.put("agent-history-nanogate-chat-uuid", { value }, noEntry);
    const since = localIsoTime(Date.parse("2026-02-10T09:00:00.000Z") * 1000);

    const log = await store.open("chat-uuid");
    expect(log.read(0, log.length)).toStrictEqual(first);
    expect(log.header).toMatchObject({ createdAt: since, updatedAt: since, metadata: {}, lastConsolidated: 0 });
    expect(await all(store.list())).toEqual([
      { key: "chat-uuid", createdAt: since, updatedAt: since, path: "agent-history-nanogate-chat-uuid" },
    ]);
    expect((await backend.get("agent-history-nanogate-chat-uuid"))?.value).toBe(value);
    await log.append(log.header, [say("more")]);
    expect(await rowsOf(store, "chat-uuid")).toEqual([...first, say("more")]);
    expect(await keysOf(backend)).toEqual(["agent-history-nanogate-chat-uuid"]);
    expect(warnings).toEqual([]);
  });

  it("002-1 meet: a saved history keeps the header of the session", async () => {
    const { store, backend } = openDriver();
    await (await store.open("telegram:1")).append(header, first);
    const histories = openHistories({ backend });
    expect(await histories.loadHistory("nanogate", "telegram:1")).toEqual(first);
    await histories.saveHistory("nanogate", "telegram:1", [say("a summary"), ...first]);
    const log = await store.open("telegram:1");
    expect(log.read(0, log.length)).toEqual([say("a summary"), ...first]);
    expect(log.header).toEqual(header);
  });

  it("002-2 meet: a cursor beyond what somebody else shortened points to the start again", async () => {
    const { store, backend } = openDriver();
    await (await store.open("telegram:1")).append({ ...header, lastConsolidated: 2 }, first);
    await openHistories({ backend }).saveHistory("nanogate", "telegram:1", [say("a summary")]);
    expect((await store.open("telegram:1")).header.lastConsolidated).toBe(0);
  });
});

describe("the list of sessions", () => {
  it("names each by its key and its entry, without reading the conversations", async () => {
    const { store, watch } = openDriver();
    for (const key of ["telegram:1", "telegram:10", "heartbeat"]) {
      await (await store.open(key)).append({ ...header, key }, first);
    }
    watch.reset();
    const { createdAt, updatedAt } = header;
    expect((await all(store.list())).sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { key: "heartbeat", createdAt, updatedAt, path: "agent-history-nanogate-heartbeat" },
      { key: "telegram:1", createdAt, updatedAt, path: entryKey },
      { key: "telegram:10", createdAt, updatedAt, path: `${entryKey}0` },
    ]);
    expect(watch.calls).toEqual(["list agent-history-nanogate-"]);
  });

  it("is complete however many there are", async () => {
    const { store } = openDriver();
    const keys = Array.from({ length: 600 }, (_, at) => `telegram:${at}`);
    for (const key of keys) await (await store.open(key)).append({ ...header, key }, []);
    expect((await all(store.list())).map(({ key }) => key).sort()).toEqual(keys.sort());
  });

  it("leaves out what was set aside", async () => {
    const { store, backend } = openDriver();
    await backend.put(entryKey, { value: "{" }, noEntry);
    await (await store.open("telegram:1")).append(header, first);
    expect(await keysOf(backend)).toHaveLength(2);
    expect(await all(store.list())).toHaveLength(1);
  });
});

describe("session keys that look alike", () => {
  it("002-13 never share an entry, also across agents", async () => {
    const { reopen, backend } = openDriver();
    const owners = [
      ["a-b", "c"],
      ["a", "b-c"],
      ["a", "-100123"],
      ["a", "100123"],
      ["a-", "100123"],
      ["a", "ABC"],
      ["a", "abc"],
      ["a", "user@x.y"],
      ["a", "user-x-y"],
      ["a", "nul\0"],
      ["a", "nul\ufffd"],
    ] as const;
    for (const [agentId, key] of owners) {
      await (await reopen({ agentId }).open(key)).append({ ...header, key }, [say(`${agentId}|${key}`)]);
    }
    expect(await keysOf(backend)).toHaveLength(owners.length);
    for (const [agentId, key] of owners) {
      expect(await rowsOf(reopen({ agentId }), key)).toEqual([say(`${agentId}|${key}`)]);
    }
    const listed = await all(reopen({ agentId: "a" }).list());
    expect(listed.map(({ key }) => key).sort()).toEqual(
      owners
        .filter(([agentId]) => agentId === "a")
        .map(([, key]) => key)
        .sort(),
    );
    const verified = await all(reopen({ agentId: "a" }).verify({ repair: false }));
    expect(verified.map(({ key }) => key).sort()).toEqual(listed.map(({ key }) => key).sort());
  });
});

describe("a session that somebody else writes to", () => {
  it("is not overwritten: append and replace are refused", async () => {
    const { store, reopen } = openDriver();
    const ours = await store.open("telegram:1");
    const theirs = await reopen().open("telegram:1");
    expect(await ours.isCurrent()).toBe(true);
    await theirs.append(header, first);
    expect(await ours.isCurrent()).toBe(false);
    await expect(ours.append(header, [say("ours")])).rejects.toThrow(ChangedElsewhere);
    await expect(ours.replace(header, [])).rejects.toThrow(ChangedElsewhere);
    const again = await store.open("telegram:1");
    await theirs.append(header, [say("more")]);
    await expect(again.append(header, [say("ours")])).rejects.toThrow(ChangedElsewhere);
    expect(await rowsOf(store, "telegram:1")).toEqual([...first, say("more")]);
  });

  it("keeps the turns of both, each side's in its order", async () => {
    const house = openHouse();
    const turns = 15;
    await Promise.all(
      ["ann", "bob", "eve"].map(async (who) => {
        const sessions = house.open();
        for (let turn = 0; turn < turns; turn++) {
          const session = await sessions.getOrCreate("telegram:1");
          session.addMessage("user", `${who} ${turn}`);
          await sessions.save(session);
        }
      }),
    );
    const session = await house.open().getOrCreate("telegram:1");
    const said = session.slice(0).map(({ content }) => String(content));
    expect(said).toHaveLength(3 * turns);
    for (const who of ["ann", "bob", "eve"]) {
      expect(said.filter((text) => text.startsWith(who))).toEqual(
        Array.from({ length: turns }, (_, turn) => `${who} ${turn}`),
      );
    }
  });
});

describe("a store that fails", () => {
  it("002-6 on reading opens no session: there is nothing that a save could wipe", async () => {
    const { store, watch } = openDriver();
    await (await store.open("telegram:1")).append(header, first);
    watch.breaks = (call) => call === "get";
    await expect(store.open("telegram:1")).rejects.toThrow("get is out of order");
    watch.reset();
    expect(await rowsOf(store, "telegram:1")).toEqual(first);
  });

  it("002-7 on writing tells the caller, and the log goes on from what is stored", async () => {
    const { store, watch } = openDriver();
    const log = await store.open("telegram:1");
    await log.append(header, first);
    watch.breaks = (call) => call === "put";
    await expect(log.append(header, [say("lost")])).rejects.toThrow("put is out of order");
    watch.reset();
    expect(log.read(0, log.length)).toEqual(first);
    await log.append(header, [say("kept")]);
    expect(await rowsOf(store, "telegram:1")).toEqual([...first, say("kept")]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7])("002-12 at call %i of a turn on a damaged entry loses nothing", async (k) => {
    const { store, watch, backend } = openDriver();
    await backend.put(entryKey, { value: "damaged, but dear" }, noEntry);
    watch.reset();
    watch.breaks = (_, count) => count === k;
    const turn = async (): Promise<void> => (await store.open("telegram:1")).append(header, first);
    const saved = await turn().then(
      () => true,
      () => false,
    );
    watch.reset();
    expect(await rowsOf(store, "telegram:1")).toEqual(saved ? first : []);
    const kept = await Promise.all((await keysOf(backend)).map(async (key) => (await backend.get(key))?.value));
    expect(kept).toContain("damaged, but dear");
  });
});

describe("a session over the limit", () => {
  it("002-15 is refused before anything is written, and is what it was before the turn", async () => {
    const house = openHouse({ maxEntryBytes: 2000 });
    const sessions = house.open();
    const session = await sessions.getOrCreate("telegram:1");
    session.addMessage("user", "short");
    await sessions.save(session);
    session.addMessage("user", "x".repeat(2000));
    await expect(sessions.save(session)).rejects.toThrow(EntryTooLarge);
    expect((await house.open().getOrCreate("telegram:1")).slice(0)).toEqual([
      { role: "user", content: "short", timestamp: house.clock.now },
    ]);
    const again = await sessions.getOrCreate("telegram:1");
    again.clear();
    again.addMessage("user", "anew");
    await sessions.save(again);
    expect((await house.open().getOrCreate("telegram:1")).length).toBe(1);
  });

  it("002-15 counts the header too", async () => {
    const { store } = openDriver({ maxEntryBytes: 1000 });
    const log = await store.open("telegram:1");
    const large = { ...header, metadata: { note: "x".repeat(1000) } };
    await expect(log.append(large, [])).rejects.toThrow(EntryTooLarge);
  });
});

describe("a damaged entry", () => {
  const good = '{"agentId": "nanogate", "chatId": "telegram:1", "history": [{"n": 1}, 2, {"n": 3}], "size": 3}';

  it("002-16 opens as empty and logged; opening changes nothing, the next save sets it aside", async () => {
    const { store, backend, warnings, watch } = openDriver();
    await (await store.open("telegram:1")).append(header, first);
    await damageEntry(backend, entryKey, '{"agentId": "nan');
    watch.reset();
    const log = await store.open("telegram:1");
    expect(log.length).toBe(0);
    expect(log.header).toMatchObject({ createdAt: header.createdAt, metadata: header.metadata, lastConsolidated: 0 });
    expect(watch.writes).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/telegram:1.*not valid JSON/)]);
    await log.append(log.header, [say("anew")]);
    const [aside = ""] = await keysOf(backend, "aside-");
    expect((await backend.get(aside))?.value).toBe('{"agentId": "nan');
    expect(warnings.at(-1)).toContain(aside);
    expect(await rowsOf(store, "telegram:1")).toEqual([say("anew")]);
    await log.append(log.header, [say("more")]);
    expect(await keysOf(backend, "aside-")).toEqual([aside]);
  });

  it("002-16 costs only what is damaged: the other messages are there", async () => {
    const { store, backend, warnings } = openDriver();
    await backend.put(entryKey, { value: good }, noEntry);
    const log = await store.open("telegram:1");
    expect(log.read(0, log.length)).toEqual([{ n: 1 }, { n: 3 }]);
    expect(warnings).toEqual([expect.stringContaining("message 2")]);
    await log.append(log.header, [say("more")]);
    expect(await rowsOf(store, "telegram:1")).toEqual([{ n: 1 }, { n: 3 }, say("more")]);
    const [aside = ""] = await keysOf(backend, "aside-");
    expect((await backend.get(aside))?.value).toBe(good);
  });

  it("002-16 is not set aside twice for a save that is refused because somebody else repaired it", async () => {
    const { store, backend } = openDriver();
    await backend.put(entryKey, { value: "{" }, noEntry);
    const log = await store.open("telegram:1");
    await (await store.open("telegram:1")).append(header, first);
    await expect(log.append(header, [say("ours")])).rejects.toThrow(ChangedElsewhere);
    expect(await keysOf(backend, "aside-")).toHaveLength(1);
  });

  it("is named by verify, and repair keeps what is left and sets the original aside", async () => {
    const { store, backend } = openDriver();
    await (await store.open("telegram:2")).append({ ...header, key: "telegram:2" }, first);
    await backend.put(entryKey, { value: good, head: "no header" }, noEntry);
    await backend.put("agent-history-nanogate-telegram:3", { value: "{" }, noEntry);
    const expected = [
      {
        key: "telegram:1",
        path: entryKey,
        rows: 2,
        damage: [
          { file: entryKey, line: 2, reason: "not a JSON object" },
          { file: entryKey, line: 0, reason: "the header is not readable" },
        ],
      },
      { key: "telegram:2", path: "agent-history-nanogate-telegram:2", rows: 2, damage: [] },
      {
        key: "telegram:3",
        path: "agent-history-nanogate-telegram:3",
        rows: 0,
        damage: [{ file: "agent-history-nanogate-telegram:3", line: 0, reason: "not valid JSON" }],
      },
    ];
    expect(await all(store.verify({ repair: false }))).toEqual(expected);
    const repaired = await all(store.verify({ repair: true }));
    expect(repaired).toMatchObject(expected);
    const asides = repaired.flatMap(({ setAside }) => setAside ?? []);
    expect(await Promise.all(asides.map(async (key) => (await backend.get(key))?.value))).toEqual([good, "{"]);
    expect((await all(store.verify({ repair: false }))).flatMap(({ damage }) => damage)).toEqual([]);
    expect(await rowsOf(store, "telegram:1")).toEqual([{ n: 1 }, { n: 3 }]);
  });

  it("that cannot even be read is named, and the others are still looked at", async () => {
    const { store, watch } = openDriver();
    for (const key of ["telegram:1", "telegram:2"]) await (await store.open(key)).append({ ...header, key }, first);
    watch.reset();
    watch.breaks = (call, count) => call === "get" && count === 2;
    expect(await all(store.verify({ repair: false }))).toMatchObject([
      { key: "telegram:1", rows: 0, damage: [{ reason: "get is out of order" }] },
      { key: "telegram:2", rows: 2, damage: [] },
    ]);
  });

  it("under a key that is not its own is named and left alone", async () => {
    const { store, backend } = openDriver();
    const value = '{"agentId": "nanogate", "chatId": "telegram:2", "history": [{"n": 1}], "size": 1}';
    await backend.put(entryKey, { value }, noEntry);
    expect(await rowsOf(store, "telegram:1")).toEqual([]);
    expect(await all(store.verify({ repair: true }))).toMatchObject([
      { path: entryKey, damage: [{ reason: expect.stringContaining('"telegram:2"') }] },
    ]);
    expect((await backend.get(entryKey))?.value).toBe(value);
  });

  it("is not repaired into a shadow over the healthy entry of a session that looks alike", async () => {
    const { reopen, backend, watch } = openDriver();
    await (await reopen({ agentId: "a-b" }).open("c")).append({ ...header, key: "c" }, first);
    await (await reopen({ agentId: "a" }).open("b-c")).append({ ...header, key: "b-c" }, [say("healthy")]);
    const entry = await backend.get("agent-history-a-b-c");
    await backend.put("agent-history-a-b-c", { value: "{" }, entry?.revision ?? noEntry);
    watch.reset();
    await all(reopen({ agentId: "a" }).verify({ repair: true }));
    expect(watch.writes).toEqual([]);
    expect(await rowsOf(reopen({ agentId: "a" }), "b-c")).toEqual([say("healthy")]);
  });
});

describe("the driver's file", () => {
  it("is histories.sqlite in the sessions folder, and holds everything once the store is closed", async () => {
    const house = openHouse();
    const store = openStore({ workspace: house.workspace, driver: "document", clock: house.clock, log: house.log });
    expect(await store.files()).toEqual([]);
    await (await store.open("telegram:1")).append(header, first);
    expect(await store.files()).toContain(house.file);
    await store.close();
    const elsewhere = openWorkspace({ "histories.sqlite": house.bytes("histories.sqlite") });
    const copy = openStore({ workspace: elsewhere.workspace, driver: "document" });
    onTestFinished(() => copy.close());
    expect(await rowsOf(copy, "telegram:1")).toEqual(first);
  });
});
