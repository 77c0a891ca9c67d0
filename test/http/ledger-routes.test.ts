/** Messages, their lives and their cost, over HTTP. */
import { describe, expect, it } from "vitest";
import type { Done, MessageList, MessageTrace, UsageList } from "../../src/http/api.js";
import { ModelError } from "../../src/providers/provider.js";
import { checkedClient } from "../support/checked-client.js";
import { type DoorOptions, openDoor } from "../support/door.js";

async function openLedgerDoor(options: DoorOptions = {}) {
  const door = await openDoor(options);
  return { ...door, client: await checkedClient(door.url) };
}
const gone = new ModelError("network", "gone", "wait");

describe("GET /api/messages", () => {
  it("lists them newest first, all or those with problems", async () => {
    const { client, house } = await openLedgerDoor({ model: [{ text: "ok" }, gone] });
    await house.say("ann", "good", "m1");
    await house.settle();
    await house.say("ann", "bad", "m2");
    await house.settle();
    const list = async (query: Record<string, string | number>): Promise<unknown[]> =>
      (await client.get<MessageList>("GET /api/messages", {}, { query })).messages.map(({ text, outcome }) => [
        text,
        outcome,
      ]);
    expect(await list({})).toEqual([
      ["bad", "failed"],
      ["good", "answered"],
    ]);
    expect(await list({ filter: "problems" })).toEqual([["bad", "failed"]]);
    expect(await list({ limit: 1 })).toEqual([["bad", "failed"]]);
  });
});

describe("GET /api/messages/:trace", () => {
  it("is its life, by our id or the platform's", async () => {
    const { client, house } = await openLedgerDoor();
    await house.say("ann", "hi", "42/7");
    await house.settle();
    const found: MessageTrace = await client.get("GET /api/messages/{trace}", { trace: "42/7" });
    expect(found.events.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["received", "turn finished", "sent", "finished"]),
    );
    expect(await client.get("GET /api/messages/{trace}", { trace: found.entry.trace })).toEqual(found);
  });
});

describe("POST /api/messages/:trace/retry", () => {
  it("puts a failed one back, and it is taken up at once", async () => {
    const { client, house } = await openLedgerDoor({ model: [gone, { text: "now" }] });
    await house.say("ann", "hi", "m1");
    await house.settle();
    const retry = (): Promise<Done> => client.get("POST /api/messages/{trace}/retry", { trace: "m1" });
    expect(await retry()).toEqual({ done: true });
    await house.settle();
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    expect(await retry()).toEqual({ done: false });
  });
});

describe("POST /api/messages/:trace/discard", () => {
  it("drops it for good", async () => {
    const { client, house } = await openLedgerDoor({ model: [gone] });
    await house.say("ann", "hi", "m1");
    await house.settle();
    const discard = (trace: string): Promise<Done> => client.get("POST /api/messages/{trace}/discard", { trace });
    expect(await discard("m1")).toEqual({ done: true });
    expect(await house.outcomes()).toEqual(["hi: silent"]);
    expect(await discard("unknown")).toEqual({ done: false });
  });
});

describe("GET /api/usage", () => {
  it("counts what turns have cost, as far back as asked for", async () => {
    const { client, house } = await openLedgerDoor({
      model: [{ text: "ok", usage: { input: 7, output: 3, cached: 1 } }],
    });
    const today = new Date();
    house.time.now = today.getTime() - 3 * 24 * 3_600_000;
    await house.say("ann", "then");
    await house.settle();
    house.time.now = today.getTime();
    for (const text of ["now", "and now"]) await house.say("ann", text);
    await house.settle();
    const sums = async (days: number): Promise<unknown[]> =>
      (await client.get<UsageList>("GET /api/usage", {}, { query: { days } })).usage.map(
        ({ session, model, turns, input, output, cached }) => [session, model, turns, input, output, cached],
      );
    const now = ["fake:ann", "test/scripted", 2, 14, 6, 2];
    expect(await sums(1)).toEqual([now]);
    expect(await sums(3)).toEqual([now]);
    expect(await sums(4)).toEqual([["fake:ann", "test/scripted", 1, 7, 3, 1], now]);
  });
});
