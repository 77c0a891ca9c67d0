/** What is remembered, over HTTP. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { MemoryDiff, MemoryView } from "../../src/http/api.js";
import { checkedClient } from "../support/checked-client.js";
import { openGatewayApp, type GatewayAppOptions } from "../support/gateway-app.js";

async function openMemoryDoor(options: GatewayAppOptions = {}) {
  const house = await openGatewayApp(options);
  const folder = join(house.workspace, "memory");
  mkdirSync(folder, { recursive: true });
  const client = await checkedClient(house.url);
  return {
    ...house,
    client,
    look: (query = {}): Promise<MemoryView> => client.get("GET /api/memory", {}, { query }),
    write: (name: string, text: string): void => writeFileSync(join(folder, name), text),
  };
}

describe("GET /api/memory", () => {
  it("shows the text, the end of the log, and every change, those by hand included", async () => {
    const { look, write, client } = await openMemoryDoor();
    write("MEMORY.md", "one\n");
    write("HISTORY.md", "[2026-01-01 10:00] We met.\n\n");
    await look();
    write("MEMORY.md", "two\n");
    const { memory, history, changes } = await look();
    expect([memory, history]).toEqual(["two\n", "[2026-01-01 10:00] We met.\n\n"]);
    const { id = "" } = changes[0] ?? {};
    expect(changes[0]).toMatchObject({ by: "edit", isUndoable: true });
    const diff: MemoryDiff = await client.get("GET /api/memory/{id}", { id });
    expect(diff).toEqual({ ...changes[0], before: "one\n", after: "two\n" });
  });
});

describe("POST /api/memory/:id/undo", () => {
  it("takes the last change back, as a change that can be undone", async () => {
    const { look, write, client } = await openMemoryDoor();
    for (const text of ["one", "two", "three"]) {
      write("MEMORY.md", text);
      await look();
    }
    const { changes } = await look();
    const [last = { id: "" }, older = { id: "", isUndoable: true }] = changes;
    expect(older.isUndoable).toBe(false);
    expect((await client.call("POST /api/memory/{id}/undo", { id: older.id })).status).toBe(409);
    expect((await look()).memory).toBe("three");
    expect(await client.get("POST /api/memory/{id}/undo", { id: last.id })).toEqual({ done: true });
    const after = await look();
    expect(after.memory).toBe("two");
    expect(after.changes[0]).toMatchObject({ by: "undo", isUndoable: true });
    await client.get("POST /api/memory/{id}/undo", { id: after.changes[0]?.id ?? "" });
    expect((await look()).memory).toBe("three");
  });
});

describe("where each chat has a memory of its own", () => {
  it("it has to be said whose", async () => {
    const { look, client } = await openMemoryDoor({ config: { memory: { scope: "chat" } } });
    expect((await client.call("GET /api/memory")).status).toBe(400);
    expect((await client.call("GET /api/memory/{id}", { id: "1" })).status).toBe(400);
    expect((await client.call("POST /api/memory/{id}/undo", { id: "1" })).status).toBe(400);
    expect(await look({ session: "telegram:1" })).toMatchObject({ memory: "", changes: [] });
  });
});
