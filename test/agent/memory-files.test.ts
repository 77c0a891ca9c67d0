/** A change of memory is one transaction, whatever is killed when. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMemoryFiles, type MemoryChange } from "../../src/agent/memory-files.js";
import { goldenJson } from "../support/golden.js";
import { openMemoryHouse } from "../support/memory-house.js";

const key = "cli:direct";
const entry = "[2026-06-30 12:34] Zoë 😀 went to 東京.";
const change: MemoryChange = { by: { kind: "session", key, cursor: 3 }, entry, memory: { from: "old", to: "new" } };

/** Memory files over a cursor that is a plain number. */
function openFiles() {
  const house = openMemoryHouse();
  const moved: number[] = [];
  const state = join(house.home, "state", "memory");
  const folder = join(house.workspace, "memory");
  const parts = { folder, state, fence: house.fence, clock: house.clock, log: house.log };
  let disturb = (): void => {};
  const open = () =>
    createMemoryFiles({
      ...parts,
      moveCursor: async (_, cursor) => {
        disturb();
        if (moved.at(-1) !== cursor) moved.push(cursor);
      },
    });
  return {
    ...house,
    files: open(),
    open,
    moved,
    pending: join(state, "pending.json"),
    versionNames: () => (existsSync(join(state, "versions")) ? readdirSync(join(state, "versions")) : []),
    /** The next commit dies when everything but the cursor is done. */
    dieAtCursor: () => void (disturb = () => void ((disturb = () => {}), fail())),
  };
}
const fail = (): never => {
  throw new Error("killed");
};

describe("a change of memory", () => {
  it("adds an entry to HISTORY.md, replaces MEMORY.md and moves the cursor", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "old");
    house.write("HISTORY.md", "before\n\n");
    expect(await house.files.commit(change)).toBe(true);
    expect(house.read("HISTORY.md")).toBe(`before\n\n${entry}\n\n`);
    expect(house.read("MEMORY.md")).toBe("new");
    expect(house.moved).toEqual([3]);
    expect(existsSync(house.pending)).toBe(false);
  });

  it("is refused whole if MEMORY.md is not what it was made from", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "edited");
    expect(await house.files.commit(change)).toBe(false);
    expect([house.read("HISTORY.md"), house.read("MEMORY.md"), house.moved]).toEqual([undefined, "edited", []]);
  });

  it("that leaves MEMORY.md alone does not care what it is", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "edited");
    expect(await house.files.commit({ by: change.by, entry })).toBe(true);
    expect([house.read("HISTORY.md"), house.read("MEMORY.md"), house.moved]).toEqual([`${entry}\n\n`, "edited", [3]]);
  });

  it("creates the folder if somebody has removed it", async () => {
    const house = openFiles();
    await house.files.commit({ ...change, memory: { from: "", to: "new" } });
    rmSync(join(house.workspace, "memory"), { recursive: true });
    await house.files.commit({ ...change, memory: { from: "", to: "newer" } });
    expect(house.read("MEMORY.md")).toBe("newer");
  });

  it("happens alone: twenty at once, each made from what the others left, are all there", async () => {
    const house = openFiles();
    const addLine = async (line: number): Promise<void> => {
      for (;;) {
        const before = await house.files.memory();
        const to = `${before}- ${line}\n`;
        const by = { kind: "session", key, cursor: line } as const;
        if (await house.files.commit({ by, entry: `e${line}`, memory: { from: before, to } })) return;
      }
    };
    const numbers = Array.from({ length: 20 }, (_, line) => line);
    await Promise.all(numbers.map(addLine));
    const lines = (house.read("MEMORY.md") ?? "").trimEnd().split("\n");
    expect(lines.sort()).toEqual(numbers.map((line) => `- ${line}`).sort());
    expect((house.read("HISTORY.md") ?? "").split("\n\n").length).toBe(21);
  });
});

describe("a crash in the middle of a change", () => {
  /** What a killed process leaves: how far it came with the log, the version, MEMORY.md and the cursor. */
  const history = `${entry}\n\n`;
  const bytes = Buffer.from(history);
  const states = [
    ["right after it was written down", 0, "old", []],
    ...Array.from(bytes, (_, at) => [`with ${at + 1} of ${bytes.length} bytes in the log`, at + 1, "old", []] as const),
    ["with MEMORY.md swapped", bytes.length, "new", []],
    ["with the cursor moved", bytes.length, "new", [3]],
  ] as const;

  it("is finished by whoever comes next, exactly once, from wherever it was", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "old");
    house.write("HISTORY.md", "before\n\n");
    house.dieAtCursor();
    await expect(house.files.commit(change)).rejects.toThrow("killed");
    const intent = readFileSync(house.pending);
    for (const [state, logged, memory, moved] of states) {
      writeFileSync(house.pending, intent);
      house.write("HISTORY.md", Buffer.concat([Buffer.from("before\n\n"), bytes.subarray(0, logged)]));
      house.write("MEMORY.md", memory);
      house.moved.splice(0, Infinity, ...moved);
      expect(await house.open().recover(), state).toBe(true);
      expect(house.read("HISTORY.md"), state).toBe(`before\n\n${history}`);
      expect(house.read("MEMORY.md"), state).toBe("new");
      expect(house.moved, state).toEqual([3]);
      expect(house.versionNames(), state).toEqual(["000001.json"]);
      expect(existsSync(house.pending), state).toBe(false);
    }
  });

  it("makes the next change one to be thought over: perhaps it is about the same rows", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "old");
    house.dieAtCursor();
    await expect(house.files.commit(change)).rejects.toThrow("killed");
    expect(await house.files.commit({ ...change, memory: { from: "new", to: "newer" } })).toBe(false);
    expect(house.moved).toEqual([3]);
    expect(await house.files.commit({ ...change, memory: { from: "new", to: "newer" } })).toBe(true);
    expect(house.read("MEMORY.md")).toBe("newer");
  });

  it("leaves an owner's edit of MEMORY.md alone", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "old");
    house.dieAtCursor();
    await expect(house.files.commit(change)).rejects.toThrow("killed");
    house.write("MEMORY.md", "the owner's");
    await house.files.recover();
    expect(house.read("MEMORY.md")).toBe("the owner's");
    expect(house.moved).toEqual([3]);
  });

  it("is no reason to stop when nobody can read what was left; it is kept aside and told", async () => {
    const house = openFiles();
    await house.files.commit({ ...change, memory: { from: "", to: "old" } });
    const planted = { time: "t", by: { kind: "undo" }, log: { file: "../../secret", from: 0, text: "x" } };
    for (const text of ["{", "null", JSON.stringify(planted)]) {
      writeFileSync(house.pending, text);
      expect(await house.files.recover()).toBe(true);
    }
    expect(house.warnings.length).toBe(3);
    expect(await house.files.commit(change)).toBe(true);
  });

  it("by a real kill loses no change that was acknowledged, and doubles none", { timeout: 60_000 }, async () => {
    const house = openMemoryHouse();
    const program = fileURLToPath(new URL("../support/memory-process.ts", import.meta.url));
    const acknowledged: string[] = [];
    for (const name of ["a", "b", "c"]) {
      const args = ["--import", "tsx", program, house.home, house.workspace, key, name];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      const exited = once(child, "exit");
      let changes = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        if (line === "ready") continue;
        acknowledged.push(line);
        if (++changes === 3) setTimeout(() => child.kill("SIGKILL"), Math.random() * 25);
      }
      await exited;
    }
    const files = house.folders.of(key);
    await files.recover();
    const entries = (house.read("HISTORY.md") ?? "").split("\n\n").slice(0, -1);
    const names = entries.map((text) => /^entry (\S+) (é😀){2000}$/.exec(text)?.[1]);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(acknowledged));
    expect(house.read("MEMORY.md")).toBe(names.map((name) => `- ${name}\n`).join(""));
    const session = await house.sessions.getOrCreate(key);
    const rows = session.slice(0, session.lastConsolidated).map(({ content }) => content);
    expect(rows.at(-1)).toBe(names.at(-1));
  });
});

describe("a workspace that a later nanobot has taken over", () => {
  type Golden = {
    kind: string;
    case: string;
    version: string;
    clock: string;
    entries: string[];
    files_after: Record<string, string>;
  };
  const cases = goldenJson<Golden[]>("memory/history-store.json").filter(({ kind }) => kind === "append");
  // On purpose: where a model has nothing to say, there is no entry, and no record of none.
  const said = cases.filter(({ entries }) => !entries.includes(""));
  const first = '{"cursor": 5, "timestamp": "2026-01-01 00:00", "content": "there"}\n';

  it.each(said)("gets the entries in its form: $version $case", async (golden) => {
    const house = openFiles();
    house.clock.now = golden.clock;
    const isLater = "history.jsonl" in golden.files_after;
    if (isLater) house.write("history.jsonl", first);
    for (const text of golden.entries) await house.files.commit({ by: { kind: "undo" }, entry: text });
    if (!isLater) return expect(house.read("HISTORY.md")).toBe(golden.files_after["HISTORY.md"]);
    // Counted on from the record that was there.
    const renumbered = (golden.files_after["history.jsonl"] ?? "").replaceAll(/(?<=^\{"cursor": )\d+/gm, (cursor) =>
      String(5 + Number(cursor)),
    );
    expect(house.read("history.jsonl")).toBe(first + renumbered);
    expect(house.read(".cursor")).toBe(String(5 + golden.entries.length));
    expect(house.read("HISTORY.md")).toBeUndefined();
  });

  it("dates an entry by the entry itself", async () => {
    const house = openFiles();
    house.write("history.jsonl", first);
    await house.files.commit({
      by: change.by,
      entry: "[2026-03-01 10:00] [RAW] 2 messages\n[2026-03-01T09:00] USER: hi",
    });
    expect(house.read("history.jsonl")).toBe(
      `${first}{"cursor": 6, "timestamp": "2026-03-01 10:00", "content": "[RAW] 2 messages\\n[2026-03-01T09:00] USER: hi"}\n`,
    );
  });

  it.each([
    ["the cursor file is ahead", first, "9", 10],
    ["the cursor file is behind", first, "2", 6],
    ["the cursor file is garbage", first, "x", 6],
    ["lines are garbage", `${first}{"cur\n[1]\n{"cursor": "7"}\n{"cursor": 1.5}\nnull\n`, undefined, 8],
  ])("counts on when %s", async (_, records, cursor, next) => {
    const house = openFiles();
    house.write("history.jsonl", records);
    if (cursor !== undefined) house.write(".cursor", cursor);
    await house.files.commit({ by: change.by, entry: "n" });
    expect(house.read("history.jsonl")?.trimEnd().split("\n").at(-1)).toBe(
      `{"cursor": ${next}, "timestamp": "2026-06-30 12:34", "content": "n"}`,
    );
    expect(house.read(".cursor")).toBe(String(next));
  });

  it("does not glue an entry to a line without an end", async () => {
    const house = openFiles();
    house.write("history.jsonl", '{"cursor": 5, "timest');
    await house.files.commit({ by: change.by, entry: "n" });
    expect(house.read("history.jsonl")?.split("\n")[1]).toContain('"content": "n"');
  });

  it("keeps HISTORY.md while its history.jsonl is still empty: it will be migrated from there", async () => {
    const house = openFiles();
    house.write("history.jsonl", "");
    await house.files.commit({ by: change.by, entry: "n" });
    expect(house.read("HISTORY.md")).toBe("n\n\n");
  });
});

describe("the versions of MEMORY.md", () => {
  it("tell of each change what was before and after, when, and by whom, newest first", async () => {
    const house = openFiles();
    await house.files.commit({ ...change, memory: { from: "", to: "one" } });
    house.clock.now = "2026-07-01T08:00:00";
    await house.files.commit({ by: { kind: "undo" }, entry: "", memory: { from: "one", to: "" } });
    expect(await house.files.versions()).toEqual([
      { id: 2, time: "2026-07-01T08:00:00", by: "undo", before: "one", after: "" },
      { id: 1, time: "2026-06-30T12:34:56.654321", by: key, before: "", after: "one" },
    ]);
  });

  it("tell of edits too, whoever made them, once somebody has looked", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "from nanobot");
    await house.files.noticeEdits();
    expect(await house.files.versions()).toEqual([]);
    house.write("MEMORY.md", "by a tool");
    // Another process, as if this one had been started again.
    for (let times = 0; times < 2; times++) await house.open().noticeEdits();
    house.write("MEMORY.md", "by hand");
    await house.files.commit({ ...change, memory: { from: "by hand", to: "summarised" } });
    for (let times = 0; times < 2; times++) await house.files.noticeEdits();
    expect((await house.files.versions()).map(({ by, before, after }) => [by, before, after])).toEqual([
      [key, "by hand", "summarised"],
      ["edit", "by a tool", "by hand"],
      ["edit", "from nanobot", "by a tool"],
    ]);
  });

  it("do not grow with changes that change nothing", async () => {
    const house = openFiles();
    house.write("MEMORY.md", "same");
    await house.files.commit({ ...change, memory: { from: "same", to: "same" } });
    await house.files.commit({ by: change.by, entry: "e" });
    expect(await house.files.versions()).toEqual([]);
  });

  it("are the newest two hundred", { timeout: 60_000 }, async () => {
    const house = openFiles();
    const folder = join(house.home, "state", "memory", "versions");
    mkdirSync(folder, { recursive: true });
    const version = JSON.stringify({ time: "t", by: key, before: "", after: "" });
    for (let id = 1; id <= 200; id++) writeFileSync(join(folder, `${String(id).padStart(6, "0")}.json`), version);
    writeFileSync(join(folder, ".leftover.tmp"), "");
    await house.files.commit({ ...change, memory: { from: "", to: "one" } });
    const ids = (await house.files.versions()).map(({ id }) => id);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, 201, 2]);
  });
});

describe("a link in place of memory", () => {
  it("is not followed out of the workspace, nor written over as if there were no memory", async () => {
    const house = openFiles();
    const secret = join(house.home, "config.json");
    writeFileSync(secret, "the key");
    mkdirSync(join(house.workspace, "memory"));
    symlinkSync(secret, join(house.workspace, "memory", "MEMORY.md"));
    await expect(house.files.memory()).rejects.toThrow("out of reach");
    await expect(house.files.commit({ ...change, memory: { from: "", to: "new" } })).rejects.toThrow("out of reach");
    expect(await house.files.commit({ by: change.by, entry })).toBe(true);
    expect(readFileSync(secret, "utf8")).toBe("the key");
  });

  it("is not followed when it stands for the log, or for the whole folder", async () => {
    const house = openFiles();
    const secret = join(house.home, "config.json");
    writeFileSync(secret, "the key");
    mkdirSync(join(house.workspace, "memory"));
    symlinkSync(secret, join(house.workspace, "memory", "HISTORY.md"));
    await expect(house.files.commit({ by: change.by, entry })).rejects.toThrow("out of reach");
    await expect(house.files.newestEntries(1000)).rejects.toThrow("out of reach");
    rmSync(join(house.workspace, "memory"), { recursive: true });
    symlinkSync("/tmp", join(house.workspace, "memory"));
    await expect(house.files.commit({ by: change.by, entry })).rejects.toThrow("outside");
    expect(readFileSync(secret, "utf8")).toBe("the key");
    expect(existsSync("/tmp/HISTORY.md")).toBe(false);
  });
});

describe("the newest entries", () => {
  it("are the end of HISTORY.md, in whole lines", async () => {
    const house = openFiles();
    expect(await house.files.newestEntries(1000)).toBe("");
    house.write("HISTORY.md", "first ä\n\nsecond\n\nthird\n\n");
    expect(await house.files.newestEntries(1000)).toBe("first ä\n\nsecond\n\nthird\n\n");
    expect(await house.files.newestEntries(12)).toBe("\nthird\n\n");
  });

  it("are those of history.jsonl where a later nanobot keeps them", async () => {
    const house = openFiles();
    house.write("HISTORY.md", "old\n");
    house.write("history.jsonl", '{"cursor": 1}\n');
    expect(await house.files.newestEntries(1000)).toBe('{"cursor": 1}\n');
  });
});
