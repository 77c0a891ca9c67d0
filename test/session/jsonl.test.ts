import { describe, expect, it } from "vitest";
import { sessionFileName } from "../../src/session/key.js";
import { type DriverName, openStore } from "../../src/session/open.js";
import { openWorkspace } from "../support/workspace.js";

describe("a key whose file name another key has taken", () => {
  it("gets the name where nanobot v0.3.0 looks for it", async () => {
    const house = openWorkspace();
    const sessions = house.open();
    for (const key of ["a:b", "a_b"]) {
      const session = await sessions.getOrCreate(key);
      session.addMessage("user", key);
      await sessions.save(session);
    }
    await sessions.close();
    expect(house.names()).toEqual(["YV9i.jsonl", "a_b.jsonl"]);
    expect(sessionFileName("a_b", { naming: "base64url" })).toBe("YV9i.jsonl");
  });

  it("gets a readable name with a fingerprint where that one would be too long", async () => {
    const house = openWorkspace();
    const sessions = house.open();
    const keys = [`a:${"x".repeat(200)}`, `a_${"x".repeat(200)}`];
    for (const key of keys) {
      const session = await sessions.getOrCreate(key);
      session.addMessage("user", key);
      await sessions.save(session);
    }
    expect((await sessions.list()).map(({ key }) => key).sort()).toEqual(keys);
    await sessions.close();
    expect(house.names().filter((name) => /^a_x+~[0-9a-f]{8}\.jsonl$/.test(name))).toHaveLength(1);
  });
});

describe("a file whose header names a key that cannot be its own", () => {
  const header = '{"_type": "metadata", "key": "other:1", "metadata": {}, "last_consolidated": 0}\n';
  const row = '{"role": "user", "content": "hi"}\n';

  it("belongs to the first key that opens it, and to no second one", async () => {
    const sessions = openWorkspace({ "telegram_77.jsonl": header + row }).open();
    expect((await sessions.getOrCreate("telegram:77")).length).toBe(1);
    expect((await sessions.getOrCreate("telegram_77")).length).toBe(0);
  });

  it.each([header, "garbage\n"])("is still found by its true key after a repair (%j)", async (damaged) => {
    const { workspace, clock, log, open } = openWorkspace({ "telegram_-100_topic_5.jsonl": damaged + row });
    const store = openStore({ workspace, clock, log });
    for await (const { setAside } of store.verify({ repair: true })) expect(setAside).toBeDefined();
    for await (const { damage } of store.verify({ repair: false })) expect(damage).toEqual([]);
    expect((await open().getOrCreate("telegram:-100:topic:5")).length).toBe(1);
  });
});

describe("verify --repair", () => {
  it("keeps a turn that is written while it looks", async () => {
    const name = "telegram_1.jsonl";
    const house = openWorkspace({ [name]: '{"_type": "metadata", "key": "telegram:1"}\n{"role": "user"}\ntorn\n' });
    const repairs = openStore(house).verify({ repair: true })[Symbol.asyncIterator]();
    const other = house.open();
    const session = await other.getOrCreate("telegram:1");
    session.addMessage("user", "meanwhile");
    const [repaired] = await Promise.all([repairs.next(), other.save(session)]);
    expect(repaired.value).toMatchObject({ key: "telegram:1" });
    expect(house.text(name)).toContain("meanwhile");
  });
});

describe("a row that could not be read again", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  it.each([
    ["nested too deeply", nested(2000)],
    ["integer too long", 10n ** 5000n],
  ])("is refused before anything is written: %s", async (reason, content) => {
    const house = openWorkspace();
    const sessions = house.open();
    const session = await sessions.getOrCreate("a:b");
    session.addMessage("user", content);
    await expect(sessions.save(session)).rejects.toThrow(reason);
    session.addMessage("user", "next");
    await sessions.save(session);
    expect((await house.open().getOrCreate("a:b")).slice(0)).toMatchObject([{ content: "next" }]);
  });
});

describe("openSessions", () => {
  it.each(["jsnol", "toString"])("names the drivers when it is given one that nobody knows: %s", (driver) => {
    expect(() => openWorkspace().open({ driver: driver as DriverName })).toThrow(`"${driver}", which nobody knows`);
  });
});

describe("verifying a long conversation", () => {
  it("lets others have their turns meanwhile", async () => {
    const house = openWorkspace();
    const sessions = house.open();
    const session = await sessions.getOrCreate("a:1");
    session.addRows(Array.from({ length: 10_000 }, (_, number) => ({ role: "user", content: `row ${number}` })));
    await sessions.save(session);
    let turns = 0;
    const taking = setInterval(() => turns++, 0);
    const store = openStore({ workspace: house.workspace });
    for await (const { rows, damage } of store.verify({ repair: false, only: "a:1" })) {
      expect([rows, damage]).toEqual([10_000, []]);
    }
    clearInterval(taking);
    expect(turns).toBeGreaterThan(5);
    await sessions.close();
  });
});
