/** The chunked driver against its requirements: 000-1 to 000-24. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, utimesSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { isTried } from "../support/thorough.js";
import type { Row } from "../../src/message.js";
import { openStore } from "../../src/session/open.js";
import { parsePythonJson, pythonJson } from "../../src/session/python-json.js";
import {
  ChangedElsewhere,
  type SessionLog,
  type SessionStore,
  type SessionSummary,
  type VerifyResult,
} from "../../src/session/store.js";
import { UserError } from "../../src/util/errors.js";
import { localIsoTime } from "../../src/util/clock.js";
import { openWorkspace } from "../support/workspace.js";

type House = ReturnType<typeof openWorkspace>;

const chunked = (house: House, segmentSize = 3): SessionStore =>
  openStore({ workspace: house.workspace, driver: "chunked", clock: house.clock, log: house.log, segmentSize });

const row = (content: string): Row => ({ role: "user", content, timestamp: "2026-06-30T12:00:00" });
const line = (content: string): string => `${pythonJson(row(content))}\n`;
const lines = (...contents: string[]): string => contents.map(line).join("");
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `m${from + at}`);

const add = (log: SessionLog, ...contents: string[]): Promise<void> => log.append(log.header, contents.map(row));
const contents = (rows: readonly Row[]): unknown[] => rows.map(({ content }) => content);
const all = (log: SessionLog): unknown[] => contents(log.read(0, log.length));
const newest = (log: SessionLog, count: number): unknown[] => contents(log.read(log.length - count, log.length));

/** A conversation of m1, m2, … mN, each written by itself. */
async function conversation(house: House, count: number, segmentSize = 3, key = "s"): Promise<SessionLog> {
  const log = await chunked(house, segmentSize).open(key);
  for (const content of numbered(1, count)) await add(log, content);
  return log;
}

const chunks = (house: House): string[] => house.names().filter((name) => name.endsWith(".jsonl"));
const countLines = (house: House, name: string): number => house.text(name).split("\n").length - 1;
const state = (house: House, name = "session-s.state.json") =>
  parsePythonJson(house.text(name)) as Readonly<Record<string, unknown>>;
const editState = (house: House, change: Readonly<Record<string, unknown>>): void =>
  writeFileSync(join(house.folder, "session-s.state.json"), `${pythonJson({ ...state(house), ...change })}\n`);
const hashes = (house: House, names: readonly string[] = house.names()): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, createHash("sha256").update(house.bytes(name)).digest("hex")]));

/** A chunk that no program can read, not even root's. */
function makeUnreadable(house: House, name: string): void {
  rmSync(join(house.folder, name));
  mkdirSync(join(house.folder, name));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
const list = (house: House): Promise<SessionSummary[]> => collect(chunked(house).list());
const verify = (house: House, repair = false): Promise<VerifyResult[]> => collect(chunked(house).verify({ repair }));

describe("writing", () => {
  it("names the first chunk with its index and leaves no other rows file (000-1)", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("telegram:42");
    expect(house.names()).toEqual([]);
    await log.append(log.header, []);
    expect(house.names()).toEqual(["session-telegram_42.1.jsonl", "session-telegram_42.state.json"]);
    expect(house.text("session-telegram_42.1.jsonl")).toBe("");
  });

  it("appends to a chunk with room and changes no other file (000-2)", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 4);
    const before = hashes(house);
    house.clock.now = "2026-07-01T00:00:00";
    await log.append({ ...log.header, updatedAt: house.clock.now }, [row("m5")]);
    expect(house.text("session-s.2.jsonl")).toBe(lines("m4", "m5"));
    expect({ ...hashes(house), "session-s.2.jsonl": "" }).toEqual({ ...before, "session-s.2.jsonl": "" });
  });

  it("begins the next chunk when the newest is full (000-3)", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 3);
    await add(log, "m4");
    expect(house.text("session-s.1.jsonl")).toBe(lines("m1", "m2", "m3"));
    expect(house.text("session-s.2.jsonl")).toBe(line("m4"));
  });

  it.each([1, 2, 4])("rolls lazily: exactly k·size rows leave k chunks, k = %i (000-4)", async (k) => {
    const house = openWorkspace();
    await conversation(house, 3 * k);
    expect(chunks(house)).toHaveLength(k);
  });

  it.each([1, 3, 7, 12, 20])("keeps %i rows in full chunks and a rest (000-5)", async (count) => {
    const house = openWorkspace();
    await conversation(house, count, 3);
    const sizes = chunks(house).map((name) => countLines(house, name));
    expect(sizes).toHaveLength(Math.ceil(count / 3));
    expect(sizes.slice(0, -1).every((size) => size === 3)).toBe(true);
  });

  it.each([1, 2, 3, 4, 8, 10])("spreads a turn of %i rows over as many chunks as it needs (000-5)", async (count) => {
    const house = openWorkspace();
    const log = await conversation(house, 2, 3);
    await add(log, ...numbered(3, 2 + count));
    expect(chunks(house)).toHaveLength(Math.ceil((2 + count) / 3));
    expect(state(house)["chunk_count"]).toBe(chunks(house).length);
    expect(all(log)).toEqual(numbered(1, 2 + count));
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 2 + count));
  });

  it("writes rows as Python prints them, and the state as nanobot's header with three counts", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("s");
    await log.append({ ...log.header, metadata: { mood: "größer" } }, [{ role: "user", content: "ü", n: null }]);
    expect(house.text("session-s.1.jsonl")).toBe('{"role": "user", "content": "ü", "n": null}\n');
    expect(house.text("session-s.state.json")).toBe(
      '{"_type": "metadata", "key": "s", "created_at": "2026-06-30T12:34:56.654321", ' +
        '"updated_at": "2026-06-30T12:34:56.654321", "metadata": {"mood": "größer"}, "last_consolidated": 0, ' +
        '"chunk_count": 1, "rows_before_newest": 0, "first_chunk": 1}\n',
    );
  });

  it("keeps metadata and cursor without touching a chunk", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 5);
    const before = hashes(house, chunks(house));
    await log.append({ ...log.header, metadata: { a: 1 }, lastConsolidated: 4 }, []);
    expect(hashes(house, chunks(house))).toEqual(before);
    expect((await chunked(house).open("s")).header).toMatchObject({ metadata: { a: 1 }, lastConsolidated: 4 });
  });

  it("takes a turn back whole when it cannot be written to the end", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 2);
    const before = hashes(house);
    const unprintable = { ...log.header, metadata: { half: "\ud800" } };
    await expect(log.append(unprintable, numbered(3, 8).map(row))).rejects.toThrow(TypeError);
    expect(hashes(house)).toEqual(before);
    const fresh = await chunked(house, 3).open("new");
    await expect(fresh.append({ ...fresh.header, metadata: { half: "\ud800" } }, [row("x")])).rejects.toThrow(
      TypeError,
    );
    expect(hashes(house)).toEqual(before);
  });

  it("never deletes or changes a closed chunk (000-14)", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 6);
    const closed = hashes(house, ["session-s.1.jsonl", "session-s.2.jsonl"]);
    await add(log, ...numbered(7, 20));
    await log.append({ ...log.header, lastConsolidated: 10 }, []);
    await add(await chunked(house).open("s"), "m21");
    expect(hashes(house, Object.keys(closed))).toEqual(closed);
  });
});

describe("reading", () => {
  it("joins the newest rows across chunks, oldest first (000-6)", async () => {
    const house = openWorkspace();
    await conversation(house, 5);
    expect(newest(await chunked(house).open("s"), 3)).toEqual(["m3", "m4", "m5"]);
  });

  it("returns all rows in order when there are fewer (000-7)", async () => {
    const house = openWorkspace();
    await conversation(house, 2);
    expect(newest(await chunked(house).open("s"), 3)).toEqual(["m1", "m2"]);
    expect((await chunked(house).open("never written")).read(0, 10)).toEqual([]);
  });

  it("finds any range, from disk and from a log that has written", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 11);
    for (let from = 0; from <= 11; from++) {
      for (let to = from; to <= 12; to++) {
        const expected = numbered(1, 11).slice(from, to);
        expect(contents(log.read(from, to))).toEqual(expected);
        expect(contents((await chunked(house).open("s")).read(from, to))).toEqual(expected);
      }
    }
  });

  it("opens only the newest chunks: with 999 older ones unreadable it reads and resumes (000-8)", async () => {
    const house = openWorkspace();
    for (let index = 1; index <= 1000; index++) {
      const rows = numbered(3 * index - 2, Math.min(3 * index, 2999));
      writeFileSync(join(house.folder, `session-s.${index}.jsonl`), lines(...rows));
    }
    await add(await chunked(house, 3).open("s"), "m3000");
    expect(chunks(house)).toHaveLength(1000);
    for (let index = 1; index < 1000; index++) makeUnreadable(house, `session-s.${index}.jsonl`);

    const resumed = await chunked(house, 3).open("s");
    expect(resumed.length).toBe(3000);
    expect(newest(resumed, 3)).toEqual(["m2998", "m2999", "m3000"]);
    expect(house.warnings).toEqual([]);
    await add(resumed, "m3001");
    expect(newest(resumed, 4)).toEqual(["m2998", "m2999", "m3000", "m3001"]);

    const session = await house.open({ driver: "chunked", segmentSize: 3 }).getOrCreate("s");
    expect(session.length).toBe(3001);
    expect(contents(session.slice(2997))).toEqual(["m2998", "m2999", "m3000", "m3001"]);
    expect(house.warnings).toEqual([expect.stringContaining("and 998 more")]);
    expect((await list(house)).map(({ key }) => key)).toEqual(["s"]);
  });

  it("leaves out what cannot be read and keeps the rest (000-8)", async () => {
    const house = openWorkspace();
    await conversation(house, 12);
    makeUnreadable(house, "session-s.2.jsonl");
    const log = await chunked(house).open("s");
    expect(newest(log, 6)).toEqual(numbered(7, 12));
    expect(all(log)).toEqual(["m1", "m2", "m3", ...numbered(7, 12)]);
    expect(house.warnings).toEqual([expect.stringContaining("session-s.2.jsonl")]);
  });

  it("resumes with what a plain read returns (000-9)", async () => {
    const house = openWorkspace();
    const sessions = house.open({ driver: "chunked", segmentSize: 3 });
    const session = await sessions.getOrCreate("s");
    for (const content of numbered(1, 8)) {
      session.addMessage("user", content);
      await sessions.save(session);
    }
    const resumed = await house.open({ driver: "chunked", segmentSize: 3 }).getOrCreate("s");
    expect(contents(resumed.history(3))).toEqual(["m6", "m7", "m8"]);
    expect(resumed.history(3)).toEqual(session.history(3));
    expect(resumed.length).toBe(8);
  });

  it("never returns rows older than the window (000-14)", async () => {
    const house = openWorkspace();
    await conversation(house, 9);
    const session = await house.open({ driver: "chunked", segmentSize: 3 }).getOrCreate("s");
    expect(contents(session.history(4))).toEqual(numbered(6, 9));
  });

  it("keeps key, header and silence across rolls (000-10)", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("s");
    const { path } = log;
    for (const content of numbered(1, 20)) await add(log, content);
    expect(log.header.key).toBe("s");
    expect(log.path).toBe(path);
    expect(await list(house)).toMatchObject([{ key: "s", path }]);
    expect(house.warnings).toEqual([]);
  });

  it("orders chunks by number: after 10 comes 11 (000-11)", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 11, 1);
    expect(all(await chunked(house, 1).open("s"))).toEqual(numbered(1, 11));
    await add(log, "m12");
    expect(house.text("session-s.12.jsonl")).toBe(line("m12"));
    expect(state(house)["chunk_count"]).toBe(12);
  });
});

describe("segment size", () => {
  it("is each store's own (000-12)", async () => {
    const house = openWorkspace();
    await conversation(house, 7, 2, "small");
    await conversation(house, 7, 5, "large");
    expect(chunks(house).filter((name) => name.includes("small"))).toHaveLength(4);
    expect(chunks(house).filter((name) => name.includes("large"))).toHaveLength(2);
  });

  it.each([0, -1, 2.5, NaN, Infinity])("%d is refused when the store is opened (000-22)", (size) => {
    expect(() => chunked(openWorkspace(), size)).toThrow(UserError);
    expect(() => chunked(openWorkspace(), size)).toThrow(`segmentSize is ${size}`);
  });

  it("is 500 unless told", async () => {
    const house = openWorkspace();
    const log = await openStore({ workspace: house.workspace, driver: "chunked", log: house.log }).open("s");
    await add(log, ...numbered(1, 501));
    expect(chunks(house).map((name) => countLines(house, name))).toEqual([500, 1]);
  });

  it.each([
    [4, ["m2", "m3", "m4", "m5"]],
    [2, ["m4", "m5"]],
  ])("changed to %i reads old chunks at the new size and splits none again (000-23)", async (size, expected) => {
    const house = openWorkspace();
    await conversation(house, 5, 3);
    const log = await chunked(house, size).open("s");
    expect(newest(log, size)).toEqual(expected);
    const closed = hashes(house, ["session-s.1.jsonl"]);
    await add(log, "m6", "m7");
    expect(hashes(house, ["session-s.1.jsonl"])).toEqual(closed);
    expect(house.text("session-s.2.jsonl")).toBe(size === 4 ? lines("m4", "m5", "m6", "m7") : lines("m4", "m5"));
    expect(all(log)).toEqual(numbered(1, 7));
  });
});

describe("chunks that somebody else made", () => {
  const theirs = (content: string): string =>
    `{"timestamp":"2026-02-21T10:00:00","role":"user","content":"${content}","tool_calls":null,"tool_call_id":null}\n`;

  it("open as they are, nulls and all (000-13)", async () => {
    const house = openWorkspace({ "session-s.1.jsonl": theirs("m1") + theirs("m2") });
    const log = await chunked(house).open("s");
    expect(log.read(0, 1)).toEqual([
      { timestamp: "2026-02-21T10:00:00", role: "user", content: "m1", tool_calls: null, tool_call_id: null },
    ]);
    expect(log.header).toMatchObject({ createdAt: "2026-02-21T10:00:00", updatedAt: "2026-02-21T10:00:00" });
    expect(house.names()).toEqual(["session-s.1.jsonl"]);
    expect(await list(house)).toMatchObject([{ key: "s", updatedAt: "2026-02-21T10:00:00" }]);
    await add(log, "m3", "m4");
    expect(house.text("session-s.1.jsonl")).toBe(theirs("m1") + theirs("m2") + line("m3"));
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 4));
  });

  it("ignores a file that was not renamed (000-13)", async () => {
    const house = openWorkspace({ "session-s.jsonl": theirs("old"), "session-s.01.jsonl": theirs("odd") });
    const log = await chunked(house).open("s");
    expect(log.length).toBe(0);
    await add(log, "m1");
    expect(house.text("session-s.jsonl")).toBe(theirs("old"));
    expect(all(await chunked(house).open("s"))).toEqual(["m1"]);
  });

  it("takes header, key and rows of a nanobot file renamed by hand (000-13)", async () => {
    const header =
      '{"_type": "metadata", "key": "a:b", "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-01T00:00:00", ' +
      '"metadata": {"x": 1}, "last_consolidated": 1}\n';
    const house = openWorkspace({ "session-a_b.1.jsonl": header + lines("m1", "m2") });
    expect((await chunked(house).open("a_b")).length).toBe(0);
    const log = await chunked(house).open("a:b");
    expect(all(log)).toEqual(["m1", "m2"]);
    expect(log.header).toMatchObject({ createdAt: "2026-01-01T00:00:00", metadata: { x: 1 }, lastConsolidated: 1 });
    await add(log, "m3");
    expect((await chunked(house).open("a:b")).header).toMatchObject({ metadata: { x: 1 }, lastConsolidated: 1 });
  });

  it("dates a conversation without timestamps by its newest file", async () => {
    const house = openWorkspace({ "session-s.1.jsonl": '{"role": "user", "content": "m1"}\n' });
    const time = new Date(2026, 2, 3, 4, 5, 6);
    utimesSync(join(house.folder, "session-s.1.jsonl"), time, time);
    expect(localIsoTime(time.getTime() * 1000)).toBe("2026-03-03T04:05:06");
    expect((await chunked(house).open("s")).header.updatedAt).toBe("2026-03-03T04:05:06");
    expect(await list(house)).toMatchObject([{ updatedAt: "2026-03-03T04:05:06" }]);
  });

  it("counts what another program appended, rolled and did not enter in the state (000-15)", async () => {
    const house = openWorkspace();
    await conversation(house, 4);
    writeFileSync(join(house.folder, "session-s.2.jsonl"), lines("m4", "m5", "m6"));
    writeFileSync(join(house.folder, "session-s.3.jsonl"), lines("m7", "m8"));
    const log = await chunked(house).open("s");
    expect(all(log)).toEqual(numbered(1, 8));
    await add(log, "m9");
    expect(state(house)).toMatchObject({ chunk_count: 3, rows_before_newest: 6 });
  });
});

describe("the state file", () => {
  it("has the highest index after each roll (000-15)", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("s");
    for (let count = 1; count <= 10; count++) {
      await add(log, `m${count}`);
      expect(state(house)["chunk_count"]).toBe(Math.ceil(count / 3));
    }
  });

  const spoilt: [string, (house: House) => void][] = [
    ["missing", (house) => rmSync(join(house.folder, "session-s.state.json"))],
    ["empty", (house) => writeFileSync(join(house.folder, "session-s.state.json"), "")],
    ["garbage", (house) => writeFileSync(join(house.folder, "session-s.state.json"), "\0\0{]")],
    ["behind", (house) => editState(house, { chunk_count: 2, rows_before_newest: 3 })],
    ["ahead", (house) => editState(house, { chunk_count: 99, rows_before_newest: 999 })],
    [
      "of the wrong types",
      (house) => editState(house, { chunk_count: "4", rows_before_newest: null, first_chunk: -1 }),
    ],
    ["hiding everything", (house) => editState(house, { first_chunk: 50, chunk_count: 50, rows_before_newest: 0 })],
  ];
  it.each(spoilt)("may be %s: the scan wins and it is corrected by the next write (000-15)", async (_, spoil) => {
    const house = openWorkspace();
    await conversation(house, 10);
    spoil(house);
    const log = await chunked(house).open("s");
    expect(all(log)).toEqual(numbered(1, 10));
    await add(log, "m11");
    expect(state(house)).toMatchObject({ key: "s", chunk_count: 4, rows_before_newest: 9, first_chunk: 1 });
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 11));
    expect(await verify(house)).toMatchObject([{ rows: 11, damage: [] }]);
  });

  it("may be cut at any byte: no row is lost, no session vanishes from the list (000-15, 000-24)", async () => {
    const house = openWorkspace();
    await conversation(house, 4);
    const path = join(house.folder, "session-s.state.json");
    const whole = readFileSync(path);
    for (let size = 0; size < whole.length; size++) {
      if (!isTried(size, 4)) continue;
      writeFileSync(path, whole.subarray(0, size));
      const log = await chunked(house).open("s");
      expect(all(log)).toEqual(numbered(1, 4));
      expect((await list(house)).map(({ key }) => key)).toEqual(["s"]);
    }
  });

  it("keeps its damaged bytes under another name (000-15)", async () => {
    const house = openWorkspace();
    await conversation(house, 2);
    writeFileSync(join(house.folder, "session-s.state.json"), "garbage");
    await add(await chunked(house).open("s"), "m3");
    expect(house.text("session-s.state.json.damaged-2026-06-30T123456")).toBe("garbage");
  });

  it("is there before the first row: whose rows they are is never in doubt", async () => {
    const house = openWorkspace();
    const seen: string[] = [];
    const watcher = watch(house.folder, (_, name) => void (name?.startsWith("session-") && seen.push(name)));
    await conversation(house, 1);
    await vi.waitFor(() => expect(new Set(seen).size).toBe(2));
    watcher.close();
    expect([...new Set(seen)]).toEqual(["session-s.state.json", "session-s.1.jsonl"]);
  });

  it("alone, as a crash at creation leaves it, is an empty conversation that begins at chunk 1 (000-1, 000-11)", async () => {
    const house = openWorkspace();
    await conversation(house, 1);
    rmSync(join(house.folder, "session-s.1.jsonl"));
    const log = await chunked(house).open("s");
    expect(log.length).toBe(0);
    expect(await list(house)).toMatchObject([{ key: "s" }]);
    await add(log, "m1");
    expect(house.text("session-s.1.jsonl")).toBe(line("m1"));
  });

  it("may hold a cursor beyond the rows: then nothing is hidden", async () => {
    const house = openWorkspace();
    await conversation(house, 4);
    editState(house, { last_consolidated: 5 });
    expect((await chunked(house).open("s")).header.lastConsolidated).toBe(0);
  });
});

describe("damage", () => {
  const badLines: [string, string][] = [
    ["garbage", "not json\n"],
    ["a number", "42\n"],
    ["a torn row with its newline", '{"role": "user", "con\n'],
    ["NUL bytes", "\0\0\0\0\n"],
  ];
  it.each(badLines)("in one line (%s) costs that line, takes room, and is warned about (000-16)", async (_, bad) => {
    const house = openWorkspace();
    await conversation(house, 5);
    writeFileSync(join(house.folder, "session-s.2.jsonl"), line("m4") + bad + line("m5"));
    const log = await chunked(house).open("s");
    expect(newest(log, 3)).toEqual(["m3", "m4", "m5"]);
    expect(house.warnings).toEqual([expect.stringContaining("session-s.2.jsonl, line 2")]);
    await add(log, "m6");
    expect(house.text("session-s.2.jsonl")).toBe(line("m4") + bad + line("m5"));
    expect(house.text("session-s.3.jsonl")).toBe(line("m6"));
  });

  it("in an older chunk is skipped, and the reader goes one chunk further back (000-16)", async () => {
    const house = openWorkspace();
    await conversation(house, 9);
    writeFileSync(join(house.folder, "session-s.2.jsonl"), `${line("m4")}{"role": "us\n${line("m6")}`);
    const log = await chunked(house).open("s");
    expect(newest(log, 6)).toEqual(["m3", "m4", "m6", "m7", "m8", "m9"]);
    expect(house.warnings).toEqual([expect.stringContaining("session-s.2.jsonl, line 2")]);
  });

  it("a last row without its newline gets it; the next row survives (000-17)", async () => {
    const house = openWorkspace();
    await conversation(house, 1);
    truncateSync(join(house.folder, "session-s.1.jsonl"), line("m1").length - 1);
    await add(await chunked(house).open("s"), "m2");
    expect(house.text("session-s.1.jsonl")).toBe(lines("m1", "m2"));
    expect(house.names()).toEqual(["session-s.1.jsonl", "session-s.state.json"]);
  });

  it("a write cut off at any byte costs only the row it cut; nothing is glued to it (000-17)", async () => {
    const house = openWorkspace();
    await conversation(house, 5);
    const path = join(house.folder, "session-s.2.jsonl");
    const whole = readFileSync(path);
    const afterRow = [0, line("m4").length, whole.length];
    for (let size = 0; size <= whole.length; size++) {
      if (!isTried(size, 4)) continue;
      writeFileSync(path, whole.subarray(0, size));
      const survivors = numbered(1, 3 + afterRow.filter((end) => end > 0 && size >= end - 1).length);
      const log = await chunked(house).open("s");
      expect(all(log)).toEqual(survivors);
      await add(log, "next");
      expect(all(await chunked(house).open("s"))).toEqual([...survivors, "next"]);
      expect(await verify(house)).toMatchObject([{ damage: [] }]);
      const asides = house.names().filter((name) => name.includes(".damaged-"));
      const isTorn = !afterRow.some((end) => size === end || size === end - 1);
      expect(asides).toHaveLength(isTorn ? 1 : 0);
      for (const aside of asides) {
        expect(house.bytes(aside)).toEqual(whole.subarray(0, size));
        rmSync(join(house.folder, aside));
      }
    }
  });

  it("at the end of a full chunk stays there; the next row begins a new one (000-17)", async () => {
    const house = openWorkspace();
    await conversation(house, 2);
    writeFileSync(join(house.folder, "session-s.1.jsonl"), `${lines("m1", "m2")}{"role": "us`);
    await add(await chunked(house).open("s"), "next");
    expect(house.text("session-s.1.jsonl")).toBe(`${lines("m1", "m2")}{"role": "us`);
    expect(all(await chunked(house).open("s"))).toEqual(["m1", "m2", "next"]);
  });

  it("a crash between two chunks of one turn leaves the beginning of the turn", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 2);
    await add(log, ...numbered(3, 8));
    // The order of writing is chunk 1, chunk 2, chunk 3, state; here it stopped after each of them.
    editState(house, { chunk_count: 1, rows_before_newest: 0 });
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 8));
    rmSync(join(house.folder, "session-s.3.jsonl"));
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 6));
    rmSync(join(house.folder, "session-s.2.jsonl"));
    const rest = await chunked(house).open("s");
    expect(all(rest)).toEqual(numbered(1, 3));
    await add(rest, "next");
    expect(all(await chunked(house).open("s"))).toEqual([...numbered(1, 3), "next"]);
  });

  it("a missing middle chunk: reads use what exists, writes go to the highest, nothing is renumbered (000-21)", async () => {
    const house = openWorkspace();
    await conversation(house, 8);
    rmSync(join(house.folder, "session-s.2.jsonl"));
    const log = await chunked(house).open("s");
    expect(newest(log, 4)).toEqual(["m2", "m3", "m7", "m8"]);
    await add(log, "m9", "m10");
    expect(chunks(house)).toEqual(["session-s.1.jsonl", "session-s.3.jsonl", "session-s.4.jsonl"]);
    expect((await verify(house))[0]?.damage).toContainEqual(
      expect.objectContaining({ file: join(house.folder, "session-s.2.jsonl"), reason: "this chunk is missing" }),
    );
  });

  it("an empty newest chunk: reads use what exists, the next row goes there (000-21)", async () => {
    const house = openWorkspace();
    await conversation(house, 3);
    writeFileSync(join(house.folder, "session-s.2.jsonl"), "");
    const log = await chunked(house).open("s");
    expect(newest(log, 3)).toEqual(["m1", "m2", "m3"]);
    await add(log, "m4");
    expect(house.text("session-s.2.jsonl")).toBe(line("m4"));
    expect(chunks(house)).toHaveLength(2);
  });

  it("that hides the newest chunk is told, never written over", async () => {
    const house = openWorkspace();
    await conversation(house, 4);
    makeUnreadable(house, "session-s.2.jsonl");
    await expect(chunked(house).open("s")).rejects.toThrow(UserError);
    expect(await list(house)).toMatchObject([{ key: "s" }]);
  });
});

describe("names", () => {
  it("reads nothing of `s.x` or `s.1` for `s` (000-18)", async () => {
    const house = openWorkspace();
    const keys = ["s", "s.x", "s.1", "s.1.1"];
    for (const key of keys) await add(await chunked(house).open(key), `of ${key}`);
    for (const key of keys) expect(all(await chunked(house).open(key))).toEqual([`of ${key}`]);
    expect((await list(house)).map(({ key }) => key).sort()).toEqual(keys.sort());
  });

  it.each(["a[1]", "a*", "what?", "a{b,c}", "ключ", "𝄞", "session-s", " ", "a\nb"])(
    "takes the key %j (000-19)",
    async (key) => {
      const house = openWorkspace();
      await add(await chunked(house).open(key), ...numbered(1, 5));
      expect(all(await chunked(house).open(key))).toEqual(numbered(1, 5));
      expect((await list(house)).map((entry) => entry.key)).toEqual([key]);
    },
  );

  it.each(["a/b", "a\\b", "..", "../x", "a..b", "a\0b", "a\ud800", "x".repeat(250), "ü".repeat(120)])(
    "refuses the key %j and names it (000-19)",
    async (key) => {
      const house = openWorkspace();
      const opening = chunked(house).open(key);
      await expect(opening).rejects.toThrow(UserError);
      await expect(opening).rejects.toThrow(JSON.stringify(key));
      expect(house.names()).toEqual([]);
    },
  );

  it("gives keys that share a readable name files of their own; the stored key decides", async () => {
    const house = openWorkspace();
    const store = chunked(house);
    const [one, two] = [await store.open("a:b"), await store.open("a_b")];
    await add(one, "of a:b");
    await expect(add(two, "lost?")).rejects.toThrow(ChangedElsewhere);
    await add(await store.open("a_b"), "of a_b");
    expect(all(await chunked(house).open("a:b"))).toEqual(["of a:b"]);
    expect(all(await chunked(house).open("a_b"))).toEqual(["of a_b"]);
    expect((await list(house)).map(({ key }) => key).sort()).toEqual(["a:b", "a_b"]);
  });

  it("lets the first key to open chunks without a name keep them", async () => {
    const house = openWorkspace({ "session-a_b.1.jsonl": line("m1") });
    const store = chunked(house);
    expect(all(await store.open("a:b"))).toEqual(["m1"]);
    expect(all(await store.open("a_b"))).toEqual([]);
  });

  it("lets the first key to open chunks that name an impossible key keep them", async () => {
    const state = '{"_type": "metadata", "key": "other:1"}\n';
    const house = openWorkspace({ "session-a_b.1.jsonl": line("m1"), "session-a_b.state.json": state });
    const store = chunked(house);
    expect(all(await store.open("a:b"))).toEqual(["m1"]);
    expect(all(await store.open("a_b"))).toEqual([]);
  });

  it("is not disturbed by stray files (000-20)", async () => {
    const house = openWorkspace({
      "session-s.bak.jsonl": "x\n",
      "session-s.1.jsonl.bak": "x\n",
      "session-s.0.jsonl": "x\n",
      "session-s.-1.jsonl": "x\n",
      "session-s.1e3.jsonl": "x\n",
      "index.jsonl": "x\n",
    });
    await conversation(house, 4);
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 4));
    expect(await list(house)).toHaveLength(1);
    expect(house.text("session-s.bak.jsonl")).toBe("x\n");
  });

  it("lists its own files, and those of no other driver", async () => {
    const house = openWorkspace({ "telegram_1.jsonl": "x\n", "session-s.bak.jsonl": "x\n" });
    await conversation(house, 4);
    expect((await chunked(house).files()).sort()).toEqual(
      ["session-s.1.jsonl", "session-s.2.jsonl", "session-s.state.json"].map((name) => join(house.folder, name)),
    );
  });
});

describe("many writers", () => {
  const refusing = async (write: () => Promise<void>): Promise<boolean> => {
    try {
      await write();
      return false;
    } catch (error) {
      if (error instanceof ChangedElsewhere) return true;
      throw error;
    }
  };

  it("a log that is behind is refused and touches nothing (000-24)", async () => {
    const house = openWorkspace();
    const first = await conversation(house, 3);
    const second = await chunked(house).open("s");
    expect(await second.isCurrent()).toBe(true);
    await add(first, "m4");
    expect(await second.isCurrent()).toBe(false);
    const before = hashes(house);
    await expect(add(second, "lost?")).rejects.toThrow(ChangedElsewhere);
    await expect(second.replace(second.header, [])).rejects.toThrow(ChangedElsewhere);
    expect(hashes(house)).toEqual(before);
  });

  it("notices another's metadata, and rows of a program that knows no state (000-24)", async () => {
    const house = openWorkspace();
    const [one, two] = [await conversation(house, 2), await chunked(house).open("s")];
    await one.append({ ...one.header, metadata: { a: 1 } }, []);
    expect(await two.isCurrent()).toBe(false);
    writeFileSync(join(house.folder, "session-s.1.jsonl"), line("foreign"), { flag: "a" });
    expect(await one.isCurrent()).toBe(false);
    const three = await chunked(house).open("s");
    writeFileSync(join(house.folder, "session-s.2.jsonl"), line("foreign"));
    expect(await three.isCurrent()).toBe(false);
  });

  it("notices a state of the same size and time by its bytes (000-24)", async () => {
    const house = openWorkspace();
    await conversation(house, 2);
    const path = join(house.folder, "session-s.state.json");
    const time = new Date(2026, 0, 1);
    utimesSync(path, time, time);
    const log = await chunked(house).open("s");
    writeFileSync(path, house.text("session-s.state.json").replace('"last_consolidated": 0', '"last_consolidated": 2'));
    utimesSync(path, time, time);
    expect(await log.isCurrent()).toBe(true);
    await expect(add(log, "lost?")).rejects.toThrow(ChangedElsewhere);
  });

  it("of one process: nothing lost, nothing interleaved, no chunk over its size (000-24)", async () => {
    const house = openWorkspace();
    const store = chunked(house, 5);
    const turns = Array.from({ length: 30 }, (_, turn) => [`${turn} a`, `${turn} b`, `${turn} c`]);
    await Promise.all(
      turns.map(async (turn) => {
        while (await refusing(async () => add(await store.open("s"), ...turn)));
      }),
    );
    const found = all(await chunked(house).open("s"));
    expect(found).toHaveLength(90);
    for (const [a, b, c] of turns) expect(found.slice(found.indexOf(a)).slice(0, 3)).toEqual([a, b, c]);
    expect(chunks(house).map((name) => countLines(house, name))).toEqual(Array.from({ length: 18 }, () => 5));
  });

  const writer = (house: House, name: string, turns: number) =>
    spawn(
      process.execPath,
      [
        "--import",
        "tsx",
        fileURLToPath(new URL("../support/chunk-writer.ts", import.meta.url)),
        house.workspace,
        "s",
        name,
        String(turns),
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );

  it("of four processes: nothing lost, nothing interleaved, no chunk over its size (000-24)", async () => {
    const house = openWorkspace();
    const names = ["ann", "ben", "cem", "dan"];
    const ends = await Promise.all(
      names.map((name) =>
        once(
          writer(house, name, 25).on("error", () => {}),
          "exit",
        ),
      ),
    );
    expect(ends.map(([code]) => code as unknown)).toEqual([0, 0, 0, 0]);
    const found = all(await chunked(house).open("s"));
    expect(found).toHaveLength(300);
    for (const name of names) {
      const own = found.filter((content) => String(content).startsWith(name));
      const expected = Array.from({ length: 25 }, (_, at) =>
        ["question", "answer", "thanks"].map((part) => `${name} ${at + 1} ${part}`),
      );
      expect(own).toEqual(expected.flat());
    }
    for (let at = 0; at < found.length; at += 3) {
      expect(new Set(found.slice(at, at + 3).map((content) => String(content).replace(/ \w+$/, ""))).size).toBe(1);
    }
    expect(chunks(house).map((name) => countLines(house, name))).toEqual(Array.from({ length: 60 }, () => 5));
  });

  it("killed at any moment: what was acknowledged is there, and the list of sessions too (000-24)", async () => {
    const house = openWorkspace();
    let acknowledged = 0;
    for (let round = 0; round < 3; round++) {
      const child = writer(house, `round${round}`, 100_000);
      let output = "";
      child.stdout.on("data", (data) => {
        output += String(data);
        if (output.split("\n").length > 20 + 7 * round) child.kill("SIGKILL");
      });
      await once(child, "exit");
      const turns = output.split("\n").length - 1;
      acknowledged += turns;
      const found = all(await chunked(house).open("s"));
      expect(found.length).toBeGreaterThanOrEqual(3 * acknowledged);
      expect(found).toContain(`round${round} ${turns} thanks`);
      expect((await list(house)).map(({ key }) => key)).toEqual(["s"]);
    }
  });
});

describe("replacing", () => {
  it("leaves an empty conversation and the old chunks under another name", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 5);
    const old = [house.text("session-s.1.jsonl"), house.text("session-s.2.jsonl")];
    await log.replace({ ...log.header, lastConsolidated: 0 }, []);
    expect(log.length).toBe(0);
    expect(all(await chunked(house).open("s"))).toEqual([]);
    expect(house.names()).toEqual([
      "session-s.1.jsonl.cleared-2026-06-30T123456",
      "session-s.2.jsonl.cleared-2026-06-30T123456",
      "session-s.3.jsonl",
      "session-s.state.json",
    ]);
    expect(house.text("session-s.1.jsonl.cleared-2026-06-30T123456")).toBe(old[0]);
    expect(house.text("session-s.2.jsonl.cleared-2026-06-30T123456")).toBe(old[1]);
    await add(log, "n1");
    expect(all(await chunked(house).open("s"))).toEqual(["n1"]);
    expect(state(house)).toMatchObject({ first_chunk: 3, chunk_count: 3, rows_before_newest: 0 });
  });

  it("puts new rows in chunks of the right size, and goes on from there", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 5);
    await log.replace(log.header, ["n1", "n2", "n3", "n4"].map(row));
    expect(all(log)).toEqual(["n1", "n2", "n3", "n4"]);
    await add(log, "n5", "n6", "n7");
    expect(all(await chunked(house).open("s"))).toEqual(["n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
    expect(chunks(house).map((name) => countLines(house, name))).toEqual([3, 3, 1]);
    await log.replace(log.header, [row("z")]);
    expect(all(await chunked(house).open("s"))).toEqual(["z"]);
    expect(await verify(house)).toMatchObject([{ rows: 1, damage: [] }]);
  });

  it("begins a conversation that was not there at chunk 1", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("s");
    await log.replace(log.header, numbered(1, 4).map(row));
    expect(house.names()).toEqual(["session-s.1.jsonl", "session-s.2.jsonl", "session-s.state.json"]);
    expect(all(await chunked(house).open("s"))).toEqual(numbered(1, 4));
  });

  it("cut off anywhere, leaves the old rows or the new ones, and the next write finishes or forgets it", async () => {
    const moves = (house: House, ...names: [string, string][]): void => {
      for (const [from, to] of names) renameSync(join(house.folder, from), join(house.folder, to));
    };
    const cleared = "cleared-2026-06-30T123456";
    const oldState = await (async () => {
      const house = openWorkspace();
      await conversation(house, 5);
      return house.bytes("session-s.state.json");
    })();
    const cuts: [string, string, (house: House) => void][] = [
      [
        "while the second new chunk was being staged",
        "old",
        (house) => {
          moves(house, ["session-s.3.jsonl", "session-s.3.jsonl.new"]);
          rmSync(join(house.folder, "session-s.4.jsonl"));
        },
      ],
      [
        "before the state",
        "old",
        (house) =>
          moves(house, ["session-s.3.jsonl", "session-s.3.jsonl.new"], ["session-s.4.jsonl", "session-s.4.jsonl.new"]),
      ],
      [
        "after the state",
        "new",
        (house) =>
          moves(house, ["session-s.3.jsonl", "session-s.3.jsonl.new"], ["session-s.4.jsonl", "session-s.4.jsonl.new"]),
      ],
      ["after one name", "new", (house) => moves(house, ["session-s.4.jsonl", "session-s.4.jsonl.new"])],
      ["after both names", "new", () => {}],
    ];
    for (const [when, expected, cut] of cuts) {
      const house = openWorkspace();
      const log = await conversation(house, 5);
      await log.replace(log.header, ["n1", "n2", "n3", "n4"].map(row));
      moves(
        house,
        [`session-s.1.jsonl.${cleared}`, "session-s.1.jsonl"],
        [`session-s.2.jsonl.${cleared}`, "session-s.2.jsonl"],
      );
      cut(house);
      if (expected === "old") writeFileSync(join(house.folder, "session-s.state.json"), oldState);
      const rows = expected === "old" ? numbered(1, 5) : ["n1", "n2", "n3", "n4"];

      const before = hashes(house);
      const reopened = await chunked(house).open("s");
      expect(all(reopened), when).toEqual(rows);
      expect(hashes(house), when).toEqual(before);
      await add(reopened, "x1", "x2", "x3");
      expect(all(await chunked(house).open("s")), when).toEqual([...rows, "x1", "x2", "x3"]);
      expect(house.names().filter((name) => name.endsWith(".new"))).toEqual([]);
      expect(chunks(house)).toHaveLength(3);
      expect(await verify(house), when).toMatchObject([{ rows: rows.length + 3, damage: [] }]);
    }
  });

  it.each(["session-s.1.jsonl", "session-s.1.jsonl.new"])(
    "never counts %s again once it is out of use, whatever the state has lost",
    async (name) => {
      const house = openWorkspace();
      const log = await conversation(house, 3);
      await log.replace(log.header, ["n1", "n2", "n3", "n4"].map(row));
      renameSync(join(house.folder, "session-s.1.jsonl.cleared-2026-06-30T123456"), join(house.folder, name));
      editState(house, { rows_before_newest: null });
      expect(all(await chunked(house).open("s"))).toEqual(["n1", "n2", "n3", "n4"]);
    },
  );

  it("of a session through the manager: /new empties it and the next rows are all there is", async () => {
    const house = openWorkspace();
    const sessions = house.open({ driver: "chunked", segmentSize: 3 });
    const session = await sessions.getOrCreate("telegram:42");
    for (const content of numbered(1, 7)) session.addMessage("user", content);
    await sessions.save(session);
    session.clear();
    await sessions.save(session);
    session.addMessage("user", "fresh");
    await sessions.save(session);
    const reopened = await house.open({ driver: "chunked", segmentSize: 3 }).getOrCreate("telegram:42");
    expect(contents(reopened.slice(0))).toEqual(["fresh"]);
  });
});

describe("listing and verifying", () => {
  it("tells when a conversation last changed without opening older chunks", async () => {
    const house = openWorkspace();
    const log = await conversation(house, 5);
    makeUnreadable(house, "session-s.1.jsonl");
    const later = { ...row("m6"), timestamp: "2026-08-01T00:00:00" };
    await log.append(log.header, [later]);
    expect(await list(house)).toEqual([
      { key: "s", createdAt: "2026-06-30T12:34:56.654321", updatedAt: "2026-08-01T00:00:00", path: log.path },
    ]);
    await log.append({ ...log.header, updatedAt: "2026-09-01T00:00:00", metadata: { a: 1 } }, []);
    expect(await list(house)).toMatchObject([{ updatedAt: "2026-09-01T00:00:00" }]);
    expect((await chunked(house).open("s")).header.updatedAt).toBe("2026-09-01T00:00:00");
  });

  it("finds the newest time in a row of any length", async () => {
    const house = openWorkspace();
    const log = await chunked(house).open("s");
    await add(log, "short", "long".repeat(50_000));
    await log.append(log.header, [{ role: "user", content: "x".repeat(5000), timestamp: "2026-08-01T00:00:00" }]);
    expect(await list(house)).toMatchObject([{ updatedAt: "2026-08-01T00:00:00" }]);
  });

  it("lists nothing where there is nothing", async () => {
    const house = openWorkspace();
    rmSync(house.folder, { recursive: true });
    expect(await list(house)).toEqual([]);
    expect(await verify(house)).toEqual([]);
  });

  it("names each damage, changes nothing unless asked, and keeps the original when it repairs", async () => {
    const house = openWorkspace();
    await conversation(house, 5);
    const damaged = `${line("m1")}garbage\n${line("m3")}`;
    writeFileSync(join(house.folder, "session-s.1.jsonl"), damaged);
    const path = join(house.folder, "session-s.1.jsonl");
    const before = hashes(house);
    expect(await verify(house)).toMatchObject([
      { key: "s", rows: 4, damage: [{ file: path, line: 2, reason: "not valid JSON" }] },
    ]);
    expect(hashes(house)).toEqual(before);

    const [repaired] = await verify(house, true);
    expect(readFileSync(repaired?.setAside ?? "", "utf8")).toBe(damaged);
    expect(house.text("session-s.1.jsonl")).toBe(lines("m1", "m3"));
    expect(await verify(house)).toMatchObject([{ rows: 4, damage: [] }]);
    const log = await chunked(house).open("s");
    expect(log.length).toBe(4);
    expect(all(log)).toEqual(["m1", "m3", "m4", "m5"]);
  });

  it("finds a state that miscounts, and corrects it when asked", async () => {
    const house = openWorkspace();
    await conversation(house, 5);
    editState(house, { rows_before_newest: 2 });
    expect((await verify(house, true))[0]?.damage).toMatchObject([{ reason: expect.stringContaining("2 rows") }]);
    expect(await verify(house)).toMatchObject([{ rows: 5, damage: [] }]);
    expect(state(house)).toMatchObject({ key: "s", rows_before_newest: 3, chunk_count: 2 });
  });
});
