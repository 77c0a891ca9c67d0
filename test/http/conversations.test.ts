/** Conversations, for looking, with every driver. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { type Conversations, createConversations } from "../../src/http/conversations.js";
import { type DriverName, driverNames, openSessions, openStore } from "../../src/session/open.js";
import { watched } from "../support/watched-store.js";
import { temporaryFolder } from "../support/workspace.js";

const asked = { q: "", limit: 50, offset: 0 };

function openConversations(driver: DriverName = "jsonl") {
  const workspace = temporaryFolder();
  let time = 0;
  const clock = (): string => new Date(Date.UTC(2026, 0, 1) + 1000 * time++).toISOString().slice(0, 19);
  const log = { warn: () => {} };
  const sessions = openSessions({ workspace, driver, clock, log });
  const store = watched(openStore({ workspace, driver, clock, log }));
  return {
    workspace,
    sessions,
    store,
    conversations: createConversations({ sessions, store }),
    say: async (key: string, ...texts: string[]): Promise<void> => {
      const session = await sessions.getOrCreate(key);
      for (const [at, content] of texts.entries()) session.addMessage(at % 2 === 0 ? "user" : "assistant", content);
      await sessions.save(session);
    },
  };
}

const exported = async (conversations: Conversations, key: string): Promise<string> =>
  text((await conversations.export(key)) ?? Readable.from([]));

describe.each(driverNames)("conversations kept as %s", (driver) => {
  it("are listed with what was said last", async () => {
    const { say, conversations } = openConversations(driver);
    await say("telegram:1", "hi", "hello Ann");
    await say("web:2", "x".repeat(300));
    const { total, sessions } = await conversations.list(asked);
    expect(total).toBe(2);
    expect(new Map(sessions.map(({ key, last }) => [key, last]))).toEqual(
      new Map([
        ["telegram:1", { role: "assistant", text: "hello Ann" }],
        ["web:2", { role: "user", text: `${"x".repeat(200)}…` }],
      ]),
    );
  });

  it("are read from the newest row backwards, page by page, each row once", async () => {
    const { say, conversations } = openConversations(driver);
    const texts = Array.from({ length: 1234 }, (_, at) => `row ${at}`);
    await say("telegram:1", ...texts);
    const read: string[] = [];
    let before: number | undefined;
    do {
      const page = await conversations.page("telegram:1", { limit: 100, raw: false, ...(before && { before }) });
      expect(page?.total).toBe(1234);
      read.unshift(...(page?.rows ?? []).map(({ content }) => String(content)));
      before = page?.from;
    } while (before);
    expect(read).toEqual(texts);
  });

  it("are found whole, or not at all", async () => {
    const { say, conversations } = openConversations(driver);
    await say("telegram:1", "hi");
    expect(await conversations.verify("telegram:1")).toEqual({ ok: true, problems: [] });
    for (const key of ["telegram:2", "", "a\0b", "x".repeat(1000)]) {
      expect(await conversations.verify(key)).toBeUndefined();
      expect(await conversations.page(key, { limit: 10, raw: true })).toBeUndefined();
      expect(await conversations.export(key)).toBeUndefined();
    }
  });

  it("can be taken along as nanobot's lines", async () => {
    const { say, conversations } = openConversations(driver);
    await say("telegram:1", ...Array.from({ length: 1200 }, (_, at) => `row ${at}`));
    const [header = "", ...rows] = (await exported(conversations, "telegram:1")).trim().split("\n");
    expect(JSON.parse(header)).toMatchObject({ _type: "metadata", key: "telegram:1" });
    expect(rows.map((row) => (JSON.parse(row) as { content: string }).content)).toEqual(
      Array.from({ length: 1200 }, (_, at) => `row ${at}`),
    );
  });
});

describe("conversations", () => {
  it("are listed newest first, in portions", async () => {
    const { say, conversations } = openConversations();
    for (const key of ["a:1", "b:2", "c:3", "d:4"]) await say(key, "hi");
    const keys = async (more: object): Promise<string[]> =>
      (await conversations.list({ ...asked, ...more })).sessions.map(({ key }) => key);
    expect(await keys({})).toEqual(["d:4", "c:3", "b:2", "a:1"]);
    expect(await keys({ limit: 2, offset: 1 })).toEqual(["c:3", "b:2"]);
    expect(await keys({ offset: 10 })).toEqual([]);
  });

  it("are looked for in keys and in what was said last, whatever the case", async () => {
    const { say, conversations } = openConversations();
    await say("telegram:ann", "hi", "The train leaves at 7:42");
    await say("discord:bob", "trains?", "no");
    const find = async (q: string) => {
      const { total, sessions } = await conversations.list({ ...asked, q });
      return [total, ...sessions.map(({ key }) => key)];
    };
    expect(await find("TRAIN")).toEqual([1, "telegram:ann"]);
    expect(await find("disc")).toEqual([1, "discord:bob"]);
    expect(await find("nowhere")).toEqual([0]);
  });

  it("are opened again for the list only when they have changed", async () => {
    const { say, conversations, store } = openConversations();
    await say("a:1", "one");
    await say("b:2", "one");
    await conversations.list(asked);
    store.calls.length = 0;
    await conversations.list({ ...asked, q: "one" });
    expect(store.calls).toEqual([]);
    await say("a:1", "two");
    expect((await conversations.list({ ...asked, q: "two" })).total).toBe(1);
    expect(store.calls.filter((call) => call === "open")).toHaveLength(1);
  });

  it("show their lines as they stand in the file, and the file itself is what is taken along", async () => {
    const { say, conversations, workspace } = openConversations();
    await say("a:1", "one");
    const file = join(workspace, "sessions", "a_1.jsonl");
    const odd = '{"content":"written by hand","role":"user",   "extra":1}';
    appendFileSync(file, `${odd}\n`);
    const page = await conversations.page("a:1", { limit: 1, raw: true });
    expect(page).toMatchObject({ total: 2, from: 1, lines: [odd] });
    expect(await exported(conversations, "a:1")).toBe(readFileSync(file, "utf8"));
  });

  it("that are damaged say where, and can be read and taken along all the same", async () => {
    const { say, conversations, workspace } = openConversations();
    await say("a:1", "one");
    const file = join(workspace, "sessions", "a_1.jsonl");
    appendFileSync(file, "garbage\n");
    expect(await conversations.verify("a:1")).toEqual({ ok: false, problems: ["line 3: not valid JSON"] });
    expect((await conversations.page("a:1", { limit: 10, raw: true }))?.rows).toHaveLength(1);
    expect(await exported(conversations, "a:1")).toBe(readFileSync(file, "utf8"));
  });

  it("are read a page at a time: what comes before it is not touched", async () => {
    const { say, sessions, conversations } = openConversations();
    await say("a:1", ...Array.from({ length: 2000 }, (_, at) => `row ${at}`));
    const { log } = await sessions.getOrCreate("a:1");
    const reads: [number, number][] = [];
    const read = log.read.bind(log);
    Object.assign(log, { read: (from: number, to: number) => (reads.push([from, to]), read(from, to)) });
    await conversations.page("a:1", { limit: 100, raw: false });
    await conversations.page("a:1", { limit: 100, raw: false, before: 500 });
    expect(reads).toEqual([[400, 500]]);
  });

  it("with pictures are listed by their words", async () => {
    const { sessions, conversations } = openConversations();
    const session = await sessions.getOrCreate("a:1");
    session.addMessage("user", [{ type: "text", text: "[image]" }, { type: "text", text: "what is it?" }, null]);
    session.addMessage("assistant", null, { tool_calls: [] });
    await sessions.save(session);
    expect((await conversations.list(asked)).sessions[0]?.last).toEqual({ role: "user", text: "[image] what is it?" });
  });
});
