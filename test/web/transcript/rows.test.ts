/** The rows of a session, loaded as they are looked at. */
import { describe, expect, it, vi } from "vitest";
import type { RowPage } from "../../../src/http/api.js";
import type { Row } from "../../../src/message.js";
import type { Api } from "../../../web/src/api/client.js";
import { createRows } from "../../../web/src/transcript/rows.js";

/** A session of a gateway, and what it was asked for. */
function openSession(rows: Row[]) {
  const asked: string[] = [];
  const get = async (path: string): Promise<unknown> => {
    asked.push(path);
    const query = new URLSearchParams(path.split("?")[1]);
    const before = Number(query.get("before") ?? rows.length);
    const from = Math.max(0, before - Number(query.get("limit")));
    const page: RowPage = { total: rows.length, from, rows: rows.slice(from, before) };
    return page;
  };
  return { rows, asked, api: { get } as unknown as Api };
}

const numbered = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({ role: "user", content: `${at}` }));

describe("rows", () => {
  it("are loaded from the newest backwards, and further up when somebody looks there", async () => {
    const session = openSession(numbered(100_000));
    const rows = createRows({ api: session.api, session: "telegram:-100/5" });
    await rows.refresh();
    expect(rows.total.value).toBe(100_000);
    expect(rows.row(99_999)).toEqual({ role: "user", content: "99999" });
    expect(rows.row(50_000)).toBeUndefined();
    rows.want({ from: 50_010, to: 50_030 });
    await vi.waitFor(() => expect(rows.row(50_020)).toEqual({ role: "user", content: "50020" }));
    expect(session.asked).toEqual([
      "api/sessions/telegram%3A-100%2F5/rows?limit=100&empty=1",
      "api/sessions/telegram%3A-100%2F5/rows?before=50100&limit=100&empty=1",
    ]);
  });

  it("that only fly past are not asked for", async () => {
    const session = openSession(numbered(100_000));
    const rows = createRows({ api: session.api, session: "a:b" });
    await rows.refresh();
    for (let from = 0; from < 50_000; from += 500) rows.want({ from, to: from + 20 });
    await vi.waitFor(() => expect(rows.row(49_500)).toBeDefined());
    expect(session.asked).toHaveLength(2);
  });

  it("that were added are found, and those of a conversation that began anew forgotten", async () => {
    const session = openSession(numbered(3));
    const rows = createRows({ api: session.api, session: "a:b" });
    await rows.refresh();
    session.rows.push({ role: "user", content: "more" });
    await rows.refresh();
    expect(rows.newest().map((row) => row["content"])).toEqual(["0", "1", "2", "more"]);
    session.rows.splice(0, 9, { role: "user", content: "anew" });
    await rows.refresh();
    expect([rows.total.value, rows.row(0), rows.row(1)]).toEqual([1, { role: "user", content: "anew" }, undefined]);
  });

  it("that were rewritten are loaded anew when everything may be wrong", async () => {
    const session = openSession(numbered(250));
    const rows = createRows({ api: session.api, session: "a:b" });
    await rows.refresh();
    session.rows[249] = { role: "user", content: "another" };
    await rows.refresh("all");
    expect(rows.row(249)).toEqual({ role: "user", content: "another" });
  });

  it("of a conversation that has not begun are none", async () => {
    const rows = createRows({ api: openSession([]).api, session: "web:new" });
    await rows.refresh();
    expect([rows.total.value, rows.problem.value]).toEqual([0, undefined]);
  });

  it("say what went wrong, and stay", async () => {
    const session = openSession(numbered(3));
    const get = vi.fn((path: string) => session.api.get(path));
    const rows = createRows({ api: { ...session.api, get } as unknown as Api, session: "a:b" });
    await rows.refresh();
    get.mockRejectedValueOnce(new TypeError("network"));
    await rows.refresh();
    expect(rows.problem.value?.message).toBe("The gateway does not answer.");
    expect(rows.row(0)).toBeDefined();
  });
});
