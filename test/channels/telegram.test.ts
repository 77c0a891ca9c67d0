/** The Telegram channel: settings, and the poll that forgets nothing. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChannelWorld } from "../../src/channels/channel.js";
import { channelKinds } from "../../src/channels/index.js";
import { telegram } from "../../src/channels/telegram.js";
import { UserError } from "../../src/util/errors.js";
import { systemWorld } from "../../src/world.js";
import { refuse, tooMany } from "../lab/fake-telegram.js";
import { gate } from "../support/reading.js";
import { failure, hearAll, openHouse } from "../support/telegram-house.js";
import { describeChannel } from "./channel.contract.js";

describeChannel("Telegram", { edits: true }, async (settings) => {
  const { fake, channel } = await openHouse({ ...(settings && { settings }) });
  let said = 0;
  return {
    channel,
    chat: { channel: "telegram", chat: "1" },
    async say(text) {
      said++;
      fake.say(1, text);
    },
    acknowledged: () => said - fake.pending().length,
    refuse(how, what = "send") {
      const method = what === "send" ? "sendMessage" : "editMessageText";
      if (how === "later") fake.fail(method, tooMany(5));
      else if (how === "never") fake.fail(method, refuse(403, "Forbidden: bot was blocked by the user"));
      else fake.fail(method, { kind: "die after" });
    },
    posted: () => fake.sent.map(({ text }) => text),
    close: () => fake.close(),
  };
});

describe("settings", () => {
  const open = (settings: unknown) => telegram.open(settings, systemWorld() as ChannelWorld);

  it("are found in the list of channels", () => {
    expect(channelKinds.map(({ name }) => name)).toContain("telegram");
  });

  it("without a token say where to get one", async () => {
    await expect(open({ token: "" })).rejects.toMatchObject({
      name: "UserError",
      fix: expect.stringContaining("@BotFather"),
    });
    await expect(open({})).rejects.toThrow("channels.telegram.token");
  });

  it("may be nanobot's, in both spellings, with ids as numbers", async () => {
    await open({ enabled: true, token: "1:a", allow_from: [123, "ann"], proxy: null, reply_to_message: false });
  });

  it.each([
    [{ token: "1:a", groupPolicy: "all" }, "channels.telegram.groupPolicy"],
    [{ token: "1:a", allowFrom: "ann" }, "channels.telegram.allowFrom"],
    [{ token: "1:a", allowFrom: [1.5] }, "channels.telegram.allowFrom.0"],
    [{ token: "1:a", allowFrom: [2 ** 60] }, "channels.telegram.allowFrom.0"],
    [{ token: "1:a", apiRoot: "nowhere" }, "channels.telegram.apiRoot"],
    [{ token: "1:a", streamEditInterval: 0.05 }, "channels.telegram.streamEditInterval"],
    [{ token: "1:a", proxy: "socks5://127.0.0.1:1080" }, "channels.telegram.proxy"],
  ])("%j are refused with their path", async (settings, path) => {
    await expect(open(settings)).rejects.toThrow(path);
  });
});

describe("a poll", () => {
  it("takes what was sent while nobody was there, in order", async () => {
    const house = await openHouse();
    for (let at = 0; at < 250; at++) house.fake.say(1 + (at % 3), `m${at}`);
    await hearAll(house);
    expect(house.texts()).toEqual(Array.from({ length: 250 }, (_, at) => `m${at}`));
    expect(house.accepted.every(({ missed }) => missed)).toBe(true);
  });

  it("tells what is said now from what was missed", async () => {
    const house = await openHouse();
    house.fake.say(1, "missed");
    const running = house.run();
    await house.heard(1);
    await house.fake.until(() => house.fake.isPolled());
    house.fake.say(1, "now");
    await house.heard(2);
    house.stop();
    await running;
    expect(house.accepted.map(({ missed = false }) => missed)).toEqual([true, false]);
  });

  it("acknowledges nothing that is not stored", async () => {
    const stored = gate();
    const house = await openHouse({ accept: () => stored.passed });
    house.fake.say(1, "one");
    house.fake.say(1, "two");
    const running = house.run();
    await house.fake.until(() => house.fake.callsOf("getUpdates").length === 1);
    expect(house.fake.pending()).toHaveLength(2);
    stored.open();
    await house.heard(2);
    await house.fake.until(() => house.fake.pending().length === 0);
    house.stop();
    await running;
  });

  it("gets a message again that could not be stored", async () => {
    let full = true;
    const house = await openHouse({
      accept: async ({ text }) => {
        if (text === "two" && full) throw new Error("disk full");
      },
    });
    for (const text of ["one", "two", "three"]) house.fake.say(1, text);
    await expect(house.run()).rejects.toThrow("disk full");
    expect(house.fake.pending()).toHaveLength(3);
    full = false;
    await hearAll(house);
    expect(house.texts()).toEqual(["one", "one", "two", "three"]);
    const ids = house.accepted.map(({ id }) => id);
    expect(ids[0]).toBe(ids[1]);
  });

  it("ends at once when it is no longer wanted", async () => {
    const house = await openHouse();
    const running = house.run();
    await house.fake.until(() => house.fake.isPolled());
    const before = performance.now();
    house.stop();
    await running;
    expect(performance.now() - before).toBeLessThan(1000);
    // The first is answered at once, and proves that the bot is heard; then it may take its time.
    expect(house.fake.callsOf("getUpdates")).toMatchObject([{ timeout: 0 }, { timeout: 25 }]);
  });

  it("does not begin when it is not wanted any more", async () => {
    const house = await openHouse();
    house.stop();
    await house.run();
    expect(house.fake.callsOf("getUpdates")).toEqual([]);
  });

  it("is a sign of life when it is answered", async () => {
    const house = await openHouse();
    const running = house.run();
    await house.fake.until(() => house.fake.isPolled());
    const before = house.signsOfLife();
    expect(before).toBe(1);
    house.fake.say(1, "hi");
    await house.heard(1);
    await house.fake.until(() => house.fake.isPolled());
    expect(house.signsOfLife()).toBe(2);
    house.stop();
    await running;
  });

  it("goes on after faults of Telegram and of the network", async () => {
    const house = await openHouse();
    house.fake.fail("getMe", refuse(500, "Internal Server Error"), { kind: "die" });
    house.fake.fail("getUpdates", refuse(502, "Bad Gateway"), { kind: "page", code: 502 }, tooMany(7), tooMany(7));
    house.fake.say(1, "hi");
    await hearAll(house);
    expect(house.texts()).toEqual(["hi"]);
    expect(house.slept).toEqual([1000, 2000, 1000, 2000, 7000, 7000]);
  });

  it("that fails again and again is its supervisor's business, and says nothing of the token", async () => {
    const house = await openHouse();
    house.fake.fail("getUpdates", refuse(502, "Bad Gateway"), { kind: "page", code: 502 }, { kind: "die" });
    const error = await failure(house.run());
    expect(error).not.toBeInstanceOf(UserError);
    expect(String(error)).toContain("Network request");
    expect(String(error)).not.toContain(house.fake.token);
    expect(house.slept).toEqual([1000, 2000]);
  });

  it("alone proves that messages would come: the bot may be known and deaf all the same", async () => {
    const conflict = refuse(409, "Conflict: terminated by other getUpdates request");
    const house = await openHouse();
    house.fake.fail("getUpdates", conflict, conflict);
    await failure(house.run());
    expect(house.fake.callsOf("getMe")).toHaveLength(1);
    expect(house.signsOfLife()).toBe(0);
  });

  it("that has failed is repeated without waiting for somebody to speak", async () => {
    const house = await openHouse();
    const running = house.run();
    await house.fake.until(() => house.fake.isPolled());
    house.fake.fail("getUpdates", { kind: "die" });
    house.fake.say(1, "hi");
    await house.heard(1);
    await house.fake.until(() => house.fake.isPolled());
    house.stop();
    await running;
    expect(house.fake.callsOf("getUpdates").map(({ timeout }) => timeout)).toEqual([0, 25, 25, 0, 25]);
  });

  it.each([
    { message_id: 1, date: 1, from: { id: 1 }, text: "no chat" },
    { message_id: 1, date: 1, chat: { id: 1, type: "private" }, from: { id: 1 }, text: 17 },
    { message_id: 1, date: 1, chat: { id: 1, type: "private" }, from: { id: 1 }, poll: { question: "?" } },
  ])("passes over what nobody understands, and says so: %j", async (message) => {
    const house = await openHouse();
    house.fake.push({ message });
    house.fake.say(1, "hi");
    await hearAll(house);
    expect(house.texts()).toEqual(["hi"]);
    expect(house.warnings.join()).toMatch(/update \d+ is passed over/);
  });

  it("that nobody answers is given up and repeated", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const house = await openHouse();
    house.fake.fail("getUpdates", { kind: "hang" });
    house.fake.say(1, "hi");
    const running = house.run();
    await house.fake.until(() => house.fake.callsOf("getUpdates").length === 1);
    vi.advanceTimersByTime(20_000);
    await house.heard(1);
    house.stop();
    await running;
  });

  it.each([
    [refuse(401, "Unauthorized"), "refused the bot token", "@BotFather"],
    [refuse(404, "Not Found"), "refused the bot token", "@BotFather"],
  ])("with a wrong token says so: %j", async (fault, message, fix) => {
    const house = await openHouse();
    house.fake.fail("getMe", fault);
    const error = await failure(house.run());
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ message: expect.stringContaining(message), fix: expect.stringContaining(fix) });
  });

  it("whose token is withdrawn later says so", async () => {
    const house = await openHouse();
    house.fake.fail("getUpdates", refuse(401, "Unauthorized"));
    expect(await failure(house.run())).toMatchObject({
      name: "UserError",
      message: expect.stringContaining("refused the bot token"),
    });
  });

  it("with a rival tries once more, then names it", async () => {
    const conflict = refuse(409, "Conflict: terminated by other getUpdates request");
    const house = await openHouse();
    house.fake.fail("getUpdates", conflict, conflict);
    const error = await failure(house.run());
    expect(error).toMatchObject({ name: "UserError", message: expect.stringContaining("Another program") });
    expect(house.slept).toEqual([2000]);
  });

  it("that ends the poll of a process just killed goes on", async () => {
    const house = await openHouse();
    house.fake.fail("getUpdates", refuse(409, "Conflict: terminated by other getUpdates request"));
    house.fake.say(1, "hi");
    await hearAll(house);
    expect(house.texts()).toEqual(["hi"]);
  });

  it("loses against a second poller, as Telegram has it", async () => {
    const house = await openHouse({ sleep: () => new Promise(() => {}) });
    const [first, second] = [new AbortController(), new AbortController()];
    void house.run(first);
    await house.fake.until(() => house.fake.isPolled());
    const running = house.run(second);
    await house.fake.until(() => house.fake.callsOf("getUpdates").length === 4 && house.fake.isPolled());
    second.abort();
    await running;
    await vi.waitFor(() => expect(house.slept).toEqual([2000]));
  });

  it("with a webhook in its way says how to remove it", async () => {
    const fault = refuse(409, "Conflict: can't use getUpdates method while webhook is active");
    const house = await openHouse();
    house.fake.fail("getUpdates", fault, fault);
    expect(await failure(house.run())).toMatchObject({ fix: expect.stringContaining("deleteWebhook") });
  });

  it("offers the commands in Telegram's menu, and runs without", async () => {
    const house = await openHouse();
    house.fake.fail("setMyCommands", refuse(400, "Bad Request"));
    house.fake.say(1, "hi");
    await hearAll(house);
    const [{ commands }] = house.fake.callsOf("setMyCommands") as [{ commands?: { command: string }[] }];
    expect(commands?.map(({ command }) => command)).toEqual(["new", "stop", "status", "history", "compact", "help"]);
    expect(house.warnings.join()).toContain("command menu");
  });
});
