import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type ChannelWorld, type Link, SendFailure, type Sending } from "../../src/channels/channel.js";
import { channelKinds } from "../../src/channels/index.js";
import { telegram } from "../../src/channels/telegram.js";
import type { Inbound } from "../../src/message.js";
import { UserError } from "../../src/util/errors.js";
import { systemWorld } from "../../src/world.js";
import { type FakeTelegramOptions, openFakeTelegram, refuse, tooMany } from "../lab/fake-telegram.js";
import { gate } from "../support/reading.js";

const group = -100200;
const bot = { id: 42, is_bot: true, first_name: "Nano", username: "NanoBot" };

type HouseOptions = {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly fake?: FakeTelegramOptions;
  readonly accept?: (message: Inbound) => Promise<void>;
  readonly mayEnter?: Link["mayEnter"];
  /** Instead of not waiting at all. */
  readonly sleep?: ChannelWorld["sleep"];
};

/** The real channel with grammY, on a fake Telegram, in a world where waiting takes no time. */
async function openHouse(options: HouseOptions = {}) {
  const fake = await openFakeTelegram({ chats: [{ id: 1 }, { id: group }], ...options.fake });
  const folder = await mkdtemp(join(tmpdir(), "nanogate-telegram-"));
  const warnings: string[] = [];
  const slept: number[] = [];
  const accepted: Inbound[] = [];
  const watchers = new Set<() => void>();
  let signsOfLife = 0;
  const world: ChannelWorld = {
    ...systemWorld(),
    mediaFolder: folder,
    stateFolder: folder,
    log: { warn: (message) => void warnings.push(message) },
    sleep: async (ms, signal) => {
      slept.push(ms);
      signal.throwIfAborted();
      await options.sleep?.(ms, signal);
    },
  };
  const settings = { token: fake.token, apiRoot: fake.url, allowFrom: ["*"], ...options.settings };
  const channel = await telegram.open(settings, world);
  const link: Link = {
    accept: async (message) => {
      await options.accept?.(message);
      accepted.push(message);
      for (const look of watchers) look();
    },
    alive: () => void (signsOfLife += 1),
    mayEnter: options.mayEnter ?? (() => true),
  };
  const stop = new AbortController();
  const signal = new AbortController().signal;
  onTestFinished(async () => {
    stop.abort();
    await fake.close();
    await rm(folder, { recursive: true, force: true });
  });
  const to = (chat: string) => ({ channel: "telegram", chat });
  return {
    fake,
    channel,
    folder,
    warnings,
    slept,
    accepted,
    signsOfLife: () => signsOfLife,
    run: (until = stop) => channel.run(link, until.signal),
    stop: () => stop.abort(),
    texts: () => accepted.map(({ text }) => text),
    /** Resolves when so many messages have been accepted. */
    heard: (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => void (accepted.length >= count && resolve());
        watchers.add(look);
        look();
      }),
    say: (text: string, chat = "1", more: Partial<Sending> = {}) =>
      channel.send({ kind: "text", to: to(chat), text, intent: "i1", mayRepeat: false, ...more } as Sending, signal),
    sendFile: (path: string, caption = "", more: Partial<Sending> = {}) =>
      channel.send(
        { kind: "file", to: to("1"), path, caption, intent: "i1", mayRepeat: false, ...more } as Sending,
        signal,
      ),
    typing: (chat: string) => channel.typing?.(to(chat), signal),
    edit: (id: string, text: string) => channel.edit?.(to("1"), { id }, text, signal),
  };
}

type House = Awaited<ReturnType<typeof openHouse>>;

/** Lets the channel run until everything that was said has been taken, and stops it. */
async function hearAll(house: House): Promise<readonly Inbound[]> {
  const running = house.run();
  await house.fake.until(() => house.fake.isPolled() && house.fake.pending().length === 0);
  house.stop();
  await running;
  return house.accepted;
}

const failure = async (sending: Promise<unknown>): Promise<unknown> =>
  sending.then(
    () => "sent",
    (error: unknown) => error,
  );
const sorted = async (sending: Promise<unknown>) => {
  const error = await failure(sending);
  return error instanceof SendFailure ? [error.when, error.afterMs] : ["nobody knows"];
};

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
    expect(house.fake.callsOf("getUpdates")[0]).toMatchObject({ timeout: 30 });
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
    house.fake.fail("getUpdates", refuse(502, "Bad Gateway"), { kind: "page", code: 502 }, { kind: "die" }, tooMany(7));
    house.fake.say(1, "hi");
    await hearAll(house);
    expect(house.texts()).toEqual(["hi"]);
    expect(house.slept).toEqual([1000, 2000, 1000, 2000, 4000, 7000]);
    expect(house.warnings).toHaveLength(2);
    expect(house.warnings.join()).not.toContain(house.fake.token);
  });

  it("that nobody answers is given up and repeated", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const house = await openHouse();
    house.fake.fail("getUpdates", { kind: "hang" });
    house.fake.say(1, "hi");
    const running = house.run();
    await house.fake.until(() => house.fake.callsOf("getUpdates").length === 1);
    vi.advanceTimersByTime(45_000);
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
    await house.fake.until(() => house.fake.callsOf("getUpdates").length === 2 && house.fake.isPolled());
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

describe("a message", () => {
  it("says who speaks where", async () => {
    const house = await openHouse();
    const said = house.fake.say(1, "hi");
    const [message] = await hearAll(house);
    expect(message).toEqual({
      id: `1/${String(said["message_id"])}`,
      from: { channel: "telegram", chat: "1" },
      sender: ["1", "ann", "1|ann"],
      text: "hi",
      media: [],
    });
  });

  it("may come from somebody without a name", async () => {
    const house = await openHouse();
    house.fake.say(1, "hi", { from: { id: 9, is_bot: false, first_name: "Bo" } });
    expect((await hearAll(house))[0]?.sender).toEqual(["9"]);
  });

  it("of an anonymous admin or a channel is theirs, not of the account they share", async () => {
    const house = await openHouse({ settings: { groupPolicy: "open" } });
    const from = { id: 1087968824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" };
    house.fake.say(group, "hi", { from, sender_chat: { id: group, type: "supergroup", title: "A group" } });
    expect((await hearAll(house))[0]?.sender).toEqual([String(group)]);
  });

  it("of another bot, and what nobody said, is no message", async () => {
    const house = await openHouse({ settings: { groupPolicy: "open" } });
    house.fake.say(group, "hi", { from: { id: 8, is_bot: true, first_name: "Other" } });
    house.fake.say(group, "", { new_chat_members: [bot] });
    house.fake.push({ message: { message_id: 1, date: 1, chat: { id: group, type: "supergroup", title: "x" } } });
    house.fake.say(group, "done");
    await hearAll(house);
    expect(house.texts()).toEqual(["done"]);
  });

  it.each([
    [{ sticker: { emoji: "😀" } }, "[sticker: 😀]"],
    [{ location: { latitude: 1.5, longitude: 2.5 } }, "[location: 1.5, 2.5]"],
    [{ contact: { first_name: "Bo", phone_number: "+1" } }, "[contact: Bo +1]"],
    [{ poll: { question: "Tea?", options: [{ text: "yes" }, { text: "no" }] } }, "[poll: Tea? (yes / no)]"],
    [{ dice: { emoji: "🎲", value: 6 } }, "[dice: 🎲 6]"],
  ])("of another kind is described: %j", async (extra, text) => {
    const house = await openHouse();
    house.fake.say(1, "", extra);
    await hearAll(house);
    expect(house.texts()).toEqual([text]);
  });

  it("quotes what it replies to", async () => {
    const house = await openHouse();
    const earlier = { message_id: 5, date: 1, chat: { id: 1, type: "private" }, text: "x".repeat(5000) };
    house.fake.say(1, "why?", { reply_to_message: { ...earlier, text: "the sky is blue" } });
    house.fake.say(1, "why?", { reply_to_message: earlier, quote: { text: "sky", position: 4 } });
    house.fake.say(1, "why?", { reply_to_message: earlier });
    house.fake.say(1, "/new", { reply_to_message: earlier });
    await hearAll(house);
    expect(house.texts()).toEqual([
      "[Reply to: the sky is blue]\nwhy?",
      "[Reply to: sky]\nwhy?",
      `[Reply to: ${"x".repeat(4000)}]\nwhy?`,
      "/new",
    ]);
  });

  it("that opens the bot asks for help", async () => {
    const house = await openHouse();
    house.fake.say(1, "/start");
    house.fake.say(1, "/start from-a-link");
    house.fake.say(1, "/starting");
    await hearAll(house);
    expect(house.texts()).toEqual(["/help", "/help", "/starting"]);
  });

  it("is marked with the emoji that is asked for, if its sender may speak", async () => {
    const house = await openHouse({ settings: { reactEmoji: "👀" }, mayEnter: (_, [id]) => id === "1" });
    const said = house.fake.say(1, "hi");
    house.fake.say(2, "hi");
    const running = house.run();
    await house.fake.until(() => house.fake.callsOf("setMessageReaction").length === 1);
    await house.heard(2);
    house.stop();
    await running;
    expect(house.fake.callsOf("setMessageReaction")).toEqual([
      { chat_id: 1, message_id: said["message_id"], reaction: [{ type: "emoji", emoji: "👀" }] },
    ]);
  });
});

describe("in a group", () => {
  const mention = (offset: number, length: number) => ({ entities: [{ type: "mention", offset, length }] });

  it.each<[string, string, Readonly<Record<string, unknown>>, string | undefined]>([
    ["nobody in particular", "hello all", {}, undefined],
    ["the bot by its name", "@NanoBot hello", mention(0, 8), "hello"],
    ["the bot, whatever the case", "hello @nanobot, how are you", mention(6, 8), "hello, how are you"],
    ["the bot in the middle", "hello @NanoBot how are you", mention(6, 8), "hello how are you"],
    ["the bot, with a colon", "@NanoBot: hello", {}, "hello"],
    ["another bot", "@NanoBot2 hello", mention(0, 9), undefined],
    ["an address that ends alike", "write to me@nanobot", {}, undefined],
    [
      "the bot by account",
      "Nano hello",
      { entities: [{ type: "text_mention", offset: 0, length: 4, user: bot }] },
      "hello",
    ],
    [
      "somebody else by account",
      "Bo hello",
      { entities: [{ type: "text_mention", offset: 0, length: 2, user: { id: 3 } }] },
      undefined,
    ],
    ["the bot by a reply", "thanks", { reply_to_message: { message_id: 1, from: bot, date: 1 } }, "thanks"],
    [
      "somebody else by a reply",
      "thanks",
      { reply_to_message: { message_id: 1, from: { id: 3 }, date: 1 } },
      undefined,
    ],
    [
      "a topic that the bot opened",
      "hi",
      { reply_to_message: { message_id: 1, from: bot, forum_topic_created: {} } },
      undefined,
    ],
    ["the bot's command", "/new@NanoBot", {}, "/new"],
    ["the bot's command, whatever the case", "/history@nanobot 5", {}, "/history 5"],
    ["another bot's command", "/new@OtherBot", {}, undefined],
    ["another bot's command about us", "/kick@OtherBot @NanoBot", {}, undefined],
    ["no bot's command", "/new", {}, undefined],
    ["the bot and nothing else", "@NanoBot", mention(0, 8), "[empty message]"],
  ])("a message to %s", async (_, text, extra, heard) => {
    const house = await openHouse();
    house.fake.say(group, text, extra);
    await hearAll(house);
    expect(house.texts()).toEqual(heard === undefined ? [] : [heard]);
  });

  it("a caption mentions as a text does", async () => {
    const house = await openHouse();
    house.fake.file("p", Buffer.from("jpg"));
    house.fake.say(group, "", { caption: "@NanoBot what is this", photo: photo("p") });
    await hearAll(house);
    expect(house.texts()).toEqual([`what is this\n[image: ${join(house.folder, "up.jpg")}]`]);
  });

  it("all is heard where the policy is open, except what is for other bots", async () => {
    const house = await openHouse({ settings: { groupPolicy: "open" } });
    for (const text of ["hello all", "/new@OtherBot", "/new", "@NanoBot hi"]) house.fake.say(group, text);
    await hearAll(house);
    expect(house.texts()).toEqual(["hello all", "/new", "hi"]);
  });

  it("a topic is a chat of its own and is answered there", async () => {
    const house = await openHouse({ settings: { groupPolicy: "open" } });
    house.fake.say(group, "hi", { message_thread_id: 5, is_topic_message: true });
    house.fake.say(1, "hi", { message_thread_id: 6 });
    await hearAll(house);
    expect(house.accepted.map(({ from }) => from.chat)).toEqual([`${group}:topic:5`, "1"]);
    await house.say("hello", `${group}:topic:5`);
    await house.typing(`${group}:topic:5`);
    expect(house.fake.sent).toMatchObject([{ chat: group, thread: 5, text: "hello" }]);
    expect(house.fake.callsOf("sendChatAction")).toEqual([{ chat_id: group, message_thread_id: 5, action: "typing" }]);
  });

  it("an answer to the general topic, or to one that is gone, goes to the group", async () => {
    const house = await openHouse();
    await house.say("general", `${group}:topic:1`);
    await house.say("gone", `${group}:topic:77`);
    expect(house.fake.sent).toMatchObject([
      { text: "general", thread: undefined },
      { text: "gone", thread: undefined },
    ]);
  });
});

describe("an edited message", () => {
  const edit = (house: House, message: Readonly<Record<string, unknown>>, text: string, afterSeconds: number): void => {
    const edited = { ...message, text, edit_date: Number(message["date"]) + afterSeconds };
    house.fake.push({ edited_message: edited });
  };

  it("is a new one, marked as such, with an id of its own", async () => {
    const house = await openHouse();
    const said = house.fake.say(1, "what is teh time");
    edit(house, said, "what is the time", 60);
    await hearAll(house);
    expect(house.texts()).toEqual(["what is teh time", "(edited) what is the time"]);
    expect(house.accepted[1]?.id).toBe(`1/${String(said["message_id"])}/${Number(said["date"]) + 60}`);
  });

  it("is ignored when it is old, or when its words are the same", async () => {
    const house = await openHouse();
    const said = house.fake.say(1, "see https://example.org");
    edit(house, said, "see https://example.org", 1);
    edit(house, said, "see https://example.com", 3600);
    house.fake.push({
      edited_message: { ...said, text: undefined, location: { latitude: 1, longitude: 1 }, edit_date: said["date"] },
    });
    await hearAll(house);
    expect(house.texts()).toEqual(["see https://example.org"]);
  });

  it("that is a command now is that command", async () => {
    const house = await openHouse();
    edit(house, house.fake.say(1, "/nwe"), "/new", 5);
    await hearAll(house);
    expect(house.texts()).toEqual(["/nwe", "/new"]);
  });
});

const photo = (id: string) => [
  { file_id: `${id}-small`, file_unique_id: `u${id}-small`, width: 90, height: 90 },
  { file_id: id, file_unique_id: `u${id}`, width: 900, height: 900 },
];

describe("a file", () => {
  it.each([
    ["photo", { photo: photo("f") }, "image", "uf.jpg"],
    ["voice", { voice: { file_id: "f", file_unique_id: "uf", mime_type: "audio/ogg" } }, "voice", "uf.ogg"],
    ["audio", { audio: { file_id: "f", file_unique_id: "uf", mime_type: "audio/mp4" } }, "audio", "uf.m4a"],
    ["video", { video: { file_id: "f", file_unique_id: "uf" } }, "video", "uf.mp4"],
    [
      "document",
      { document: { file_id: "f", file_unique_id: "uf", file_name: "a report.tar.gz" } },
      "file",
      "uf_a_report.tar.gz",
    ],
    [
      "document with a bad name",
      { document: { file_id: "f", file_unique_id: "uf", file_name: "../../.ssh/id" } },
      "file",
      "uf_._._.ssh_id",
    ],
    [
      "document with a bad id",
      { document: { file_id: "f", file_unique_id: "../u", mime_type: "image/png" } },
      "image",
      /^[0-9a-f]{64}\.png$/,
    ],
  ])("%s is saved and named in the text", async (_, extra, kind, name) => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("the bytes"));
    house.fake.say(1, "", { caption: "look", ...extra });
    const [message] = await hearAll(house);
    const [saved = ""] = await readdir(house.folder);
    expect(saved).toMatch(name);
    expect(message?.text).toBe(`look\n[${kind}: ${join(house.folder, saved)}]`);
    expect(message?.media).toEqual([join(house.folder, saved)]);
    expect(await readFile(join(house.folder, saved), "utf8")).toBe("the bytes");
  });

  it("of somebody who may not speak is not fetched", async () => {
    const house = await openHouse({ mayEnter: () => false });
    house.fake.say(1, "", { caption: "look", photo: photo("f") });
    await hearAll(house);
    expect(house.accepted).toMatchObject([{ text: "look\n[image]", media: [] }]);
    expect(house.fake.callsOf("getFile")).toEqual([]);
  });

  it("too large is not fetched, and the text says so", async () => {
    const house = await openHouse();
    house.fake.file("g", Buffer.alloc(20 * 1024 * 1024 + 1));
    const document = { file_id: "f", file_unique_id: "uf", file_name: "film.mkv", file_size: 21 * 1024 * 1024 };
    house.fake.say(1, "", { document });
    house.fake.say(1, "", { document: { file_id: "g", file_unique_id: "ug" } });
    await hearAll(house);
    expect(house.texts()).toEqual(["[file: film.mkv - too large (over 20 MB)]", "[file: too large (over 20 MB)]"]);
  });

  it("is tried again, and missing in the end rather than waited for", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.fail("file", { kind: "die" });
    house.fake.say(1, "", { photo: photo("f") });
    house.fake.fail("getFile", { kind: "die" });
    await hearAll(house);
    expect(house.texts()).toEqual([`[image: ${join(house.folder, "uf.jpg")}]`]);

    const other = await openHouse();
    other.fake.file("f", Buffer.from("x"));
    other.fake.fail("file", { kind: "die" }, { kind: "die" }, { kind: "die" });
    other.fake.say(1, "see", { photo: photo("f") });
    await hearAll(other);
    expect(other.texts()).toEqual(["see\n[image: download failed]"]);
    expect(await readdir(other.folder)).toEqual([]);
    expect(other.warnings.join()).not.toContain(other.fake.token);
  });

  it("that is there already is not fetched again", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "", { photo: photo("f") });
    house.fake.say(1, "", { photo: photo("f") });
    const running = house.run();
    await house.heard(2);
    house.fake.say(1, "", { photo: photo("f") });
    await house.heard(3);
    house.stop();
    await running;
    expect(house.fake.callsOf("getFile").length).toBeLessThanOrEqual(2);
  });

  it("on its way when the program is stopped belongs to a message that comes again", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.fail("file", { kind: "hang" });
    house.fake.say(1, "", { photo: photo("f") });
    const running = house.run();
    await house.fake.until(() => house.fake.callsOf("file").length === 1);
    house.stop();
    await running;
    expect(house.accepted).toEqual([]);
    expect(house.fake.pending()).toHaveLength(1);
  });

  it("of the message replied to comes along", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "what is it?", {
      reply_to_message: { message_id: 2, date: 1, photo: photo("f"), caption: "holiday" },
    });
    await hearAll(house);
    const path = join(house.folder, "uf.jpg");
    expect(house.accepted).toMatchObject([
      { text: `[Reply to: holiday]\nwhat is it?\n[image: ${path}]`, media: [path] },
    ]);
  });
});

describe("an album", () => {
  const part = (house: House, id: string, extra: Readonly<Record<string, unknown>> = {}, chat = 1, album = "a") => {
    house.fake.file(id, Buffer.from(id));
    return house.fake.say(chat, "", { photo: photo(id), media_group_id: album, ...extra });
  };
  const names = (message: Inbound | undefined) => message?.media.map((path) => path.replace(/^.*\//, ""));

  it("is one message, with the id of the first", async () => {
    const house = await openHouse();
    const first = part(house, "1", { caption: "my cats" });
    part(house, "2");
    part(house, "3");
    const messages = await hearAll(house);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.id).toBe(`1/${String(first["message_id"])}`);
    expect(messages[0]?.text).toMatch(/^my cats\n\[image: .*u1\.jpg\]\n\[image: .*u2\.jpg\]\n\[image: .*u3\.jpg\]$/);
    expect(names(messages[0])).toEqual(["u1.jpg", "u2.jpg", "u3.jpg"]);
  });

  it("that comes piece by piece is waited for, unacknowledged", async () => {
    let pieces = 1;
    const house: House = await openHouse({
      sleep: async (ms) => {
        expect(ms).toBe(600);
        expect(house.accepted.map(({ text }) => text)).toEqual(["before"]);
        expect(house.fake.pending().length).toBeGreaterThanOrEqual(pieces);
        if (pieces < 3) part(house, String(++pieces));
      },
    });
    house.fake.say(1, "before");
    part(house, "1");
    house.fake.say(2, "meanwhile");
    const messages = await hearAll(house);
    expect(messages.map(names)).toEqual([[], ["u1.jpg", "u2.jpg", "u3.jpg"], []]);
    expect(house.slept).toEqual([600, 600, 600]);
  });

  it("is not waited for when something follows in the chat, or when it is full", async () => {
    const house = await openHouse();
    part(house, "1");
    part(house, "2");
    house.fake.say(1, "nice?");
    for (let at = 0; at < 10; at++) part(house, `b${at}`, {}, 2, "b");
    const messages = await hearAll(house);
    expect(messages.map((message) => message.media.length)).toEqual([2, 0, 10]);
    expect(house.slept).toEqual([]);
  });

  it("comes again whole after a crash while it was waited for", async () => {
    const house = await openHouse({ sleep: () => Promise.reject(new Error("killed")) });
    part(house, "1");
    part(house, "2");
    await expect(house.run()).rejects.toThrow("killed");
    expect(house.accepted).toEqual([]);
    expect(house.fake.pending()).toHaveLength(2);
  });

  it("is whole when two of them arrive interleaved", async () => {
    const house = await openHouse();
    part(house, "1", {}, 1, "a");
    part(house, "2", {}, 2, "b");
    part(house, "3", {}, 1, "a");
    house.fake.say(1, "that was it");
    part(house, "4", {}, 2, "b");
    const messages = await hearAll(house);
    expect(messages.map(names)).toEqual([["u1.jpg", "u3.jpg"], ["u2.jpg", "u4.jpg"], []]);
  });

  it("in a group is meant for the bot if one of its captions is", async () => {
    const house = await openHouse();
    part(house, "1", {}, group);
    part(house, "2", { caption: "@NanoBot which one?" }, group);
    const messages = await hearAll(house);
    expect(messages.map(names)).toEqual([["u1.jpg", "u2.jpg"]]);
  });
});

describe("sending", () => {
  it("shows markdown as Telegram can", async () => {
    const house = await openHouse();
    const receipt = await house.say("**bold** & `a<b`");
    expect(house.fake.sent).toMatchObject([
      {
        id: Number(receipt.id),
        chat: 1,
        html: true,
        source: "<b>bold</b> &amp; <code>a&lt;b</code>",
        text: "bold & a<b",
      },
    ]);
  });

  it("sends plain text when Telegram refuses the markup, and only then", async () => {
    const house = await openHouse();
    house.fake.fail("sendMessage", refuse(400, "Bad Request: can't parse entities: unsupported start tag"));
    await house.say("**bold**");
    expect(house.fake.sent).toMatchObject([{ html: false, text: "**bold**" }]);
    expect(house.fake.callsOf("sendMessage")).toHaveLength(2);
  });

  it("says that a message may be a repeat", async () => {
    const house = await openHouse();
    await house.say("```js\n1\n```", "1", { mayRepeat: true });
    await writeFile(join(house.folder, "a.txt"), "x");
    await house.sendFile(join(house.folder, "a.txt"), "notes", { mayRepeat: true });
    await house.sendFile(join(house.folder, "a.txt"), "", { mayRepeat: true });
    expect(house.fake.sent.map(({ text }) => text)).toEqual([
      "↻ (maybe repeated) 1",
      "↻ (maybe repeated) notes",
      "↻ (maybe repeated)",
    ]);
  });

  it("splits at what Telegram takes, with room for the label", async () => {
    const house = await openHouse();
    const parts = house.channel.split(
      `${"Some words. ".repeat(1000)}\n\n\`\`\`js\n${"let a = 1;\n".repeat(1000)}\`\`\``,
    );
    for (const part of parts) await house.say(part, "1", { mayRepeat: true });
    expect(house.fake.sent).toHaveLength(parts.length);
    expect(parts.length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...house.fake.sent.map(({ text }) => text.length))).toBeLessThanOrEqual(4096);
  });

  it("takes whatever it is given", async () => {
    const house = await openHouse();
    for (const text of ["[](http://a.b)", "****", "<!-- x -->", "\ud83d", "&amp;", "a".repeat(5000)])
      await house.say(text);
    expect(house.fake.sent).toHaveLength(6);
  });

  it.each<[string, Parameters<House["fake"]["fail"]>[1], unknown[]]>([
    ["too many", tooMany(9), ["later", 9000]],
    ["Telegram is ill", refuse(500, "Internal Server Error"), ["later", undefined]],
    ["Telegram is away", refuse(502, "Bad Gateway"), ["later", undefined]],
    ["the token was changed", refuse(401, "Unauthorized"), ["later", undefined]],
    ["blocked", refuse(403, "Forbidden: bot was blocked by the user"), ["never", undefined]],
    ["kicked", refuse(403, "Forbidden: bot was kicked from the supergroup chat"), ["never", undefined]],
    ["deactivated", refuse(403, "Forbidden: user is deactivated"), ["never", undefined]],
    ["no such chat", refuse(400, "Bad Request: chat not found"), ["never", undefined]],
    ["no rights", refuse(400, "Bad Request: not enough rights to send text messages"), ["never", undefined]],
    ["the line died before it", { kind: "die" }, ["nobody knows"]],
    ["the line died after it", { kind: "die after" }, ["nobody knows"]],
    ["a proxy in between gave up", { kind: "page", code: 504 }, ["nobody knows"]],
  ])("sorts the failure: %s", async (_, fault, expected) => {
    const house = await openHouse();
    house.fake.fail("sendMessage", fault);
    expect(await sorted(house.say("hi"))).toEqual(expected);
    expect(house.fake.callsOf("sendMessage")).toHaveLength(1);
  });

  it("knows that it does not know when there is no answer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const house = await openHouse();
    house.fake.fail("sendMessage", { kind: "hang after" });
    const sending = sorted(house.say("hi"));
    await house.fake.until(() => house.fake.sent.length === 1);
    vi.advanceTimersByTime(30_000);
    expect(await sending).toEqual(["nobody knows"]);
  });

  it("knows that nothing was sent when nobody could be reached, and keeps the token to itself", async () => {
    const house = await openHouse();
    await house.fake.close();
    const error = await failure(house.say("hi"));
    expect(error).toMatchObject({ name: "SendFailure", when: "later" });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(house.fake.token);
    const gone = await openHouse();
    gone.fake.fail("sendMessage", { kind: "die" });
    expect(String(await failure(gone.say("hi")))).not.toContain(gone.fake.token);
  });

  it("that is no longer wanted has not begun", async () => {
    const house = await openHouse();
    const message: Sending = {
      kind: "text",
      to: { channel: "telegram", chat: "1" },
      text: "x",
      intent: "i",
      mayRepeat: false,
    };
    expect(await sorted(house.channel.send(message, AbortSignal.abort()))).toEqual(["later", undefined]);
    expect(house.fake.calls).toEqual([]);
  });

  it("to what is no chat never works", async () => {
    const house = await openHouse();
    expect(await sorted(house.say("hi", "direct"))).toEqual(["never", undefined]);
    expect(await sorted(house.say("hi", "999"))).toEqual(["never", undefined]);
  });

  it("follows a group that became a supergroup, and remembers", async () => {
    const house = await openHouse({ fake: { chats: [{ id: -5, type: "group", movedTo: -1005 }, { id: -1005 }] } });
    await house.say("one", "-5");
    await house.say("two", "-5");
    expect(house.fake.sent).toMatchObject([
      { chat: -1005, text: "one" },
      { chat: -1005, text: "two" },
    ]);
    expect(house.fake.callsOf("sendMessage")).toHaveLength(3);
  });

  it("keeps the pace that Telegram's own servers ask for", async () => {
    const world: ChannelWorld = { ...systemWorld(), mediaFolder: "unused", stateFolder: "unused" };
    expect(await telegram.open({ token: "1:a" }, world)).toMatchObject({ pace: { perChatMs: 1000, perSecond: 25 } });
    expect("pace" in (await openHouse()).channel).toBe(false);
  });

  it("is told by another server to wait", async () => {
    const house = await openHouse({ fake: { chats: [{ id: 1 }], perChatMs: 1000 } });
    await house.say("one");
    expect(await sorted(house.say("two"))).toEqual(["later", 1000]);
  });

  it.each([
    ["a.jpg", "sendPhoto"],
    ["a.PNG", "sendPhoto"],
    ["a.ogg", "sendVoice"],
    ["a.mp3", "sendAudio"],
    ["a.mp4", "sendVideo"],
    ["a.pdf", "sendDocument"],
    ["README", "sendDocument"],
  ])("sends the file %s by %s", async (name, method) => {
    const house = await openHouse();
    await writeFile(join(house.folder, name), "the bytes");
    await house.sendFile(join(house.folder, name), "see **this**");
    const [sent] = house.fake.sent;
    expect(sent).toMatchObject({ method, text: "see this", html: true, file: { name } });
    expect(sent?.file?.bytes.toString()).toBe("the bytes");
  });

  it("sends a picture that Telegram cannot show as a document", async () => {
    const house = await openHouse();
    await writeFile(join(house.folder, "a.png"), "x");
    house.fake.fail("sendPhoto", refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"));
    await house.sendFile(join(house.folder, "a.png"));
    expect(house.fake.sent).toMatchObject([{ method: "sendDocument" }]);
  });

  it("cuts a caption at what Telegram takes", async () => {
    const house = await openHouse();
    await writeFile(join(house.folder, "a.txt"), "x");
    await house.sendFile(join(house.folder, "a.txt"), "word ".repeat(1000));
    expect(house.fake.sent[0]?.text).toMatch(/word\n\n…$/);
  });

  it("of a file that is gone or empty never works", async () => {
    const house = await openHouse();
    await writeFile(join(house.folder, "empty"), "");
    expect(await sorted(house.sendFile(join(house.folder, "none")))).toEqual(["never", undefined]);
    expect(await sorted(house.sendFile(join(house.folder, "empty")))).toEqual(["never", undefined]);
  });

  it("goes through a proxy, and so do the poll and the files", async () => {
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on("connect", (request, socket) => {
      asked.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`);
      const target = new URL(`http://${request.url}`);
      const through = connect(Number(target.port), target.hostname, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(through).pipe(socket);
      });
      through.on("error", () => socket.destroy());
      socket.on("error", () => through.destroy());
    });
    await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const house = await openHouse({ settings: { proxy: `http://me:secret@127.0.0.1:${port}` } });
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "", { photo: photo("f") });
    await hearAll(house);
    await house.say("hi");
    expect(house.accepted[0]?.media).toHaveLength(1);
    expect(house.fake.sent).toHaveLength(1);
    expect(new Set(asked)).toEqual(new Set([`${new URL(house.fake.url).host} Basic ${btoa("me:secret")}`]));

    const lost = await openHouse({ settings: { proxy: "http://127.0.0.1:1" } });
    expect(await sorted(lost.say("hi"))).toEqual(["later", undefined]);
  });
});

describe("an answer that is being written", () => {
  it("is edited in place, where streaming is wanted", async () => {
    const house = await openHouse({ settings: { streaming: true } });
    const { id } = await house.say("He");
    await house.edit(id, "Hello **you**");
    await house.edit(id, "Hello **you**");
    house.fake.fail("editMessageText", refuse(400, "Bad Request: can't parse entities"));
    await house.edit(id, "Hello **all**");
    expect(house.fake.sent).toMatchObject([{ text: "Hello **all**", edits: ["He", "Hello you"] }]);
    house.fake.fail("editMessageText", tooMany(3));
    expect(await sorted(house.edit(id, "x") ?? Promise.resolve())).toEqual(["later", 3000]);
    expect("edit" in (await openHouse()).channel).toBe(false);
  });

  it("shows as typing, whose failure nobody minds", async () => {
    const house = await openHouse();
    await house.typing("1");
    await house.typing("999");
    house.fake.fail("sendChatAction", { kind: "die" });
    await house.typing("1");
    expect(house.fake.callsOf("sendChatAction")).toHaveLength(3);
  });
});
