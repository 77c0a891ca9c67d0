/** What an accident can do to a nanobot file, and what must be left of it afterwards (004-13, 004-19, 004-22). */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isTried } from "../support/thorough.js";
import type { Row } from "../../src/message.js";
import { openStore } from "../../src/session/open.js";
import { parsePythonJson, type PythonObject, pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { normalPythonTime } from "../../src/session/python-time.js";
import { goldenBytes, goldenJson, goldenNames } from "../support/golden.js";
import { openWorkspace } from "../support/workspace.js";

const key = "telegram:77";
const file = "telegram_77.jsonl";
const header = {
  _type: "metadata",
  key,
  created_at: "2026-01-10T10:00:00.000100",
  updated_at: "2026-01-10T10:05:00.000200",
  metadata: { title: "Tést 🎈", "10": 1, "9": 2 },
  last_consolidated: 3,
};
const call = { id: "c", type: "function", function: { name: "exec", arguments: '{"command": "ls \\"a b\\""}' } };
const rows: readonly Row[] = [
  { role: "user", content: "grüß 🎈", timestamp: "2026-01-10T10:00:00.000100" },
  { role: "assistant", content: null, tool_calls: [call] },
  { role: "tool", tool_call_id: "c", name: "exec", content: 'a {"role": "x"}\n\tb\\' },
  { role: "assistant", content: "完成" },
  { role: "user", content: [{ type: "text", text: "[image]" }] },
  { role: "user", content: "{}", latency_ms: 12 },
  { role: "assistant", content: "\u2028" },
];
const rowTexts = rows.map((row) => pythonJson(row));
const lines = [pythonJson(header), ...rowTexts];
const whole = Buffer.from(`${lines.join("\n")}\n`, "utf8");

/** Which line each byte is in; a newline belongs to the line it ends. */
const lineAt: number[] = lines.flatMap((line, number) => Array<number>(Buffer.byteLength(line) + 1).fill(number));
const isLineEnd = (offset: number): boolean => whole[offset] === 0x0a;

/** One workspace for many accidents: the file is put there, opened, and looked at. */
function scene() {
  const house = openWorkspace();
  const path = join(house.folder, file);
  const silent = { warn: () => {} };
  return {
    ...house,
    /** What a fresh process reads of the damaged file. */
    read: async (bytes: Buffer) => {
      writeFileSync(path, bytes);
      const store = openStore({ workspace: house.workspace, clock: house.clock, log: silent });
      const log = await store.open(key);
      const read = log.read(0, log.length).map((row) => pythonJson(row));
      await store.close();
      return { ...log.header, length: log.length, rows: read, path: log.path };
    },
    /** Opens the file, adds a turn and saves; says what is wrong with the outcome. */
    turn: async (bytes: Buffer): Promise<string[]> => {
      for (const name of readdirSync(house.folder)) {
        if (name.startsWith(file)) rmSync(join(house.folder, name));
      }
      writeFileSync(path, bytes);
      const sessions = house.open({ log: silent });
      const session = await sessions.getOrCreate(key);
      const before = session.slice(0).map((row) => pythonJson(row));
      session.addMessage("user", "after the damage");
      await sessions.save(session);
      await sessions.close();
      const added = pythonJson({ role: "user", content: "after the damage", timestamp: house.clock() });
      const wrong: string[] = [];
      const text = house.text(file);
      const [first = "", ...others] = text.slice(0, -1).split("\n");
      if (!text.endsWith("\n")) wrong.push("the last line has no end");
      if (others.join("\n") !== [...before, added].join("\n") && !sameRows(others, [...before, added])) {
        wrong.push(`rows on disk are not those in memory: ${others.join("\n")}`);
      }
      const head = parsePythonJson(first) as PythonObject;
      if (Object.keys(head).join() !== Object.keys(header).join()) wrong.push(`not a regular header: ${first}`);
      if (head["key"] !== key) wrong.push(`the header names ${pythonJson(head["key"])}`);
      const asides = house.names().filter((name) => name.startsWith(`${file}.damaged-`));
      const exact = asides.length === 1 && house.bytes(asides[0] ?? "").equals(bytes);
      if (asides.length > 0 && !exact) wrong.push("what was set aside is not the damaged file");
      if (losesSomething(bytes, head, others) && !exact) wrong.push("bytes were lost and not set aside");
      return wrong;
    },
  };
}

const sameRows = (texts: readonly string[], expected: readonly string[]): boolean =>
  texts.length === expected.length && texts.every((text, at) => pythonJson(parsePythonJson(text)) === expected[at]);

/** Something stood in the damaged file that the new one does not say. */
function losesSomething(bytes: Buffer, head: PythonObject, texts: readonly string[]): boolean {
  const text = bytes.toString("latin1").replace(/^\xef\xbb\xbf/, "");
  const [first = ""] = text.split("\n");
  const oneLine = recordIn(first) !== undefined; // a carriage return between two fields does no harm
  const parts = oneLine ? [first, ...text.slice(first.length).split(/[\r\n]/)] : text.split(/[\r\n]/);
  const records = parts.filter((part) => part.trim() !== "").map(recordIn);
  const heads = records.filter((record) => record?.["_type"] === "metadata");
  const kept = new Set(texts.map((row) => pythonJson(parsePythonJson(row))));
  return records.some((record) => {
    if (record === undefined) return true;
    if (record["_type"] !== "metadata") return !kept.has(pythonJson(record));
    return record === heads.at(-1) && !carriesOver(record, head);
  });
}

function carriesOver(old: PythonObject, head: PythonObject): boolean {
  const sameMetadata = !old["metadata"] || pythonJson(old["metadata"]) === pythonJson(head["metadata"]);
  const sameTime = !old["created_at"] || timeOf(old["created_at"]) === head["created_at"];
  return sameMetadata && sameTime && Object.keys(old).every((field) => field in header);
}

const timeOf = (value: PythonValue): string | undefined =>
  typeof value === "string" ? normalPythonTime(value) : undefined;

/** The object a line holds; undefined if the line is damaged. */
function recordIn(latin1: string): PythonObject | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(latin1, "latin1"));
    const value = parsePythonJson(text.trim());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: PythonValue): value is PythonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

describe("a file cut off at any byte (004-19, 004-20)", () => {
  /** The rows that are complete in the first `size` bytes, with or without their newline. */
  const completeRows = (size: number): string[] => {
    let end = Buffer.byteLength(lines[0] ?? "") + 1;
    return rowTexts.filter((text) => {
      end += Buffer.byteLength(text) + 1;
      return end - 1 <= size;
    });
  };

  it("opens with every complete row", async () => {
    const { read } = scene();
    for (let size = 0; size < whole.length; size++) {
      if (!isTried(size, 4)) continue;
      const found = await read(whole.subarray(0, size));
      expect({ size, rows: found.rows }).toEqual({ size, rows: completeRows(size) });
      expect(found.lastConsolidated).toBeLessThanOrEqual(found.length);
      if (found.length >= 3) expect(found.lastConsolidated).toBe(3);
    }
  });

  it("takes the next turn, and what was cut through is set aside", async () => {
    const { turn } = scene();
    for (let size = 0; size < whole.length; size++) {
      if (!isTried(size, 4)) continue;
      if (size % 7 !== 0 && !isLineEnd(size) && !isLineEnd(size - 1) && !isLineEnd(size + 1)) continue;
      expect({ size, wrong: await turn(whole.subarray(0, size)) }).toEqual({ size, wrong: [] });
    }
  });
});

/** What happens to a byte, and to which: where two of them do much the same, one is tried at every third. */
const accidents: readonly (readonly [string, number, (byte: number) => number])[] = [
  ["xor 0x01", 1, (byte) => byte ^ 0x01],
  ["xor 0x20", 3, (byte) => byte ^ 0x20],
  ["xor 0xff", 1, (byte) => byte ^ 0xff],
  ["to NUL", 3, () => 0x00],
  ["to a newline", 1, () => 0x0a],
  ["to a carriage return", 3, () => 0x0d],
  ["to a quote", 1, () => 0x22],
];

function changed(offset: number, change: (byte: number) => number): Buffer {
  const bytes = Buffer.from(whole);
  bytes[offset] = change(bytes[offset] ?? 0);
  return bytes;
}

describe.each(accidents)("any one byte changed %s (004-19)", (name, every, change) => {
  it("costs at most the row it is in", async () => {
    const { read } = scene();
    const wrong: unknown[] = [];
    for (let offset = 0; offset < whole.length; offset++) {
      if (!isTried(offset, 4)) continue;
      if (offset % every !== 0 && !isLineEnd(offset) && !isLineEnd(offset - 1)) continue;
      const found = await read(changed(offset, change));
      const hit = isLineEnd(offset) ? undefined : (lineAt[offset] ?? 0) - 1; // the row, -1 for the header
      const others = rowTexts.filter((_, row) => row !== hit);
      // A row that is changed but still one is the one that was hit.
      const isChangedOnly = hit !== undefined && hit >= 0 && found.rows.length === rowTexts.length;
      const untouched = isChangedOnly ? found.rows.toSpliced(hit, 1) : found.rows;
      if (untouched.join("\n") !== others.join("\n")) wrong.push({ offset, rows: found.rows });
      if (hit === -1) continue;
      if (found.createdAt !== header.created_at || pythonJson(found.metadata) !== pythonJson(header.metadata)) {
        wrong.push({ offset, found });
      }
      // Nothing that was not summarised is hidden behind the cursor; at most one summarised row is shown again.
      const mostSummarised = hit !== undefined && hit < 3 && !isChangedOnly ? 2 : 3;
      const tooFar = found.lastConsolidated - mostSummarised;
      if (tooFar > 0 || tooFar < -1) wrong.push({ offset, found });
    }
    expect(wrong).toEqual([]);
  });

  it("does not keep the next turn from being saved, and no byte is lost", async () => {
    const { turn } = scene();
    const start = accidents.findIndex(([other]) => other === name);
    for (let offset = start; offset < whole.length; offset++) {
      if (!isTried(offset, 4)) continue;
      if (offset % 41 !== start && !isLineEnd(offset)) continue;
      expect({ offset, wrong: await turn(changed(offset, change)) }).toEqual({ offset, wrong: [] });
    }
  });
});

describe("line ends and padding", () => {
  const asLines = (end: string): Buffer => Buffer.from(lines.map((line) => `${line}${end}`).join(""), "utf8");

  it.each([
    ["a byte order mark", Buffer.concat([Buffer.from("\ufeff"), whole])],
    ["CRLF", asLines("\r\n")],
    ["CR", asLines("\r")],
    ["blank lines", asLines("\n\n \t\n")],
    ["no final newline", whole.subarray(0, -1)],
  ])("%s costs nothing and is gone after the next save", async (_, bytes) => {
    const { read, turn, names, text } = scene();
    const found = await read(bytes);
    expect(found.rows).toEqual(rowTexts);
    expect(found).toMatchObject({ createdAt: header.created_at, lastConsolidated: 3 });
    expect(await turn(bytes)).toEqual([]);
    expect(names()).toEqual([file]);
    expect(text(file).split("\n").slice(1, -2)).toEqual(rowTexts);
  });

  it.each([
    ["NULs at the end, as after a power cut", Buffer.concat([whole, Buffer.alloc(4096)])],
    ["NULs in place of the newest row", Buffer.concat([whole, Buffer.alloc(300), Buffer.from("\n")])],
    ["a megabyte of noise in between", Buffer.concat([whole, Buffer.alloc(1 << 20, 0xfe), Buffer.from("\n")])],
    ["a line that is not an object", Buffer.concat([whole, Buffer.from("[1, 2]\n17\nnull\n")])],
  ])("%s: all rows stay, the original is set aside", async (_, bytes) => {
    const { read, turn, names } = scene();
    expect((await read(bytes)).rows).toEqual(rowTexts);
    expect(await turn(bytes)).toEqual([]);
    expect(names()).toHaveLength(2);
  });

  it("invalid UTF-8 costs its own line only", async () => {
    const { read, turn } = scene();
    const bytes = Buffer.from(whole);
    bytes[whole.indexOf("ü")] = 0xff;
    expect((await read(bytes)).rows).toEqual(rowTexts.slice(1));
    expect(await turn(bytes)).toEqual([]);
  });

  it("a line of 20 MB is a row like any other (004-19)", async () => {
    const { read, turn } = scene();
    const long = pythonJson({ role: "user", content: "é".repeat(10 << 20) });
    const bytes = Buffer.concat([whole, Buffer.from(`${long}\n${rowTexts[0]}\n`)]);
    const found = await read(bytes);
    expect(found.length).toBe(rows.length + 2);
    expect(found.rows.at(-2) === long).toBe(true);
    expect(await turn(bytes)).toEqual([]);
    // Torn in the middle, it costs itself.
    const torn = Buffer.concat([whole, Buffer.from(long).subarray(0, 15 << 20), Buffer.from(`\n${rowTexts[0]}\n`)]);
    expect((await read(torn)).rows).toEqual([...rowTexts, rowTexts[0]]);
    expect(await turn(torn)).toEqual([]);
  });

  it("a row nested too deeply for Python costs itself, and so does such a header", async () => {
    const { read, turn } = scene();
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const row = Buffer.concat([whole, Buffer.from(`{"role": "user", "content": ${deep}}\n`)]);
    expect((await read(row)).rows).toEqual(rowTexts);
    expect(await turn(row)).toEqual([]);
    const head = (lines[0] ?? "")
      .replace('{"9"', `{"deep": ${deep}, "9"`)
      .replace('{"title"', `{"deep": ${deep}, "title"`);
    const bytes = Buffer.from([head, ...rowTexts, ""].join("\n"));
    expect((await read(bytes)).rows).toEqual(rowTexts);
    expect(await turn(bytes)).toEqual([]);
  });
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("what else may lie in the sessions folder", () => {
  it("keeps no session from being listed, verified and opened", async () => {
    const house = openWorkspace({ [file]: whole, "notes.jsonl": "not ours", "empty.jsonl": "", "copy.jsonl": whole });
    mkdirSync(join(house.folder, "folder.jsonl"));
    symlinkSync("/nowhere/at/all", join(house.folder, "link.jsonl"));
    const store = openStore({ workspace: house.workspace, clock: house.clock, log: house.log });
    const listed = (await collect(store.list())).map((summary) => summary.key);
    expect(listed).toContain(key);
    // A copy is a conversation of its own, opened by the key that is listed for it.
    expect(listed).toContain("copy");
    expect((await store.open("copy")).length).toBe(rows.length);
    expect((await collect(store.verify({ repair: false }))).filter((result) => result.key === key)).toMatchObject([
      { rows: rows.length, damage: [] },
    ]);
    expect((await store.open(key)).length).toBe(rows.length);
  });
});

describe("damage among old rows, behind those kept in memory", () => {
  const many = Array.from({ length: 700 }, (_, number) => pythonJson({ role: "user", content: `row ${number}` }));
  const fileWith = (damaged: number, text: string): string => [lines[0], ...many.with(damaged, text), ""].join("\n");

  it.each([10, 150, 200, 300, 699])(
    "row %i is left out and no other row is moved, doubled or missing",
    async (damaged) => {
      for (const text of ['{"role": "user", "content": "torn}', '{"\nole": "user"}', '{"role": }', '{"\ufffd}']) {
        const house = openWorkspace({ [file]: fileWith(damaged, text) });
        const session = await house.open().getOrCreate(key);
        const contents = (from: number, to?: number): unknown[] => session.slice(from, to).map((row) => row["content"]);
        const expected = many.flatMap((row, number) =>
          number === damaged ? [] : [(JSON.parse(row) as Row)["content"]],
        );
        expect(contents(0)).toEqual(expected);
        for (let from = 0; from < session.length; from += 50) {
          expect([...contents(0, from), ...contents(from)]).toEqual(expected);
        }
        expect(house.warnings.length).toBeGreaterThan(0);
      }
    },
  );

  it("stays in the file when a turn is appended, and repair sets it aside with the cursor still right", async () => {
    const before = fileWith(1, '{"role": "user", "content": "torn}');
    const house = openWorkspace({ [file]: before });
    const sessions = house.open();
    const session = await sessions.getOrCreate(key);
    session.addMessage("user", "new");
    await sessions.save(session);
    expect(house.text(file)).toContain('"torn}\n');
    const store = openStore({ workspace: house.workspace, clock: house.clock, log: house.log });
    const results = await collect(store.verify({ repair: true }));
    expect(results).toMatchObject([{ key, rows: 700, damage: [{ line: 3, reason: "not valid JSON" }] }]);
    expect(readFileSync(results[0]?.setAside ?? "", "utf8")).toContain('"torn}\n');
    const repaired = await store.open(key);
    expect(repaired.header.lastConsolidated).toBe(2);
    expect(repaired.read(2, 3)).toEqual([{ role: "user", content: "row 3" }]);
    expect((await collect(store.verify({ repair: false })))[0]?.damage).toEqual([]);
  });
});

describe("a header with odd values", () => {
  const withHeader = (fields: Readonly<Record<string, unknown>>): Buffer =>
    Buffer.from([pythonJson({ ...header, ...fields }), ...rowTexts, ""].join("\n"), "utf8");

  it.each([-1, 8, 1e9, 2.5, null, true, false, "3", "", [], [3], {}, NaN, Infinity, 10n ** 30n, undefined])(
    "last_consolidated %s hides nothing (004-13)",
    async (cursor) => {
      const { read, turn } = scene();
      const found = await read(withHeader({ last_consolidated: cursor }));
      expect(found.lastConsolidated).toBe(0);
      expect(found.rows).toEqual(rowTexts);
      expect(await turn(withHeader({ last_consolidated: cursor }))).toEqual([]);
    },
  );

  it("last_consolidated 3.0 is not a whole number in Python either (004-13)", async () => {
    const { read } = scene();
    expect((await read(Buffer.from(whole.toString().replace(": 3}", ": 3.0}")))).lastConsolidated).toBe(0);
  });

  it.each([0, 3, 7])("last_consolidated %i within the rows is kept", async (cursor) => {
    const { read } = scene();
    expect((await read(withHeader({ last_consolidated: cursor }))).lastConsolidated).toBe(cursor);
  });

  it.each([
    { created_at: "yesterday" },
    { created_at: 17 },
    { metadata: ["a"] },
    { metadata: "text" },
    { later_field: { precious: true } },
    { _type: "meta" },
  ])("%o: what the next save cannot carry over is set aside first", async (fields) => {
    const { read, turn, names } = scene();
    const found = await read(withHeader(fields));
    expect(found.rows).toEqual(rowTexts);
    expect(found.lastConsolidated).toBe(3);
    expect(await turn(withHeader(fields))).toEqual([]);
    expect(names()).toHaveLength(2);
  });

  it("created_at with a zone keeps its instant (004-22)", async () => {
    const { read } = scene();
    const times = ["2026-01-10T10:00:00Z", "2026-01-10 10:00:00+02:00", "2026-01-10"];
    const found = [];
    for (const created_at of times) found.push((await read(withHeader({ created_at }))).createdAt);
    expect(found).toEqual(["2026-01-10T10:00:00+00:00", "2026-01-10T10:00:00+02:00", "2026-01-10T00:00:00"]);
  });

  it("a key that could have this file name keeps the file, any other is taken for damage (004-18)", async () => {
    const { read, text } = scene();
    const other = withHeader({ key: "telegram*77" });
    const found = await read(other);
    expect(found).toMatchObject({ rows: [], path: expect.not.stringMatching(/telegram_77\.jsonl$/) });
    expect(text(file)).toBe(other.toString());
    expect((await read(withHeader({ key: "telegram:76" }))).rows).toEqual(rowTexts);
  });
});

describe("the recorded corpus of damaged files", () => {
  type Loaded = {
    created_at: string;
    metadata_json: string;
    messages_json: { text: string };
    last_consolidated_json: string;
    history: Record<string, { json: { text: string } } | { raises: string }>;
  };
  type Case = {
    load_clock: string;
    save_clock: string;
    results: { versions: string[]; result: { load: Loaded | null } }[];
  };
  const cases = goldenNames("corrupt").flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -6)] : []));
  const recorded = (name: string, version: string): Loaded | null =>
    goldenJson<Case>(`corrupt/${name}.expect.json`).results.find(({ versions }) => versions.includes(version))?.result
      .load ?? null;

  it.each(cases)("%s: at least what v0.3.0 recovers, and the next save loses nothing", async (name) => {
    const house = openWorkspace({ [file]: goldenBytes(`corrupt/${name}.jsonl`) });
    const { load_clock: loadClock } = goldenJson<Case>(`corrupt/${name}.expect.json`);
    house.clock.now = loadClock;
    const session = await house.open().getOrCreate(key);
    const texts = session.slice(0).map((row) => pythonJson(row));
    const loaded = recorded(name, "v0.3.0");
    if (loaded) {
      const messages = loaded.messages_json.text.split("\n").filter((text) => text !== "");
      const recoveredHeader = name === "type-other" ? messages.splice(0, 1) : [];
      expect(recoveredHeader.length === 0 || session.createdAt === "2026-01-10T10:00:00.000100").toBe(true);
      expect(texts.filter((text) => messages.includes(text))).toEqual(messages);
      // Its "now" stands for a time that it could not read; then ours may be better.
      if (loaded.created_at !== loadClock) expect(session.createdAt).toBe(loaded.created_at);
      const metadata = parsePythonJson(loaded.metadata_json);
      if (isObject(metadata) && Object.keys(metadata).length > 0) expect(session.metadata).toEqual(metadata);
      expect(session.lastConsolidated).toBe(Number(loaded.last_consolidated_json));
    }
    const wrong = await scene().turn(goldenBytes(`corrupt/${name}.jsonl`));
    expect(wrong).toEqual([]);
  });

  it.each(cases)("%s: where v0.1.4.post4 loads it, the model is shown the same", async (name) => {
    const loaded = recorded(name, "v0.1.4.post4");
    // It keeps cursors that point nowhere, and then shows nothing or fails (004-13).
    if (!loaded || !(Number(loaded.last_consolidated_json) >= 0) || name.startsWith("lc-too") || name === "lc-huge")
      return;
    const house = openWorkspace({ [file]: goldenBytes(`corrupt/${name}.jsonl`) });
    const session = await house.open().getOrCreate(key);
    for (const [max, history] of Object.entries(loaded.history)) {
      if (!("json" in history) || name === "type-other") continue;
      const shown = session.history(Number(max)).map((row) => pythonJson(row));
      expect(shown.join("\n")).toBe(history.json.text);
    }
  });
});
