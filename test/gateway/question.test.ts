/** Files that come with a message: fetched within its turn, so that nobody else waits for them. */
import { describe, expect, it } from "vitest";
import type { Channel, Saved } from "../../src/channels/channel.js";
import type { Inbound } from "../../src/message.js";
import { gate } from "../support/gate.js";
import { type HouseOptions, Killed, openHouse } from "../support/house.js";
import { call } from "../support/scripted-model.js";

type House = Awaited<ReturnType<typeof openHouse>>;
type Save = NonNullable<Channel["save"]>;

const file = (name: string) => ({ marker: `[file: ${name}]`, reference: name });

const message = (chat: string, text: string, more: Partial<Inbound> = {}): Inbound => ({
  id: `${chat} ${text}`,
  from: { channel: "fake", chat },
  sender: ["ann"],
  text,
  media: [],
  ...more,
});

const send = (house: House, chat: string, text: string, ...names: readonly string[]): Promise<void> =>
  house.gateway.accept(message(chat, text, { attachments: names.map(file) }));

const saved = async (name: unknown): Promise<Saved> => ({
  marker: `[file: /media/${String(name)}]`,
  path: `/media/${String(name)}`,
});

/** Everything can be had, except what is called `slow`: that never comes. */
const slowly =
  (begun: () => void = () => {}): Save =>
  ({ reference }, signal) => {
    if (reference !== "slow") return saved(reference);
    begun();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  };

const openWith = (save: Save, options: HouseOptions = {}): Promise<House> =>
  openHouse({ channel: { save }, ...options });

describe("a message with files", () => {
  it("is asked as its words and then its files, in their order; what cannot be had is named", async () => {
    const house = await openWith(async ({ reference }) =>
      reference === "b" ? { marker: "[file: b - download failed]" } : saved(reference),
    );
    await send(house, "ann", "look", "a", "b", "c");
    await send(house, "ann", "", "d");
    await house.settle();
    expect(await house.rows("ann")).toEqual([
      "user: look\n[file: /media/a]\n[file: b - download failed]\n[file: /media/c]",
      "assistant: ok",
      "user: [file: /media/d]",
      "assistant: ok",
    ]);
    await house.close();
  });

  it("is asked with what stands for them where nobody can fetch them", async () => {
    const house = await openHouse();
    await send(house, "ann", "look", "a");
    await house.settle();
    expect(await house.rows("ann")).toEqual(["user: look\n[file: a]", "assistant: ok"]);
    await house.close();
  });

  it("is shown as its words and what stands for its files", async () => {
    const house = await openWith(slowly());
    const told: unknown[] = [];
    house.live.watch({ news: ({ event }) => void (event.kind === "accepted" && told.push(event.text)) });
    await send(house, "ann", "", "a");
    await send(house, "ann", "look", "b");
    await house.settle();
    expect(told).toEqual(["[file: a]", "look\n[file: b]"]);
    expect(await house.outcomes()).toEqual(["[file: a]: answered", "look\n[file: b]: answered"]);
    const found = await house.ledger.reports.trace("ann look");
    expect(found?.events).toContainEqual(expect.objectContaining({ what: "files fetched", detail: "1 saved" }));
    await house.close();
  });

  it("holds up its own chat, but no other, also where only one may work at a time", async () => {
    const [begun, release] = [gate(), gate()];
    const save: Save = async ({ reference }) => {
      begun.open();
      await release.wait;
      return saved(reference);
    };
    const house = await openWith(save, { limit: 1 });
    await send(house, "ann", "look", "a");
    await house.say("ann", "next");
    await begun.wait;
    await house.say("ben", "hi");
    await expect.poll(() => house.heard).toEqual(["ben: ok"]);
    release.open();
    await house.settle();
    expect(house.heard).toEqual(["ben: ok", "ann: ok", "ann: ok"]);
    await house.close();
  });

  it("is ended by /stop while they are on their way, and the next is answered", async () => {
    const begun = gate();
    const house = await openWith(slowly(begun.open));
    await send(house, "ann", "look", "slow");
    await begun.wait;
    await house.say("ann", "/stop");
    await expect.poll(() => house.heard).toEqual(["ann: ⏹ Stopped 1 task(s)."]);
    await house.say("ann", "hi");
    await house.settle();
    expect(house.heard).toEqual(["ann: ⏹ Stopped 1 task(s).", "ann: ok"]);
    expect(await house.outcomes()).toEqual(["look\n[file: slow]: silent", "/stop: answered", "hi: answered"]);
    expect(await house.rows("ann")).toEqual(["user: hi", "assistant: ok"]);
    await house.close();
  });

  it("is a command if its words are one: /stop passes the queue, and nothing is fetched", async () => {
    const begun = gate();
    const house = await openWith(slowly(begun.open));
    await send(house, "ann", "look", "slow");
    await begun.wait;
    await send(house, "ann", "/stop", "slow");
    await expect.poll(() => house.heard).toHaveLength(1);
    await send(house, "ann", "/help", "slow");
    await house.settle();
    expect(house.heard).toEqual(["ann: ⏹ Stopped 1 task(s).", "ann: help"]);
    expect(house.requests).toEqual([]);
    await house.close();
  });
});

describe("after the end of the process", () => {
  it.each([
    ["a kill", async (house: House) => house.kill()],
    ["an orderly end", (house: House) => house.gateway.shutdown(0)],
  ])("during a download, %s, the message is answered once, with its files", async (_, end) => {
    const begun = gate();
    const house = await openWith(slowly(begun.open));
    await send(house, "ann", "look", "a", "slow");
    await begun.wait;
    await end(house);
    expect(house.requests).toEqual([]);

    const next = await openWith(({ reference }) => saved(reference), { folder: house.folder });
    await next.gateway.resume();
    await next.settle();
    expect([...house.heard, ...next.heard]).toEqual(["ann: ok"]);
    expect(await next.rows("ann")).toEqual(["user: look\n[file: /media/a]\n[file: /media/slow]", "assistant: ok"]);
    await next.close();
  });

  it("in the middle of a turn, the question stays the same, whatever could be fetched now", async () => {
    const model = [{ toolCalls: [call("probe", {})] }, { text: "done" }];
    const tools = [{ spec: { name: "probe", description: "", parameters: {} }, call: async () => "result" }];
    let steps = 0;
    const reach = (point: string): void => {
      // The question, the model's call, and its result have been kept.
      if (point === "after step" && ++steps === 3) throw new Killed(point);
    };
    const missing: Save = async () => ({ marker: "[file: a - download failed]" });
    const house = await openWith(missing, { model, tools, reach });
    await send(house, "ann", "look", "a");
    await house.settle();
    house.kill();

    const next = await openWith(({ reference }) => saved(reference), {
      folder: house.folder,
      model: [{ text: "done" }],
    });
    await next.gateway.resume();
    await next.settle();
    expect(JSON.stringify(next.requests[0])).toContain("look\\n[file: a - download failed]");
    expect((await next.rows("ann"))[0]).toBe("user: look\n[file: a - download failed]");
    expect(next.heard).toEqual(["ann: done"]);
    await next.close();
  });

  it("a message of an older ledger, its files saved before it was stored, is asked as it stands there", async () => {
    const house = await openHouse();
    const older = message("ann", "look\n[file: /media/a]", { media: ["/media/a"] });
    await house.ledger.inbox.accept(older, "fake:ann");
    await house.ledger.close();

    const next = await openWith(() => Promise.reject(new Error("nothing is to be fetched")), { folder: house.folder });
    await next.gateway.resume();
    await next.settle();
    expect(await next.rows("ann")).toEqual(["user: look\n[file: /media/a]", "assistant: ok"]);
    expect(await next.outcomes()).toEqual(["look\n[file: /media/a]: answered"]);
    await next.close();
  });
});
