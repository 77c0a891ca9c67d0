import { describe, expect, it } from "vitest";
import { sessionFileName } from "../../src/session/key.js";
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
