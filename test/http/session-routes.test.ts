/** Conversations over HTTP. */
import { describe, expect, it } from "vitest";
import type { RowPage, SessionList } from "../../src/http/api.js";
import { checkedClient } from "../support/checked-client.js";
import { openDoor } from "../support/door.js";

async function openSessionsDoor(keys: readonly string[], rows = 3) {
  const door = await openDoor();
  for (const key of keys) {
    const session = await door.house.sessions.getOrCreate(key);
    for (let at = 0; at < rows; at++) session.addMessage("user", `row ${at}`);
    await door.house.sessions.save(session);
  }
  return { ...door, client: await checkedClient(door.url) };
}

describe("GET /api/sessions", () => {
  it("lists as many as asked for, and not more than 200", async () => {
    const { client } = await openSessionsDoor(
      Array.from({ length: 210 }, (_, at) => `a:${at}`),
      1,
    );
    const list = (query: Record<string, string | number>): Promise<SessionList> =>
      client.get("GET /api/sessions", {}, { query });
    expect((await list({})).sessions).toHaveLength(50);
    expect((await list({ limit: 1000 })).sessions).toHaveLength(200);
    expect((await list({ limit: 7, offset: 205 })).sessions).toHaveLength(5);
    expect(await list({ q: "a:77" })).toMatchObject({ total: 1, sessions: [{ key: "a:77" }] });
    expect((await list({ limit: "many", offset: -5 })).sessions).toHaveLength(50);
  });
});

describe("GET /api/sessions/:key/rows", () => {
  it.each(["telegram:42", "a/b:c", "file:Notes%2Fa.md", "50%", "ümläut:1", "?:#"])("finds %s", async (key) => {
    const { client } = await openSessionsDoor([key]);
    expect(await client.get("GET /api/sessions/{key}/rows", { key })).toMatchObject({ total: 3, from: 0 });
  });

  it("gives the newest, or those before a row, with their lines if asked to", async () => {
    const { client } = await openSessionsDoor(["a:1"], 10);
    const rows = async (query: Record<string, string | number>): Promise<[number, ...unknown[]]> => {
      const page: RowPage = await client.get("GET /api/sessions/{key}/rows", { key: "a:1" }, { query });
      expect(page.lines?.map((line) => JSON.parse(line) as unknown) ?? page.rows).toEqual(page.rows);
      expect(page.lines !== undefined).toBe(query["raw"] === 1);
      return [page.from, ...page.rows.map(({ content }) => content)];
    };
    expect(await rows({ limit: 2 })).toEqual([8, "row 8", "row 9"]);
    expect(await rows({ limit: 2, before: 8, raw: 1 })).toEqual([6, "row 6", "row 7"]);
    expect(await rows({ limit: 5, before: 2 })).toEqual([0, "row 0", "row 1"]);
    expect(await rows({ before: 0 })).toEqual([0]);
    expect(await rows({ before: 99, limit: 1 })).toEqual([9, "row 9"]);
  });

  it("of a conversation that is not there is a 404, or empty for whoever says so", async () => {
    const { client, url } = await openSessionsDoor([]);
    expect((await fetch(`${url}/api/sessions/web%3Anew/rows`)).status).toBe(404);
    const page = await client.get("GET /api/sessions/{key}/rows", { key: "web:new" }, { query: { empty: 1 } });
    expect(page).toEqual({ total: 0, from: 0, rows: [] });
  });
});

describe("GET /api/sessions/:key/export", () => {
  it("is a file with a name, of a name that can be one", async () => {
    const { url } = await openSessionsDoor(["a/b:1"]);
    const response = await fetch(`${url}/api/sessions/${encodeURIComponent("a/b:1")}/export`);
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''a%252Fb%3A1.jsonl");
    expect((await response.text()).trim().split("\n")).toHaveLength(4);
  });
});
