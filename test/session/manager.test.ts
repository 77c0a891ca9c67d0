import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as macrotask } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../../src/session/manager.js";
import { driverNames, type DriverName, openStore } from "../../src/session/open.js";
import { pythonJson } from "../../src/session/python-json.js";
import type { Session } from "../../src/session/session.js";
import { ChangedElsewhere } from "../../src/session/store.js";
import { watched } from "../support/watched-store.js";
import { openWorkspace } from "../support/workspace.js";

const key = "telegram:42";
const file = "telegram_42.jsonl";

function openHouse(options: { cacheSize?: number; driver?: DriverName } = {}) {
  const { cacheSize = 128, driver = "jsonl" } = options;
  const house = openWorkspace();
  const { workspace, clock, log } = house;
  const store = watched(openStore({ workspace, clock, log, driver }));
  const sessions = new SessionManager({ store, clock, cacheSize });
  return {
    ...house,
    store,
    sessions,
    /** A turn of two rows, saved. */
    turn: async (of: string, text: string): Promise<Session> => {
      const session = await sessions.getOrCreate(of);
      session.addMessage("user", text);
      session.addMessage("assistant", `re: ${text}`);
      await sessions.save(session);
      return session;
    },
    /** What another process finds. */
    onDisk: async (of = key): Promise<unknown[]> => said(await house.open({ driver }).getOrCreate(of)),
    /** nanobot's way of saving: the whole file anew, in place. */
    rewrite: (change: (lines: string[]) => string[], name = file): void => {
      const path = join(house.folder, name);
      const lines = readFileSync(path, "utf8").trimEnd().split("\n");
      writeFileSync(path, `${change(lines).join("\n")}\n`);
    },
    /** An editor's way: a new file, renamed over the old one. */
    edit: (change: (text: string) => string): void => {
      const path = join(house.folder, file);
      writeFileSync(`${path}.swp`, change(readFileSync(path, "utf8")));
      renameSync(`${path}.swp`, path);
    },
  };
}

const said = (session: Session): unknown[] => session.slice(0).map((row) => row["content"]);
const theirs = pythonJson({ role: "user", content: "theirs", timestamp: "2026-01-01T00:00:00" });

/** Those of them that somebody still refers to. */
async function stillHeld<T extends object>(found: readonly WeakRef<T>[]): Promise<ReadonlySet<WeakRef<T>>> {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  for (let round = 0; round < 5; round++) {
    await macrotask();
    collectGarbage();
  }
  return new Set(found.filter((one) => one.deref()));
}

describe("the cache", () => {
  it("reads a session once; later accesses ask only whether it is still the same (004-4)", async () => {
    const { sessions, store, turn } = openHouse();
    await turn(key, "one");
    store.calls.length = 0;
    const first = await sessions.getOrCreate(key);
    const second = await sessions.getOrCreate(key);
    expect(second).toBe(first);
    expect(second.history().length).toBe(2);
    expect(store.calls).toEqual(["isCurrent", "isCurrent"]);
  });

  it("reads nothing at all after its own saves (004-6, 004-7)", async () => {
    const { store, turn, onDisk } = openHouse();
    for (const text of ["one", "two", "three"]) await turn(key, text);
    expect(store.calls.filter((call) => call === "open" || call === "append")).toEqual([
      "open",
      "append",
      "append",
      "append",
    ]);
    expect(await onDisk()).toEqual(["one", "re: one", "two", "re: two", "three", "re: three"]);
  });

  it("is bounded: what nobody uses any more is let go (004-23)", async () => {
    const { sessions } = openHouse({ cacheSize: 4 });
    const found: WeakRef<Session>[] = [];
    for (let number = 0; number < 40; number++) {
      found.push(new WeakRef(await sessions.getOrCreate(`telegram:${number}`)));
    }
    const kept = await stillHeld(found);
    expect(kept.size).toBeLessThan(10);
    expect(found.slice(-4).every((session) => kept.has(session))).toBe(true);
  });

  it("is bounded by rows too: long conversations are let go sooner than short ones (004-23)", async () => {
    const { sessions } = openHouse({ cacheSize: 1000 });
    const openAll = async (name: string, rows: number): Promise<WeakRef<Session>[]> => {
      const found: WeakRef<Session>[] = [];
      for (let number = 0; number < 40; number++) {
        const session = await sessions.getOrCreate(`${name}:${number}`);
        session.addRows(Array.from({ length: rows }, () => ({ role: "user", content: "x" })));
        await sessions.save(session);
        found.push(new WeakRef(session));
      }
      return found;
    };
    const short = await openAll("short", 2);
    expect((await stillHeld(short)).size).toBe(40);
    const long = await openAll("long", 128);
    const kept = await stillHeld(long);
    expect(kept.size).toBeLessThan(40);
    expect(long.slice(-30).every((session) => kept.has(session))).toBe(true);
  });

  it("lets the least recently used one go first (004-23)", async () => {
    const { sessions, store } = openHouse({ cacheSize: 2 });
    await sessions.getOrCreate("a:1");
    await sessions.getOrCreate("a:2");
    await sessions.getOrCreate("a:1");
    await sessions.getOrCreate("a:3"); // a:2 goes
    store.calls.length = 0;
    await sessions.getOrCreate("a:1");
    await sessions.getOrCreate("a:3");
    expect(store.calls).not.toContain("open");
  });

  it("never has a session in use twice, not even after pushing it out (004-21)", async () => {
    const { sessions, turn, onDisk } = openHouse({ cacheSize: 1 });
    const held = await turn(key, "one");
    for (let number = 0; number < 5; number++) await turn(`other:${number}`, "x");
    expect(await sessions.getOrCreate(key)).toBe(held);
    for (let number = 0; number < 5; number++) await turn(`other:${number}`, "x");
    held.addMessage("user", "two");
    await sessions.save(held);
    expect(await onDisk()).toEqual(["one", "re: one", "two"]);
  });

  it("loses no unsaved row by pushing a session out", async () => {
    const { sessions, turn, onDisk } = openHouse({ cacheSize: 1 });
    await sessions.getOrCreate(key).then((session) => session.addMessage("user", "unsaved"));
    for (let number = 0; number < 5; number++) await turn(`other:${number}`, "x");
    await macrotask();
    const again = await sessions.getOrCreate(key);
    expect(said(again)).toEqual(["unsaved"]);
    await sessions.save(again);
    expect(await onDisk()).toEqual(["unsaved"]);
  });

  it("invalidated, reads the disk at the next access, and rows never saved are gone (004-9)", async () => {
    const { sessions, store, turn, rewrite } = openHouse();
    const session = await turn(key, "one");
    session.addMessage("user", "never saved");
    rewrite((lines) => [...lines, theirs]);
    sessions.invalidate(key);
    store.calls.length = 0;
    const again = await sessions.getOrCreate(key);
    expect(store.calls).toContain("open");
    expect(said(again)).toEqual(["one", "re: one", "theirs"]);
    expect(again).toBe(session); // whoever still holds it sees the same
  });

  it("of an unknown key invalidates nothing", async () => {
    const { sessions } = openHouse();
    sessions.invalidate("nobody:0");
    expect((await sessions.getOrCreate("nobody:0")).length).toBe(0);
  });

  it("tries again after an access that failed", async () => {
    const { sessions, store } = openHouse();
    store.before = () => {
      throw new Error("disk on fire");
    };
    await expect(sessions.getOrCreate(key)).rejects.toThrow("disk on fire");
    store.before = () => {};
    expect((await sessions.getOrCreate(key)).length).toBe(0);
  });

  it("lists sessions, the most recently updated first (004-23)", async () => {
    const { sessions, clock, turn } = openHouse();
    for (const [of, time] of [
      ["a:1", "2026-03-01T00:00:00"],
      ["a:2", "2026-03-03T00:00:00"],
      ["a:3", "2026-03-02T00:00:00"],
    ] as const) {
      clock.now = time;
      await turn(of, "x");
    }
    expect((await sessions.list()).map((summary) => summary.key)).toEqual(["a:2", "a:3", "a:1"]);
  });
});

describe("a write by another program", () => {
  const ways = [
    ["nanobot's full rewrite", (house: ReturnType<typeof openHouse>) => house.rewrite((lines) => [...lines, theirs])],
    ["an editor's rename", (house: ReturnType<typeof openHouse>) => house.edit((text) => `${text}${theirs}\n`)],
  ] as const;

  it.each(ways)("(%s) is seen at the next access", async (_, write) => {
    const house = openHouse();
    await house.turn(key, "one");
    write(house);
    expect(said(await house.sessions.getOrCreate(key))).toEqual(["one", "re: one", "theirs"]);
  });

  it.each(ways)("(%s) in the middle of a turn stays, and the turn goes behind it", async (_, write) => {
    const house = openHouse();
    await house.turn(key, "one");
    const session = await house.sessions.getOrCreate(key);
    session.addMessage("user", "two");
    session.metadata["ours"] = 1;
    write(house);
    session.addMessage("assistant", "re: two");
    await house.sessions.save(session);
    expect(said(session)).toEqual(["one", "re: one", "theirs", "two", "re: two"]);
    expect(await house.onDisk()).toEqual(said(session));
    expect(session.metadata).toEqual({ ours: 1 });
  });

  it.each(ways)("(%s) makes a clear() fail, for it would take rows nobody has seen", async (_, write) => {
    const house = openHouse();
    const session = await house.turn(key, "one");
    session.clear();
    session.addMessage("user", "new");
    write(house);
    await expect(house.sessions.save(session)).rejects.toThrow(ChangedElsewhere);
    expect(await house.onDisk()).toEqual(["one", "re: one", "theirs"]);
    expect(said(session)).toEqual(["one", "re: one", "theirs"]);
    session.clear();
    await house.sessions.save(session);
    expect(await house.onDisk()).toEqual([]);
  });

  it("keeps its changes of the metadata; ours are added to them", async () => {
    const { sessions, turn, rewrite, open } = openHouse();
    const session = await turn(key, "one");
    Object.assign(session.metadata, { mine: 1, both: "old", gone: 1 });
    await sessions.save(session);
    session.addMessage("user", "two");
    session.metadata["mine"] = 2;
    delete session.metadata["gone"];
    rewrite(([head = "", ...lines]) => [head.replace('"both": "old"', '"both": "new", "title": "theirs"'), ...lines]);
    await sessions.save(session);
    expect(session.metadata).toEqual({ mine: 2, both: "new", title: "theirs" });
    expect((await open().getOrCreate(key)).metadata).toEqual(session.metadata);
  });

  it("never puts their rows behind our cursor, unsummarised", async () => {
    const { sessions, turn, rewrite, open } = openHouse();
    const session = await turn(key, "one");
    session.addMessage("user", "two");
    session.addMessage("assistant", "re: two");
    session.lastConsolidated = 4;
    rewrite((lines) => [...lines, theirs]);
    await sessions.save(session);
    expect(session.lastConsolidated).toBe(2);
    expect((await open().getOrCreate(key)).lastConsolidated).toBe(2);
  });

  it("which was a /new and a longer conversation takes our cursor back", async () => {
    const { sessions, turn, rewrite } = openHouse();
    const session = await turn(key, "one");
    session.addMessage("user", "two");
    session.lastConsolidated = 2;
    rewrite(([head = ""]) => [head, theirs, theirs, theirs, theirs]);
    await sessions.save(session);
    expect(said(session)).toEqual(["theirs", "theirs", "theirs", "theirs", "two"]);
    expect(session.lastConsolidated).toBe(0);
  });

  it("that took the file away is noticed too", async () => {
    const { sessions, turn, folder, onDisk } = openHouse();
    const session = await turn(key, "one");
    rmSync(join(folder, file));
    session.addMessage("user", "two");
    await sessions.save(session);
    expect(await onDisk()).toEqual(["two"]);
    rmSync(join(folder, file));
    expect((await sessions.getOrCreate(key)).length).toBe(0);
  });

  it("that left damage behind is repaired by the next save", async () => {
    const { sessions, turn, edit, onDisk, names } = openHouse();
    const session = await turn(key, "one");
    edit((text) => `${text}{"role": "user", "cont`);
    session.addMessage("user", "two");
    await sessions.save(session);
    expect(await onDisk()).toEqual(["one", "re: one", "two"]);
    expect(names().filter((name) => name.includes(".damaged-"))).toHaveLength(1);
  });
});

describe.each(driverNames)("%s: a save that fails", (driver) => {
  const full = (): never => {
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  };

  it("leaves memory and disk as they were, whichever operation it is (cross-seed 3)", async () => {
    for (let k = 1; ; k++) {
      const { sessions, store, turn, onDisk } = openHouse({ driver });
      const session = await turn(key, "one");
      session.metadata["title"] = "before";
      await sessions.save(session);
      let count = 0;
      store.before = () => (++count === k ? full() : undefined);
      const work = async (): Promise<void> => {
        const found = await sessions.getOrCreate(key);
        found.addMessage("user", "two");
        found.metadata["title"] = "after";
        found.lastConsolidated = 2;
        await sessions.save(found);
        const cleared = await sessions.getOrCreate(key);
        cleared.clear();
        await sessions.save(cleared);
      };
      const error = await work().catch((reason: unknown) => reason);
      store.before = () => {};
      const state = { said: said(session), title: session.metadata["title"], cursor: session.lastConsolidated };
      expect([
        { said: ["one", "re: one"], title: "before", cursor: 0 },
        { said: ["one", "re: one", "two"], title: "after", cursor: 2 },
        { said: [], title: "after", cursor: 0 },
      ]).toContainEqual(state);
      expect(await onDisk()).toEqual(state.said);
      // And the next turn works as if nothing had been.
      await turn(key, "next");
      expect(await onDisk()).toEqual([...state.said, "next", "re: next"]);
      if (error === undefined) {
        expect(k).toBeGreaterThan(4);
        return;
      }
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  });

  it("because the metadata has no JSON form does not hold up the turns that follow", async () => {
    const { sessions } = openHouse({ driver });
    const session = await sessions.getOrCreate(key);
    session.metadata["bad"] = (() => 1) as never;
    session.addMessage("user", "lost");
    await expect(sessions.save(session)).rejects.toThrow("no JSON form");
    expect([session.length, session.metadata]).toEqual([0, {}]);
    session.addMessage("user", "next");
    await sessions.save(session);
    expect(session.slice(0)).toMatchObject([{ content: "next" }]);
  });

  it("does not take along a row that was added while it was being written", async () => {
    const { sessions, store, turn, onDisk } = openHouse({ driver });
    const session = await turn(key, "one");
    session.addMessage("user", "lost with its turn");
    store.before = (call) => {
      if (call !== "append") return;
      session.addMessage("user", "the next turn");
      full();
    };
    await expect(sessions.save(session)).rejects.toThrow("ENOSPC");
    store.before = () => {};
    const again = await sessions.getOrCreate(key);
    expect(said(again)).toEqual(["one", "re: one", "the next turn"]);
    await sessions.save(again);
    expect(await onDisk()).toEqual(["one", "re: one", "the next turn"]);
  });

  it("after others wrote, too often in a row, gives up with an error and an unchanged session", async () => {
    const { sessions, store, turn, open } = openHouse({ driver });
    const session = await turn(key, "one");
    session.addMessage("user", "two");
    const other = open({ driver });
    store.before = async (call) => {
      if (call !== "append") return;
      const their = await other.getOrCreate(key);
      their.addMessage("user", "theirs");
      await other.save(their);
    };
    await expect(sessions.save(session)).rejects.toThrow(ChangedElsewhere);
    store.before = () => {};
    const after = said(await sessions.getOrCreate(key));
    expect(after).not.toContain("two");
    expect(after).toEqual(said(await open({ driver }).getOrCreate(key)));
  });
});

describe.each(driverNames)("%s: /new while an old turn is in flight (004-21)", (driver) => {
  it("wins over a save that is just being written", async () => {
    const { sessions, store, turn, onDisk } = openHouse({ driver });
    const session = await turn(key, "old");
    session.addMessage("user", "old too");
    store.before = (call) => {
      if (call !== "append" || session.isCleared) return;
      session.clear();
      session.addMessage("user", "new");
    };
    await sessions.save(session);
    expect(said(session)).toEqual(["new"]);
    await sessions.save(session);
    expect(said(session)).toEqual(["new"]);
    expect(await onDisk()).toEqual(["new"]);
  });

  it("wins over a save that fails", async () => {
    const { sessions, store, turn, onDisk } = openHouse({ driver });
    const session = await turn(key, "old");
    session.addMessage("user", "old too");
    store.before = (call) => {
      if (call !== "append") return;
      session.clear();
      throw new Error("disk on fire");
    };
    await expect(sessions.save(session)).rejects.toThrow("disk on fire");
    store.before = () => {};
    expect(said(session)).toEqual([]);
    await sessions.save(session);
    expect(await onDisk()).toEqual([]);
  });

  it("leaves the old turn, when it ends at last, only its own rows", async () => {
    const { sessions, turn, onDisk } = openHouse({ driver });
    const inFlight = await turn(key, "old");
    // /new: clear, save, invalidate, while somebody still holds the session and waits for the model.
    const current = await sessions.getOrCreate(key);
    current.clear();
    await sessions.save(current);
    sessions.invalidate(key);
    const next = await sessions.getOrCreate(key);
    expect(next).toBe(inFlight);
    expect(said(next)).toEqual([]);
    inFlight.addMessage("assistant", "late answer");
    await sessions.save(inFlight);
    expect(said(next)).toEqual(["late answer"]);
    expect(await onDisk()).toEqual(["late answer"]);
  });

  it("keeps created_at and metadata, resets the cursor (004-13, 004-22)", async () => {
    const { sessions, clock, turn, open } = openHouse({ driver });
    const session = await turn(key, "old");
    const { createdAt } = session;
    session.metadata["title"] = "kept";
    session.lastConsolidated = 2;
    await sessions.save(session);
    clock.now = "2027-01-01T00:00:00";
    session.clear();
    expect(session.lastConsolidated).toBe(0);
    await sessions.save(session);
    const found = await open({ driver }).getOrCreate(key);
    expect(found).toMatchObject({ createdAt, length: 0, lastConsolidated: 0, metadata: { title: "kept" } });
  });
});

describe("a session", () => {
  it("takes a cursor only from 0 to the number of its rows (004-13)", async () => {
    const { turn } = openHouse();
    const session = await turn(key, "one");
    for (const bad of [-1, 3, 0.5, NaN, Infinity]) {
      expect(() => (session.lastConsolidated = bad)).toThrow(RangeError);
    }
    expect(session.lastConsolidated).toBe(0);
  });

  it("reads any slice, whether in memory, on disk or not yet saved", async () => {
    const { sessions, open } = openHouse();
    const rows = Array.from({ length: 1500 }, (_, content) => ({ role: "user", content, timestamp: "t" }));
    const session = await sessions.getOrCreate(key);
    session.addRows(rows.slice(0, 1400));
    await sessions.save(session);
    for (const found of [session, await open().getOrCreate(key)]) {
      found.addRows(rows.slice(1400));
      for (const from of [0, 1, 700, 887, 888, 889, 1399, 1400, 1401, 1499, 1500, 1600]) {
        for (const to of [0, 1, 888, 1399, 1400, 1401, 1500, 1600]) {
          expect(found.slice(from, to)).toEqual(rows.slice(from, Math.max(from, to)));
        }
      }
    }
  });

  it("takes a turn of very many rows at once", async () => {
    const { sessions, onDisk } = openHouse();
    const session = await sessions.getOrCreate(key);
    session.addRows(Array.from({ length: 130_000 }, () => ({ role: "user", content: "", timestamp: "t" })));
    await sessions.save(session);
    expect(session.length).toBe(130_000);
    expect((await onDisk()).length).toBe(130_000);
  });

  it("shows a model only role, content, tool_calls, tool_call_id and name (004-8)", async () => {
    const { sessions } = openHouse();
    const session = await sessions.getOrCreate(key);
    const row = { role: "user", tool_calls: [], tool_call_id: "x", name: "n", content: null };
    session.addRows([{ ...row, timestamp: "t", tools_used: ["a"], _secret: 1, reasoning_content: "r" }]);
    expect(session.history()).toEqual([row]);
    expect(Object.keys(session.history()[0] ?? {})).toEqual(["role", "content", "tool_calls", "tool_call_id", "name"]);
  });
});
