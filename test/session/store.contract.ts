/** What every session driver owes the rest: the same cases for all of them. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Row, SessionKey } from "../../src/message.js";
import { type DriverName, openStore, type SessionOptions } from "../../src/session/open.js";
import { objectInOrder, parsePythonJson, pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { ChangedElsewhere, type SessionHeader, type SessionLog, type SessionStore } from "../../src/session/store.js";
import { openWorkspace } from "../support/workspace.js";

const key = "telegram:42";

/** Rows as they come off a disk: with everything that JavaScript's own JSON would change. */
const parsed = (text: string): Row => parsePythonJson(text) as Row;
const rows: readonly Row[] = [
  parsed('{"role": "user", "content": "hé 🎈 \\u0000\\u001f\\u2028", "timestamp": "2026-01-01T00:00:00.000001"}'),
  parsed(
    '{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1.0}"}}]}',
  ),
  parsed(
    '{"role": "tool", "tool_call_id": "c1", "name": "f", "content": "", "n": [1, 1.0, -0.0, 1e16, 1e-05, 12345678901234567890, NaN, Infinity]}',
  ),
  parsed(
    '{"role": "assistant", "content": [], "10": 1, "9": {"b": 2, "a": 1}, "__proto__": {"x": 1}, "constructor": 2, "latency_ms": 12.5}',
  ),
];
const texts = (list: readonly Row[]): string[] => list.map((row) => pythonJson(row));
const say = (content: string): Row => ({ role: "user", content });
const contents = (log: SessionLog): unknown[] => log.read(0, log.length).map((row) => row["content"]);

export function storeContract(driver: DriverName): void {
  /** A database takes any text; a file and its name take what is UTF-8. */
  const takesAnyText = driver === "document";
  /** Chunk files have no place for it: the time of their last change stands in. */
  const keepsUpdatedAt = driver !== "chunked";
  const house = () => {
    const workspace = openWorkspace();
    return {
      ...workspace,
      /** A store that knows nothing of the others: another process, or this one after a restart. */
      store: (): SessionStore => {
        const { clock, log } = workspace;
        const store = openStore({ workspace: workspace.workspace, driver, clock, log, segmentSize: 3 });
        onTestFinished(() => store.close());
        return store;
      },
      open: (options: Partial<SessionOptions> = {}) => workspace.open({ driver, segmentSize: 3, ...options }),
    };
  };
  const headerOf = (log: SessionLog, more: Partial<SessionHeader> = {}): SessionHeader => ({
    ...log.header,
    updatedAt: "2026-02-02T02:02:02.000002",
    ...more,
  });

  describe(`${driver}: one conversation`, () => {
    it("nobody has written yet is empty, and opening leaves no trace (004-4)", async () => {
      const { store, clock, folder } = house();
      const before = snapshot(folder);
      const log = await store().open(key);
      expect(log.length).toBe(0);
      expect(log.read(0, 10)).toEqual([]);
      expect(log.header).toEqual({ key, createdAt: clock(), updatedAt: clock(), metadata: {}, lastConsolidated: 0 });
      expect(await log.isCurrent()).toBe(true);
      expect(snapshot(folder)).toEqual(before);
    });

    it("gives its rows back in order, with all fields in order and every number exact (004-3, 004-7)", async () => {
      const { store } = house();
      const log = await store().open(key);
      await log.append(headerOf(log), rows.slice(0, 1));
      await log.append(headerOf(log), rows.slice(1));
      for (const found of [log, await store().open(key)]) {
        expect(found.length).toBe(rows.length);
        expect(texts(found.read(0, found.length))).toEqual(texts(rows));
      }
    });

    it("appends a turn as one unit, an empty one too", async () => {
      const { store } = house();
      const log = await store().open(key);
      await log.append(headerOf(log), []);
      expect((await store().open(key)).length).toBe(0);
      const turns = [1, 2, 5, 3, 7].map((count, turn) => Array.from({ length: count }, (_, n) => say(`${turn}.${n}`)));
      for (const turn of turns) {
        await log.append(headerOf(log), turn);
        expect(await log.isCurrent()).toBe(true);
      }
      expect(contents(log)).toEqual(turns.flat().map((row) => row["content"]));
      expect(contents(await store().open(key))).toEqual(contents(log));
    });

    it("keeps its header over a reopen: times, metadata whatever its keys, cursor (004-2, 004-22)", async () => {
      const { store } = house();
      const metadata = parsePythonJson(
        '{"": 1, "__proto__": {"polluted": true}, "constructor": null, "toString": 1.0, "10": "b", "9": "a", "a.b": 1, "a/b": 2, "$set": 3, "\\u0000": 4, "🎈": {"__proto__": 1}, "key": "x", "big": 12345678901234567890}',
      ) as Record<string, PythonValue>;
      const log = await store().open(key);
      const header = headerOf(log, { createdAt: "2020-02-02T20:20:20+02:00", metadata, lastConsolidated: 2 });
      await log.append(header, rows);
      for (const found of [log, await store().open(key)]) {
        const { metadata: read, ...others } = found.header;
        expect(others).toMatchObject({ key, createdAt: header.createdAt, lastConsolidated: 2 });
        if (keepsUpdatedAt) expect(others.updatedAt).toBe(header.updatedAt);
        expect(pythonJson(read)).toBe(pythonJson(metadata));
      }
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      const shorter = headerOf(log, { metadata: objectInOrder([["just", "this"]]), lastConsolidated: 0 });
      await log.append(shorter, []);
      expect(pythonJson((await store().open(key)).header.metadata)).toBe('{"just": "this"}');
      expect((await store().open(key)).header.createdAt).toBe("2020-02-02T20:20:20+02:00");
    });

    it("reads any range of rows, and a range that is partly or wholly outside", async () => {
      const { store } = house();
      const all = Array.from({ length: 300 }, (_, number) => say(`row ${number}`));
      const log = await store().open(key);
      await log.append(headerOf(log), all.slice(0, 200));
      await log.append(headerOf(log), all.slice(200));
      const edges = [-5, 0, 1, 3, 127, 128, 129, 200, 256, 299, 300, 1000];
      for (const found of [log, await store().open(key)]) {
        for (const from of edges) {
          for (const to of edges) {
            const expected = all.slice(Math.max(0, from), Math.max(0, to));
            expect([from, to, found.read(from, to)]).toEqual([from, to, expected]);
          }
        }
      }
      await log.append(headerOf(log), [...all, ...all]);
      for (const [from, to] of [
        [890, 10],
        [850, 880],
        [100, 890],
        [0, 900],
        [899, 901],
      ] as const) {
        const fresh = await store().open(key);
        expect(texts(fresh.read(from, to))).toEqual(texts([...all, ...all, ...all].slice(from, to)));
      }
    });

    it("is replaced as a whole", async () => {
      const { store } = house();
      const log = await store().open(key);
      await log.append(headerOf(log, { metadata: { a: 1 } }), rows);
      await log.replace(headerOf(log, { metadata: { b: 2 }, lastConsolidated: 0 }), [say("new")]);
      for (const found of [log, await store().open(key)]) {
        expect(contents(found)).toEqual(["new"]);
        expect(found.header.metadata).toEqual({ b: 2 });
      }
      await log.replace(headerOf(log), []);
      expect((await store().open(key)).length).toBe(0);
      await log.append(headerOf(log), rows);
      expect(texts((await store().open(key)).read(0, 9))).toEqual(texts(rows));
    });

    it("refuses a row that it cannot hold, and is as it was before", async () => {
      const { store, folder } = house();
      const log = await store().open(key);
      await log.append(headerOf(log), rows);
      const before = snapshot(folder);
      if (takesAnyText) {
        await log.append(headerOf(log), [say("fine"), say("\ud83d")]);
        return expect(contents(await store().open(key)).at(-1)).toBe("\ud83d");
      }
      await expect(log.append(headerOf(log), [say("fine"), say("\ud83d")])).rejects.toThrow("telegram:42");
      await expect(log.replace(headerOf(log), [say("fine"), say("\ud83d")])).rejects.toThrow("telegram:42");
      expect(snapshot(folder)).toEqual(before);
      expect(log.length).toBe(rows.length);
      await log.append(headerOf(log), [say("next")]);
      expect((await store().open(key)).length).toBe(rows.length + 1);
    });

    it("takes messages of 1.5 MiB (004-19)", async () => {
      const { store } = house();
      const long = say("é🎈x".repeat((3 << 19) / 7));
      const log = await store().open(key);
      await log.append(headerOf(log), [say("before"), long]);
      await log.append(headerOf(log), [long, say("after")]);
      const found = await store().open(key);
      expect(found.length).toBe(4);
      expect(contents(found).map((content) => content === long["content"])).toEqual([false, true, true, false]);
    });
  });

  describe(`${driver}: somebody else writing`, () => {
    const writes = [
      ["append", (log: SessionLog) => log.append(headerOf(log), [say("mine")])],
      ["replace", (log: SessionLog) => log.replace(headerOf(log), [say("mine")])],
    ] as const;
    const foreign = [
      ["appended a row", (log: SessionLog) => log.append(headerOf(log), [say("theirs")])],
      ["changed the header", (log: SessionLog) => log.append(headerOf(log, { metadata: { title: "t" } }), [])],
      ["moved only a digit of the header", (log: SessionLog) => log.append(headerOf(log, { lastConsolidated: 1 }), [])],
      ["replaced everything", (log: SessionLog) => log.replace(headerOf(log), [say("theirs")])],
    ] as const;
    const cases = writes.flatMap(([name, write]) => foreign.map(([what, act]) => ({ name, write, what, act })));

    it.each(cases)("who $what: $name is refused and touches nothing", async ({ write, act }) => {
      const { store, folder } = house();
      const first = await store().open(key);
      await first.append(headerOf(first), rows);
      const log = await store().open(key);
      await act(await store().open(key));
      const after = snapshot(folder);
      await expect(write(log)).rejects.toThrow(ChangedElsewhere);
      expect(await log.isCurrent()).toBe(false);
      expect(snapshot(folder)).toEqual(after);
      await expect(write(log)).rejects.toThrow(ChangedElsewhere);
      const fresh = await store().open(key);
      await write(fresh);
      expect(contents(await store().open(key)).at(-1)).toBe("mine");
    });

    it.each(writes)("who wrote the very first row: %s is refused", async (_, write) => {
      const { store } = house();
      const log = await store().open(key);
      const other = await store().open(key);
      await other.append(headerOf(other), [say("theirs")]);
      expect(await log.isCurrent()).toBe(false);
      await expect(write(log)).rejects.toThrow(ChangedElsewhere);
      expect(contents(await store().open(key))).toEqual(["theirs"]);
    });
  });

  describe(`${driver}: keys`, () => {
    /** Every set holds keys that some naming rule maps to one name. */
    const collisions: readonly (readonly SessionKey[])[] = [
      ["a:b", "a_b", "a/b", "a\\b", "a?b", "a*b", 'a"b', "a<b", "a>b", "a|b", "a.b", "a b", "a-b", "a%3Ab", "a%b"],
      ["telegram:a_b", "telegram:a:b", "telegram_a:b"],
      ["x:y ", "x:y", " x:y", "x:y\t", "x:y\u00a0"],
      ["case:Key", "case:key", "CASE:KEY"],
      ["nfc:\u00e9", "nfc:e\u0301"],
      ["", " ", "\n"],
      [".", "..", "../a", "/a", "_a"],
      ["telegram:123", "dGVsZWdyYW06MTIz"],
      ["session-a.1", "session-a", "session-a:1", "a.index"],
      ["toString", "__proto__", "constructor", "hasOwnProperty"],
      ["a:b~c3a1", "con", "nul:1", "a:b.jsonl", "a:b.1.jsonl", "a:b.damaged-1"],
    ];

    it.each(collisions)("%j, %j, … never share a byte of history (002-13, 004-18)", async (...all) => {
      const { store } = house();
      const asked = await Promise.allSettled(all.map((each) => store().open(each)));
      const refused = asked.flatMap((result, at) => (result.status === "rejected" ? [[all[at], result.reason]] : []));
      if (driver !== "chunked") expect(refused).toEqual([]);
      for (const [each, reason] of refused) expect(String(reason)).toContain(JSON.stringify(each));
      const logs = asked.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      const keys = logs.map((log) => log.header.key);
      for (const [number, log] of logs.entries()) {
        const mine = say(`of ${JSON.stringify(keys[number])}`);
        try {
          await log.append(headerOf(log), [mine]);
        } catch (error) {
          // Two new conversations wanted one name; the later one finds another when it looks again.
          expect(error).toBeInstanceOf(ChangedElsewhere);
          const again = await store().open(log.header.key);
          await again.append(headerOf(again), [mine]);
        }
      }
      for (const each of keys.toReversed()) {
        const log = await store().open(each);
        expect([each, contents(log)]).toEqual([each, [`of ${JSON.stringify(each)}`]]);
        expect(log.header.key).toBe(each);
        await log.append(headerOf(log, { metadata: { of: each } }), [say(`again ${JSON.stringify(each)}`)]);
      }
      for (const each of keys) {
        const log = await store().open(each);
        expect(contents(log)).toEqual([`of ${JSON.stringify(each)}`, `again ${JSON.stringify(each)}`]);
        expect(log.header.metadata).toEqual({ of: each });
      }
      const listed = [];
      for await (const summary of store().list()) listed.push(summary.key);
      expect(listed.sort()).toEqual([...keys].sort());
    });

    it.each(["telegram:\u0000", "a:\ud800", "\udc00:b", `telegram:${"x".repeat(300)}`])(
      "%j is refused with an error that names it, unless it can be stored",
      async (bad) => {
        const { store, folder } = house();
        const before = snapshot(folder);
        if (takesAnyText) {
          const log = await store().open(bad);
          await log.append(headerOf(log), [say("x")]);
          return expect((await store().open(bad)).header.key).toBe(bad);
        }
        await expect(store().open(bad)).rejects.toThrow(JSON.stringify(bad));
        expect(snapshot(folder)).toEqual(before);
      },
    );
  });

  describe(`${driver}: all conversations`, () => {
    it("are listed with their times, each once", async () => {
      const { store } = house();
      const keys = ["telegram:1", "discord:2", "cli:direct", "heartbeat", "slack:C1:1700.123"];
      for (const each of keys) {
        const log = await store().open(each);
        await log.append(headerOf(log, { createdAt: "2026-01-01T00:00:00" }), rows);
      }
      const found = [];
      for await (const summary of store().list()) found.push(summary);
      expect(found.map((summary) => summary.key).sort()).toEqual([...keys].sort());
      for (const { createdAt, updatedAt, path } of found) {
        expect(createdAt).toBe("2026-01-01T00:00:00");
        expect(updatedAt).toMatch(keepsUpdatedAt ? "2026-02-02T02:02:02.000002" : /^20..-..-..T/);
        expect(path).not.toBe("");
      }
    });

    it("are found healthy by verify, and repair changes nothing then", async () => {
      const { store, folder } = house();
      for (const each of ["telegram:1", "telegram:2", "a:b", "a_b", ""]) {
        const log = await store().open(each);
        await log.append(headerOf(log), [...rows, ...rows]);
        await log.append(headerOf(log, { metadata: { each } }), rows).catch(() => {});
      }
      const before = snapshot(folder);
      for (const repair of [false, true]) {
        const found = [];
        for await (const result of store().verify({ repair })) found.push(result);
        expect(found.map((result) => result.key).sort()).toEqual(["", "a:b", "a_b", "telegram:1", "telegram:2"]);
        expect(found.map((result) => [result.rows, result.damage])).toEqual(found.map(() => [12, []]));
        expect(snapshot(folder)).toEqual(before);
      }
    });

    it("are verified alone when only one is asked for", async () => {
      const { store } = house();
      for (const each of ["a:b", "a_b", "c:d"]) {
        const log = await store().open(each);
        await log.append(headerOf(log), each === "a_b" ? rows.slice(0, 1) : rows);
      }
      const verified = async (only: string) => {
        const found = [];
        for await (const { key, rows: count } of store().verify({ repair: false, only })) found.push([key, count]);
        return found;
      };
      expect(await verified("a:b")).toEqual([["a:b", rows.length]]);
      expect(await verified("a_b")).toEqual([["a_b", 1]]);
      expect(await verified("unknown:1")).toEqual([]);
    });

    it("have lines where they are files of lines: each is its row", async () => {
      const { store } = house();
      const log = await store().open("telegram:1");
      const many = Array.from({ length: 300 }, (_, number) => ({ role: "user", content: `row ${number}` }));
      await log.append(headerOf(log), many).catch(() => {});
      const again = await store().open("telegram:1");
      if (!again.lines) return;
      for (const [from, to] of [
        [0, 300],
        [295, 400],
        [127, 129],
        [5, 5],
        [-3, 2],
      ] as const) {
        const lines = again.lines(from, to);
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(again.read(from, to));
      }
    });

    it("of an empty workspace are none", async () => {
      const { store } = house();
      for await (const summary of store().list()) expect(summary).toBeUndefined();
      for await (const result of store().verify({ repair: true })) expect(result).toBeUndefined();
    });
  });

  describe(`${driver}: many at once`, () => {
    it("100 first accesses of one key get the same object (004-5)", async () => {
      const { open } = house();
      const sessions = open();
      const found = await Promise.all(Array.from({ length: 100 }, () => sessions.getOrCreate(key)));
      expect(new Set(found).size).toBe(1);
    });

    it("saves of many sessions do not mix", async () => {
      const { open } = house();
      const sessions = open();
      const keys = Array.from({ length: 40 }, (_, number) => `telegram:${number}`);
      await Promise.all(
        keys.map(async (each) => {
          for (let turn = 0; turn < 3; turn++) {
            const session = await sessions.getOrCreate(each);
            session.addMessage("user", `${each} ${turn}`);
            session.addMessage("assistant", "ok");
            await sessions.save(session);
          }
        }),
      );
      await sessions.close();
      const later = open();
      for (const each of keys) {
        const said = (await later.getOrCreate(each)).slice(0).map((row) => row["content"]);
        expect(said).toEqual([0, 1, 2].flatMap((turn) => [`${each} ${turn}`, "ok"]));
      }
      expect((await later.list()).length).toBe(keys.length);
    });

    it("saves of one session at once keep every row once and in order", async () => {
      const { open } = house();
      const sessions = open();
      const session = await sessions.getOrCreate(key);
      const saves = Array.from({ length: 30 }, (_, number) => {
        session.addMessage("user", number);
        return sessions.save(session);
      });
      await Promise.all(saves);
      const found = (await open().getOrCreate(key)).slice(0).map((row) => row["content"]);
      expect(found).toEqual(Array.from({ length: 30 }, (_, number) => number));
    });

    it("two managers on one workspace lose nothing of each other", async () => {
      const { open } = house();
      const managers = [open(), open(), open()];
      await Promise.all(
        managers.map(async (sessions, who) => {
          for (let turn = 0; turn < 8; turn++) {
            const session = await sessions.getOrCreate(key);
            session.addMessage("user", `${who} asks ${turn}`);
            session.addMessage("assistant", `${who} hears ${turn}`);
            await sessions.save(session);
          }
        }),
      );
      const said = (await open().getOrCreate(key)).slice(0).map((row) => String(row["content"]));
      expect(said.length).toBe(48);
      for (const who of [0, 1, 2]) {
        const own = said.filter((text) => text.startsWith(`${who} asks`));
        expect(own).toEqual(Array.from({ length: 8 }, (_, turn) => `${who} asks ${turn}`));
        for (const text of own) expect(said[said.indexOf(text) + 1]).toBe(text.replace("asks", "hears"));
      }
    });
  });
}

/** Every file with its bytes, except what the lock and a database's own bookkeeping leave behind. */
function snapshot(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => !/\.lock(-journal)?$|-wal$|-shm$/.test(name) && statSync(join(folder, name)).isFile(),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "base64")]));
}
