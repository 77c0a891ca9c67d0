/** Talking and looking on over HTTP. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { defineTool } from "../../src/agent/tools/tool.js";
import { gate } from "../support/gate.js";
import { eventsOf, openDoor } from "../support/door.js";
import { call } from "../support/scripted-model.js";

const turn = { session: "fake:ann", text: "hi", id: "question-1" };

const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const lookTool = defineTool({ name: "look", description: "", input: z.object({}), run: async () => "seen" });

async function all(response: Response): Promise<Record<string, unknown>[]> {
  const events = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

describe("POST /api/turns", () => {
  it("tells everything that becomes of a message, to its end; by then it is stored", async () => {
    const { post, house } = await openDoor({ model: [{ pieces: ["hello", " there"] }] });
    expect(await all(await post("/api/turns", turn))).toEqual([
      { kind: "accepted", text: "hi" },
      { kind: "text", text: "hello" },
      { kind: "text", text: " there" },
      { kind: "finished", turn: { outcome: { kind: "answered" }, usage: expect.anything() }, reply: "hello there" },
    ]);
    expect(await house.rows("ann")).toEqual(["user: hi", "assistant: hello there"]);
  });

  it("asked again with the same id is no second question, but tells how the first one goes", async () => {
    const rest = gate();
    const { post, house } = await openDoor({ model: [{ pieces: ["hello", rest.wait, " there"] }] });
    const first = await post("/api/turns", turn);
    const again = await post("/api/turns", turn);
    rest.open();
    expect((await all(first)).at(-1)).toMatchObject({ kind: "finished", reply: "hello there" });
    expect((await all(again)).at(-1)).toMatchObject({ kind: "finished", reply: "hello there" });
    expect(await all(await post("/api/turns", turn))).toEqual([
      { kind: "finished", turn: { outcome: { kind: "answered" } } },
    ]);
    expect(house.requests).toHaveLength(1);
  });

  it("tells how far a turn is by its events alone: nothing of that is sent besides", async () => {
    const { post, house } = await openDoor({
      model: [{ text: "let me look", toolCalls: [call("look", {})] }, { text: "done" }],
      tools: [lookTool],
      settings: { sendProgress: true, sendToolHints: true },
      channel: { isWatched: true },
    });
    const events = await all(await post("/api/turns", turn));
    expect(events.map(({ kind }) => kind)).toContain("progress");
    expect(events.map(({ kind }) => kind)).not.toContain("said");
    await house.settle();
    expect(house.heard).toEqual(["ann: done"]);
  });

  it("goes on with the turn when the client has gone", async () => {
    const rest = gate();
    const { post, house } = await openDoor({ model: [{ pieces: ["hello", rest.wait, " there"] }] });
    const leaving = new AbortController();
    const events = eventsOf(await post("/api/turns", turn, { signal: leaving.signal }));
    await events.next();
    leaving.abort();
    rest.open();
    await expect.poll(() => house.rows("ann")).toEqual(["user: hi", "assistant: hello there"]);
  });

  it("lets a conversation of a platform be continued without the platform hearing of it", async () => {
    const { post, house } = await openDoor();
    await all(await post("/api/turns", { ...turn, session: "telegram:42" }));
    expect(house.heard).toEqual([]);
    const session = await house.sessions.getOrCreate("telegram:42");
    expect(session.length).toBe(2);
  });

  it("takes pictures along, with words or without, and once for each id", async () => {
    const { post, house } = await openDoor();
    await all(await post("/api/turns", { ...turn, text: "", images: [png, png] }));
    expect(JSON.stringify(house.requests[0]?.messages.at(-1)).split(png)).toHaveLength(3);
    const folder = join(house.folder, "media", "web");
    const saved = readdirSync(folder);
    expect(saved).toHaveLength(2);
    await all(await post("/api/turns", { ...turn, text: "", images: [png, png] }));
    expect(readdirSync(folder)).toEqual(saved);
    expect(house.requests).toHaveLength(1);
    expect((await house.rows("ann"))[0]).not.toContain(png);
  });

  it.each([
    ["another address", "https://example.org/a.png"],
    ["a file of this machine", "file:///etc/passwd"],
    ["something else", "data:text/html;base64,PGgxPmhpPC9oMT4="],
    ["too large", `data:image/png;base64,${Buffer.alloc(10 * 1024 * 1024 + 1).toString("base64")}`],
  ])("refuses pictures that are none: %s", async (_, image) => {
    const { post, house } = await openDoor();
    const response = await post("/api/turns", { ...turn, images: [image] });
    expect([response.status, Object.keys((await response.json()) as object)]).toEqual([400, ["error"]]);
    expect(house.requests).toEqual([]);
  });

  it.each([["not json"], [{}], [{ session: "", text: "x" }], [{ session: "a:b", text: " " }], [[]]])(
    "refuses %j with words",
    async (body) => {
      const { post } = await openDoor();
      const response = await post("/api/turns", body);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ error: expect.stringContaining("{session, text}") });
    },
  );

  it.each([
    ["a NUL", "fake:a\0b"],
    ["half a character", "fake:\ud800"],
    ["a name too long for a file", `fake:${"a".repeat(400)}`],
  ])("takes no message for a conversation that cannot be stored: %s", async (_, session) => {
    const { post, house } = await openDoor();
    const response = await post("/api/turns", { ...turn, session }, { signal: AbortSignal.timeout(4000) });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.stringContaining("The session key") },
    ]);
    expect(await house.ledger.reports.trace(turn.id)).toBeUndefined();
  });

  it("refuses a page of another site, and one who asks for another name", async () => {
    const { post, house } = await openDoor();
    expect((await post("/api/turns", turn, { headers: { origin: "https://evil.example.org" } })).status).toBe(403);
    expect(house.requests).toEqual([]);
  });
});

describe("GET /api/events", () => {
  it("tells what happens in one conversation, and what was shown of a turn that runs", async () => {
    const rest = gate();
    const { url, house } = await openDoor({ model: [{ pieces: ["hello", rest.wait, " there"] }] });
    await house.say("bob", "other", "b1");
    await house.say("ann", "hi", "a1");
    const events = eventsOf(await fetch(`${url}/api/events?session=fake:ann`));
    expect((await events.next()).value).toMatchObject({ session: "fake:ann", id: "a1", event: { kind: "accepted" } });
    expect((await events.next()).value).toMatchObject({ id: "a1", event: { kind: "text", text: "hello" } });
    rest.open();
    expect((await events.next()).value).toMatchObject({ id: "a1", event: { kind: "text", text: " there" } });
    expect((await events.next()).value).toMatchObject({ id: "a1", event: { kind: "finished" } });
    await events.return(undefined);
  });
});

describe("the door", () => {
  it("answers health itself and says what it does not know", async () => {
    const { url } = await openDoor();
    expect(await (await fetch(`${url}/healthz`)).text()).toBe("ok");
    const lost = await fetch(`${url}/elsewhere`);
    expect([lost.status, await lost.json()]).toEqual([404, { error: "There is nothing at /elsewhere." }]);
  });
});
