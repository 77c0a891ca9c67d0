/** Conversations as one stream of events and the stored rows tell them. */
import { describe, expect, it, vi } from "vitest";
import type { LiveEvent, News } from "../../../src/gateway/live.js";
import type { Row } from "../../../src/message.js";
import type { Api } from "../../../web/src/api/client.js";
import { createConversations } from "../../../web/src/chat/conversations.js";

const to = { channel: "web", chat: "a" };
const ask: Row = { role: "user", content: "hi", timestamp: "2026-11-16T10:00:00" };
const answer: Row = { role: "assistant", content: "hello", timestamp: "2026-11-16T10:00:01" };

function openPage() {
  const rows: Row[] = [];
  const asked: string[] = [];
  const over: string[] = [];
  const get = async (path: string): Promise<unknown> => {
    asked.push(path);
    if (path.startsWith("api/messages")) return { entry: { text: "asked elsewhere" }, events: [] };
    return { total: rows.length, from: 0, rows: [...rows] };
  };
  let ids = 0;
  const conversations = createConversations({
    api: { get } as unknown as Api,
    over: (id) => void over.push(id),
    nextId: () => `s${++ids}`,
  });
  const hear = (event: LiveEvent, id = "m1"): void => {
    const news: News = { session: "web:a", id, trace: `t-${id}`, event };
    conversations.hear(news);
  };
  const finished = (): void => {
    rows.push(ask, answer);
    hear({
      kind: "finished",
      turn: { rows: [ask, answer], messages: [{ kind: "text", to, text: "hello" }], outcome: { kind: "answered" } },
    });
  };
  const count = (): number => conversations.of("web:a").places.value.count;
  return { conversations, rows, asked, over, hear, finished, count };
}

describe("a conversation", () => {
  it("shows an answer once: while it is written, when it ends, and when it is stored", async () => {
    const page = openPage();
    page.conversations.look("web:a");
    page.conversations.connected();
    page.hear({ kind: "accepted", text: "hi" });
    page.hear({ kind: "text", text: "hel" });
    expect(page.count()).toBe(1);
    page.finished();
    expect(page.count()).toBe(1);
    await vi.waitFor(() => expect(page.count()).toBe(2));
    expect(page.conversations.of("web:a").turns.value).toEqual([]);
    expect(page.over).toEqual(["m1"]);
  });

  it("is busy while somebody waits", () => {
    const page = openPage();
    page.conversations.look("web:a");
    const { isBusy } = page.conversations.of("web:a");
    page.hear({ kind: "accepted", text: "hi" });
    expect(isBusy.value).toBe(true);
    page.finished();
    expect(isBusy.value).toBe(false);
  });

  it("learns what was asked when it hears of a turn from its middle", async () => {
    const page = openPage();
    page.conversations.look("web:a");
    page.hear({ kind: "text", text: "hel" });
    await vi.waitFor(() => expect(page.conversations.of("web:a").turns.value[0]?.question).toBe("asked elsewhere"));
  });

  it("is not busy again because its question is learned when the answer is out", async () => {
    const page = openPage();
    page.conversations.connected();
    page.hear({ kind: "text", text: "hel" });
    page.finished();
    await vi.waitFor(() => expect(page.asked).toHaveLength(1));
    page.conversations.look("web:a");
    await vi.waitFor(() => expect(page.count()).toBe(2));
    expect(page.conversations.of("web:a").turns.value).toEqual([]);
  });

  it("that nobody looks at costs no request", () => {
    const page = openPage();
    page.conversations.connected();
    page.hear({ kind: "accepted", text: "hi" });
    page.finished();
    expect(page.asked).toEqual([]);
  });

  it("is loaded by the first who looks, and remembered while something runs there", async () => {
    const page = openPage();
    page.conversations.connected();
    page.hear({ kind: "accepted", text: "hi" });
    const lookAway = page.conversations.look("web:a");
    await vi.waitFor(() => expect(page.asked).toHaveLength(1));
    lookAway();
    expect(page.conversations.of("web:a").isBusy.value).toBe(true);
  });

  it("does not show that the stop button was pressed", () => {
    const page = openPage();
    page.conversations.look("web:a");
    page.hear({ kind: "accepted", text: "/stop" }, "stop-1");
    expect(page.count()).toBe(0);
  });

  it("shows what a tool says, and an answer only as an answer", () => {
    const page = openPage();
    page.conversations.look("web:a");
    page.conversations.hear({ session: "web:a", message: { kind: "text", to, text: "a reminder" } });
    page.conversations.hear({ session: "web:a", message: { kind: "text", to, text: "hello", answers: "m1" } });
    expect(page.conversations.of("web:a").turns.value).toMatchObject([{ phase: { reply: "a reminder" } }]);
  });
});
