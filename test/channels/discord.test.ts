/** The Discord channel: the real discord.js against a Discord of our own. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Channel, Sending } from "../../src/channels/channel.js";
import { discord } from "../../src/channels/discord.js";
import { type Inbound, shownText } from "../../src/message.js";
import { UserError } from "../../src/util/errors.js";
import { systemWorld } from "../../src/world.js";
import type { Extra, Person } from "../lab/fake-discord.js";
import { asked } from "../support/asked.js";
import { openDiscord, openRunning, startChannel } from "../support/discord-house.js";
import { describeChannel, memoryLink } from "./channel.contract.js";

const never = new AbortController().signal;
const fetching = "GET /channels/:id/messages";

const textTo = (chat: string, text: string, intent = text): Sending => ({
  kind: "text",
  to: { channel: "discord", chat },
  text,
  intent,
  mayRepeat: false,
});

describeChannel("Discord", { edits: true }, async (settings) => {
  const { fake, channel, dm, ann } = await openDiscord(settings);
  return {
    channel,
    chat: { channel: "discord", chat: dm },
    say: async (text) => void fake.say(dm, ann, text),
    refuse(how, what = "send") {
      const route = what === "send" ? "POST /channels/:id/messages" : "PATCH /channels/:id/messages/:id";
      if (how === "later") fake.fail(route, { kind: "rate-limit", retryAfter: 5 });
      else if (how === "never") fake.fail(route, { kind: "status", status: 403, code: 50001 });
      else fake.fail(route, { kind: "die", when: "after" });
    },
    posted: () => fake.standing(),
    close: () => fake.close(),
  };
});

describe("settings", () => {
  it.each([
    [{}, /channels\.discord\.token: /],
    [{ token: "" }, /channels\.discord\.token: is missing/],
    [{ token: "x", groupPolicy: "all" }, /channels\.discord\.groupPolicy: must be "mention" or "open"/],
    [{ token: "x", gatewayUrl: "gateway.example" }, /channels\.discord\.gatewayUrl is no address/],
    [{ token: "x", gatewayUrl: "https://gateway.example" }, /channels\.discord\.gatewayUrl is no address/],
    [{ token: "x", allowFrom: [123] }, /channels\.discord\.allowFrom\.0: must be a text in quotes/],
  ])("%j stop the start", async (settings, message) => {
    const world = { ...systemWorld(), mediaFolder: "", stateFolder: "" };
    await expect(discord.open(settings, world)).rejects.toThrow(message);
  });

  it("take the address of the gateway, and the API with its version", async () => {
    const house = await openDiscord();
    onTestFinished(() => house.fake.close());
    const channel = await house.open({ apiRoot: `${house.fake.apiRoot}/v10/`, gatewayUrl: house.fake.gatewayUrl });
    await startChannel({ ...house, channel });
    expect(house.fake.logins).toEqual(["identify"]);
  });

  it("of nanobot that have no effect here are said to have none", async () => {
    const { fake, warnings, open } = await openDiscord();
    onTestFinished(() => fake.close());
    await open({ proxy: null, intents: 37377 });
    expect(warnings).toEqual([]);
    await open({ proxy: "http://127.0.0.1:8080" });
    expect(warnings).toEqual([expect.stringContaining("channels.discord.proxy has no effect")]);
  });
});

describe("a login", () => {
  it("asks for no more than it needs", async () => {
    const { fake } = await openRunning({}, { grantedIntents: 1 | 512 | 4096 | 32768 });
    expect(fake.isConnected()).toBe(true);
  });

  it("that Discord refuses for want of Message Content says where to grant it", async () => {
    const { running } = await openRunning({}, { grantedIntents: 1 | 512 | 4096 });
    const error = await running.ended();
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({
      message: expect.stringContaining("Message Content") as string,
      fix: expect.stringContaining("discord.com/developers") as string,
    });
  });

  it("with a wrong token says so", async () => {
    const { running } = await openRunning({ token: "wrong" });
    expect(await running.ended()).toMatchObject({ message: "Discord refused the bot token." });
  });

  it("whose token is withdrawn later says so", async () => {
    const { fake, running } = await openRunning();
    fake.dropGateway(4004);
    expect(await running.ended()).toMatchObject({ message: "Discord refused the bot token." });
  });

  it("registers the commands once, for all servers", async () => {
    const house = await openRunning();
    await house.fake.until(() => house.fake.commands() !== undefined);
    const names = (house.fake.commands() as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(["new", "stop", "status", "history", "compact", "help"]);
    await house.running.end();
    await startChannel(house);
    expect(house.fake.requestsTo("PUT /applications/:id/commands")).toHaveLength(1);
  });
});

describe("who is heard in a guild", () => {
  type Case = readonly [what: string, text: string, heard: string | undefined, extra?: (bot: Person) => Extra];
  const byMention: readonly Case[] = [
    ["a mention", "<@BOT> hello", "hello"],
    ["a mention with a nickname", "hello <@!BOT>", "hello"],
    ["a mention amid words", "hey <@BOT> hello\nthere", "hey hello\nthere"],
    ["a mention and nothing else", "<@BOT>", "[empty message]"],
    ["a mention that only the list has", "hello", "hello", (bot) => ({ mentions: [bot] })],
    ["a mention of somebody else", "<@123456789012345678> hello", undefined],
    ["no mention", "hello", undefined],
    ["an announcement that mentions", "<@BOT>", undefined, () => ({ type: 7 })],
    ["a webhook that mentions", "<@BOT> hello", undefined, () => ({ fields: { webhook_id: "1" } })],
    [
      "a sticker with a mention",
      "<@BOT>",
      "[sticker: wave]",
      () => ({ fields: { sticker_items: [{ name: "wave" }] } }),
    ],
  ];

  it("by default: whoever mentions the bot, without the mention", async () => {
    const { fake, room, ann, running } = await openRunning();
    for (const [, text, , extra] of byMention) {
      fake.say(room, ann, text.replace("BOT", fake.bot.id), extra?.(fake.bot));
    }
    fake.say(room, ann, `<@${fake.bot.id}> the end`);
    await running.until(() => running.texts().includes("the end"));
    expect(running.texts()).toEqual([...byMention.flatMap(([, , heard]) => heard ?? []), "the end"]);
    expect(running.stored[0]).toMatchObject({
      from: { channel: "discord", chat: room },
      sender: [ann.id, "ann"],
      media: [],
    });
    expect(fake.violations).toEqual([]);
  });

  it("whoever replies to the bot, with what is replied to", async () => {
    const { fake, channel, room, ann, running } = await openRunning();
    const { id } = await channel.send(textTo(room, "Shall I?"), never);
    const other = fake.say(room, ann, "not for you");
    fake.say(room, ann, "hm", { replyTo: other });
    fake.say(room, ann, "yes", { replyTo: id });
    fake.say(room, ann, "/new", { replyTo: id });
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["[Reply to: Shall I?]\nyes", "/new"]);
  });

  it("everybody, if the policy is open; but no bots, and never itself", async () => {
    const { fake, channel, room, ann, running } = await openRunning({ groupPolicy: "open" });
    fake.say(room, fake.person("other", { bot: true }), "beep");
    await channel.send(textTo(room, "mine"), never);
    fake.say(room, ann, "hello");
    await running.until(() => running.stored.length > 0);
    expect(running.texts()).toEqual(["hello"]);
  });

  it("only in the channels that are allowed, and their threads", async () => {
    const house = await openDiscord({ groupPolicy: "open" });
    const { fake, guild, ann, dm } = house;
    onTestFinished(() => fake.close());
    const other = fake.addChannel(guild);
    const thread = fake.addThread(house.room);
    const running = await startChannel({ ...house, channel: await house.open({ allowChannels: [house.room] }) });
    fake.say(other, ann, "elsewhere");
    fake.say(house.room, ann, "here");
    fake.say(thread, ann, "in the thread");
    fake.say(dm, ann, "in private");
    await running.until(() => running.stored.length === 3);
    expect(running.texts().toSorted()).toEqual(["here", "in private", "in the thread"]);
  });
});

describe("a private chat", () => {
  it("is always heard", async () => {
    const { fake, dm, ann, running } = await openRunning();
    const id = fake.say(dm, ann, "hello");
    await running.until(() => running.stored.length === 1);
    const sentAt = expect.closeTo(Date.now(), -5) as number;
    expect(running.stored).toEqual([
      { id, from: { channel: "discord", chat: dm }, sender: [ann.id, "ann"], text: "hello", media: [], sentAt },
    ]);
  });
});

describe("a thread", () => {
  it("is a session of its own under its channel, and is answered there", async () => {
    const { fake, channel, room, ann, running } = await openRunning();
    const thread = fake.addThread(room);
    fake.say(thread, ann, `<@${fake.bot.id}> hello`);
    await running.until(() => running.stored.length === 1);
    const { chat } = running.stored[0]?.from ?? { chat: "" };
    expect(chat).toBe(`${room}:thread:${thread}`);
    await channel.send(textTo(chat, "hi"), never);
    expect(fake.posts).toMatchObject([{ channel: thread, content: "hi" }]);
  });

  it("that was asleep when we came is asked where it belongs", async () => {
    const house = await openDiscord();
    const { fake, room, ann } = house;
    onTestFinished(() => fake.close());
    const running = await startChannel(house);
    await fake.until(() => fake.commands() !== undefined);
    const thread = fake.addThread(room, { silent: true });
    fake.say(thread, ann, `<@${fake.bot.id}> good morning`);
    await running.until(() => running.stored.length === 1);
    expect(running.stored[0]?.from.chat).toBe(`${room}:thread:${thread}`);
    expect(fake.requestsTo("GET /channels/:id")).toHaveLength(1);
  });
});

describe("a message that is taken", () => {
  it("is marked with the emoji that is asked for, if its sender may speak", async () => {
    const house = await openDiscord({ reactEmoji: "👀" });
    const { fake, room, dm, ann } = house;
    onTestFinished(() => fake.close());
    const memory = memoryLink();
    const link = { ...memory.link, mayEnter: (_: unknown, [id]: readonly string[]) => id === ann.id };
    const running = await startChannel(house, { ...memory, link });
    fake.say(room, fake.person("stranger"), `<@${fake.bot.id}> hello`);
    fake.say(room, ann, "not to the bot");
    const taken = fake.say(room, ann, `<@${fake.bot.id}> hello`);
    await fake.until(() => fake.reactions.length === 1);
    expect(fake.reactions).toEqual([{ message: taken, emoji: "👀" }]);
    // What was said while we were away is answered, but no longer waited for.
    await running.end();
    fake.say(room, ann, `<@${fake.bot.id}> are you there?`);
    const again = await startChannel(house);
    const next = fake.say(dm, ann, "hello");
    await fake.until(() => fake.reactions.length === 2);
    await again.until(() => again.stored.length === 2);
    expect(fake.reactions.map(({ message }) => message)).toEqual([taken, next]);
    expect(fake.violations).toEqual([]);
  });

  it("is taken all the same if it cannot be marked", async () => {
    const { fake, dm, ann, running, warnings } = await openRunning({ reactEmoji: "no emoji" });
    fake.say(dm, ann, "1");
    fake.say(dm, ann, "2");
    await running.until(() => running.stored.length === 2);
    await fake.until(() => warnings.length === 2);
    expect(warnings[0]).toContain("Discord: no reaction: Unknown Emoji");
  });
});

describe("files that come with a message", () => {
  const askAll = (channel: Channel, messages: readonly Inbound[]) =>
    Promise.all(messages.map((message) => asked(channel, message)));

  it("are saved and named in the text", async () => {
    const { fake, dm, ann, world, channel, running } = await openRunning();
    const bytes = Buffer.from("what is in it");
    fake.say(dm, ann, "look", { files: [{ name: "a/../b.txt", bytes }] });
    await running.until(() => running.stored.length === 1);
    const [{ media: [path = ""], text } = { media: [], text: "" }] = await askAll(channel, running.stored);
    expect(text).toBe(`look\n[attachment: ${path}]`);
    expect(path).toMatch(/^.*\/media\/\d+_a_\.\._b\.txt$/);
    expect(path.startsWith(world.mediaFolder)).toBe(true);
    expect(readFileSync(path)).toEqual(bytes);
  });

  it("are left where they are if too large, or gone", async () => {
    const { fake, dm, ann, channel, running, warnings } = await openRunning();
    const tooLarge = { name: "huge.bin", bytes: Buffer.alloc(0), claimedSize: 20 * 1024 * 1024 + 1 };
    const gone = { id: "1", filename: "gone.txt", size: 3, url: `${fake.apiRoot}/../attachments/gone` };
    fake.say(dm, ann, "", { files: [tooLarge] });
    fake.say(dm, ann, "", { fields: { attachments: [gone] } });
    await running.until(() => running.stored.length === 2);
    expect(await askAll(channel, running.stored)).toEqual([
      { text: "[attachment: huge.bin - too large]", media: [] },
      { text: "[attachment: gone.txt - download failed]", media: [] },
    ]);
    expect(warnings).toEqual([expect.stringContaining("gone.txt")]);
  });

  it("are only named when their message comes: nothing is fetched for strangers, and nobody waits", async () => {
    const { fake, dm, ann, running } = await openRunning();
    const files = [{ name: "a.txt", bytes: Buffer.from("x") }];
    const quoted = fake.say(dm, ann, "", { files });
    fake.say(dm, ann, "look", { files, replyTo: quoted });
    fake.say(dm, ann, "", { replyTo: quoted });
    await running.until(() => running.stored.length === 3);
    expect(running.texts()).toEqual(["", "look", "[empty message]"]);
    expect(running.stored.map(shownText)).toEqual([
      "[attachment: a.txt]",
      "look\n[attachment: a.txt]",
      "[empty message]",
    ]);
    expect(running.stored.map(({ media }) => media)).toEqual([[], [], []]);
    expect(fake.fetched).toEqual([]);
  });

  it("are found once their address has run out, by what a ledger has kept of them", async () => {
    const { fake, dm, ann, channel, running, warnings } = await openRunning();
    fake.say(dm, ann, "", { files: [{ name: "a.txt", bytes: Buffer.from("x") }] });
    await running.until(() => running.stored.length === 1);
    fake.renewAddresses();
    const kept = JSON.parse(JSON.stringify(running.stored)) as Inbound[];
    const [question] = await askAll(channel, kept);
    expect(question?.media).toHaveLength(1);
    expect(warnings).toEqual([]);
    expect(fake.violations).toEqual([]);
  });
});

describe("a slash command", () => {
  it("comes in as its text and is acknowledged once it is stored", async () => {
    const { fake, room, dm, ann, running } = await openRunning();
    const release = running.hold();
    const inRoom = fake.command(room, ann, "history", { count: 5 });
    const inPrivate = fake.command(dm, ann, "new");
    expect(fake.acknowledged).toEqual([]);
    release();
    await fake.until(() => fake.acknowledged.length === 2);
    expect(running.stored.toSorted((one, other) => one.text.localeCompare(other.text))).toEqual([
      { id: inRoom, from: { channel: "discord", chat: room }, sender: [ann.id, "ann"], text: "/history 5", media: [] },
      { id: inPrivate, from: { channel: "discord", chat: dm }, sender: [ann.id, "ann"], text: "/new", media: [] },
    ]);
    expect(fake.acknowledged.find(({ interaction }) => interaction === inPrivate)?.body).toMatchObject({
      type: 4,
      data: { content: "`/new` received.", flags: 64 },
    });
  });

  it("in a thread belongs to the thread", async () => {
    const { fake, room, ann, running } = await openRunning();
    const thread = fake.addThread(room);
    fake.command(thread, ann, "stop");
    await running.until(() => running.stored.length === 1);
    expect(running.stored[0]?.from.chat).toBe(`${room}:thread:${thread}`);
  });

  it("without its channel is taken all the same", async () => {
    const { fake, room, ann, running } = await openRunning();
    const thread = fake.addThread(room);
    for (const channel_id of [room, thread]) {
      fake.dispatch("INTERACTION_CREATE", {
        id: `9${channel_id}`,
        token: "t",
        type: 2,
        channel_id,
        guild_id: "1",
        member: { user: { id: ann.id, username: "ann" } },
        data: { id: "1", name: "stop", type: 1 },
      });
    }
    await running.until(() => running.stored.length === 2);
    expect(running.stored.map(({ from }) => from.chat).toSorted()).toEqual([room, `${room}:thread:${thread}`]);
  });

  it("of a stranger is told so, and nobody else", async () => {
    const house = await openDiscord();
    onTestFinished(() => house.fake.close());
    const memory = memoryLink();
    await startChannel(house, { ...memory, link: { ...memory.link, mayEnter: () => false } });
    house.fake.command(house.dm, house.ann, "help");
    await house.fake.until(() => house.fake.acknowledged.length === 1);
    expect(house.fake.acknowledged[0]?.body).toMatchObject({
      data: { content: "I am sorry, I may not talk to you.", flags: 64 },
    });
  });

  it("that cannot be stored is not acknowledged", async () => {
    const { fake, dm, ann, running } = await openRunning();
    running.failWith(new Error("the disk is full"));
    fake.command(dm, ann, "new");
    expect(await running.ended()).toMatchObject({ message: "the disk is full" });
    expect(fake.acknowledged).toEqual([]);
  });
});

describe("what is said while we are away", () => {
  it("is fetched and handed over before what is said now", async () => {
    const house = await openRunning();
    const { fake, room, dm, ann } = house;
    const mention = `<@${fake.bot.id}>`;
    fake.say(dm, ann, "dm 1");
    fake.say(room, ann, `${mention} room 1`);
    await house.running.until(() => house.running.stored.length === 2);
    await house.running.end();
    fake.say(dm, ann, "dm 2");
    fake.say(dm, ann, "dm 3");
    fake.say(room, ann, "not for us");
    fake.say(room, ann, `${mention} room 2`);
    const running = await startChannel(house);
    fake.say(dm, ann, "dm 4");
    fake.say(room, ann, `${mention} room 3`);
    await running.until(() => running.stored.length === 5);
    expect(running.texts().filter((text) => text.startsWith("dm"))).toEqual(["dm 2", "dm 3", "dm 4"]);
    expect(running.texts().filter((text) => text.startsWith("room"))).toEqual(["room 2", "room 3"]);
    expect(fake.violations).toEqual([]);
  });

  it("in hundreds of messages is fetched page by page, oldest first", async () => {
    const house = await openRunning();
    const { fake, dm, ann } = house;
    fake.say(dm, ann, "0");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    const said = Array.from({ length: 250 }, (_, index) => String(index + 1));
    for (const text of said) fake.say(dm, ann, text);
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 250);
    expect(running.texts()).toEqual(said);
    expect(fake.requestsTo(fetching).filter(({ path }) => path.includes(dm))).toHaveLength(3);
  });

  it("is fetched even where nobody had spoken yet, and in threads made meanwhile", async () => {
    const house = await openRunning();
    const { fake, room, guild, ann } = house;
    await house.running.end();
    const thread = fake.addThread(room);
    const channel = fake.addChannel(guild);
    for (const place of [room, thread, channel]) fake.say(place, ann, `<@${fake.bot.id}> in ${place}`);
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 3);
    expect(running.texts().toSorted()).toEqual([room, thread, channel].map((place) => `in ${place}`).toSorted());
  });

  it("is fetched from a private chat that an allowed person opened meanwhile", async () => {
    const house = await openDiscord();
    const { fake, dm, ann } = house;
    onTestFinished(() => fake.close());
    const channel = await house.open({ allowFrom: [ann.id, "bob"] });
    const asked = (): number => fake.requestsTo("POST /users/@me/channels").length;
    const first = await startChannel({ ...house, channel });
    await fake.until(() => asked() === 1 && existsSync(join(house.world.stateFolder, "discord.json")));
    await first.end();
    fake.say(dm, ann, "anybody there?");
    const second = await startChannel({ ...house, channel });
    await second.until(() => second.stored.length === 1);
    expect(second.texts()).toEqual(["anybody there?"]);
    expect(asked()).toBe(1);
    expect(fake.violations).toEqual([]);
  });

  it("before the very first start is history", async () => {
    const house = await openDiscord();
    const { fake, room, ann } = house;
    onTestFinished(() => fake.close());
    fake.say(room, ann, `<@${fake.bot.id}> old`);
    const running = await startChannel(house);
    fake.say(room, ann, `<@${fake.bot.id}> new`);
    await running.until(() => running.stored.length > 0);
    expect(running.texts()).toEqual(["new"]);
  });

  it("just after the very first login is fetched, also if the process is killed at once", async () => {
    const house = await openRunning();
    const { fake, room, dm, ann, folder } = house;
    // That it listens is on disk when it says so: a copy of the disk of this moment is what a killed process leaves.
    const left = readFileSync(join(folder, "state", "discord.json"), "utf8");
    await house.running.end();
    writeFileSync(join(folder, "state", "discord.json"), left);
    fake.say(room, ann, `<@${fake.bot.id}> in the room`);
    const running = await startChannel({ ...house, channel: await house.open({ allowFrom: [ann.id] }) });
    await running.until(() => running.stored.length === 1);
    fake.say(dm, ann, "in private");
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["in the room", "in private"]);
    expect(running.stored[0]).toMatchObject({ missed: true });
  });

  it("is fetched from servers that do not introduce themselves", async () => {
    const house = await openRunning();
    const { fake, guild, room, ann } = house;
    fake.say(room, ann, `<@${fake.bot.id}> one`);
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    fake.loseGuild(guild);
    fake.say(room, ann, `<@${fake.bot.id}> two`);
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["two"]);
  });

  it("before we joined a server was not said to us", async () => {
    const house = await openRunning({ groupPolicy: "open" });
    const { fake, room, dm, ann } = house;
    fake.say(dm, ann, "hello");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    const guild = fake.addGuild({ joinedAt: new Date(Date.now() + 60_000) });
    const elsewhere = fake.addChannel(guild);
    fake.say(elsewhere, ann, "among ourselves");
    fake.say(room, ann, "to us");
    const running = await startChannel(house);
    fake.say(elsewhere, ann, "welcome");
    await running.until(() => running.stored.length === 2);
    expect(running.texts().toSorted()).toEqual(["to us", "welcome"]);
  });

  it("in a private chat that began while nothing could be written is heard as soon as there is room", async () => {
    const house = await openRunning();
    const { fake, folder, dm, ann } = house;
    await fake.until(() => existsSync(join(folder, "state", "discord.json")), "the first bookmark");
    // As on a full disk: neither the bookmark nor the message can be stored.
    rmSync(join(folder, "state"), { recursive: true });
    writeFileSync(join(folder, "state"), "");
    house.running.failWith(new Error("no space left on device"));
    fake.say(dm, ann, "hello");
    expect(await house.running.ended()).toBeInstanceOf(Error);
    rmSync(join(folder, "state"));
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["hello"]);
  });

  it("at the very first login, on a disk that is full already, is heard as soon as there is room", async () => {
    const house = await openDiscord();
    const { fake, folder, dm, ann } = house;
    onTestFinished(() => fake.close());
    fake.loseGuild(house.guild);
    // Nothing is there, and nothing can be made there.
    symlinkSync(join(folder, "no", "such", "place"), join(folder, "state"));
    const memory = memoryLink();
    memory.failWith(new Error("no space left on device"));
    const first = house.channel.run(memory.link, new AbortController().signal);
    await expect
      .poll(() => house.warnings.filter((line) => line.includes("could not be saved")).length)
      .toBeGreaterThan(1);
    fake.say(dm, ann, "hello");
    await expect(first).rejects.toThrow(Error);
    // Nobody has been told that all is well.
    expect(memory.lives()).toBe(0);
    rmSync(join(folder, "state"));
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["hello"]);
  });

  it("is fetched as soon as the REST half of Discord is back", async () => {
    const house = await openRunning();
    const { fake, dm, ann, warnings } = house;
    fake.say(dm, ann, "1");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    fake.say(dm, ann, "2");
    fake.fail(fetching, { kind: "status", status: 503 }, { kind: "die", when: "before" });
    const running = await startChannel(house);
    fake.say(dm, ann, "3");
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["2", "3"]);
    expect(warnings).toHaveLength(2);
  });

  it.each([403, 404])("is not given up for a page of somebody on the way (%i)", async (status) => {
    const house = await openRunning();
    const { fake, dm, ann } = house;
    fake.say(dm, ann, "1");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    fake.say(dm, ann, "2");
    fake.fail(fetching, { kind: "page", status });
    const running = await startChannel(house);
    fake.say(dm, ann, "3");
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["2", "3"]);
  });

  /** Bob has opened a private chat and said something there since we were last here. */
  const spokenToWhileAway = async () => {
    const house = await openRunning();
    const { fake, room, ann } = house;
    fake.say(room, ann, `<@${fake.bot.id}> first`);
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    const bob = fake.person("bob");
    const chat = fake.addPrivateChat(bob);
    fake.say(chat, bob, "anybody there?");
    return { house, fake, bob, chat };
  };

  it.each([
    ["refused on the way", { kind: "page", status: 403 }],
    ["when Discord is half down", { kind: "status", status: 502 }],
    ["on a line that breaks", { kind: "die", when: "before" }],
  ] as const)("is fetched from a private chat that was asked for in vain: %s", async (_, fault) => {
    const { house, fake, bob } = await spokenToWhileAway();
    fake.fail("POST /users/@me/channels", fault);
    const channel = await house.open({ allowFrom: [bob.id] });
    const running = await startChannel({ ...house, channel });
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["anybody there?"]);
  });

  it("is fetched from a private chat as soon as somebody speaks there, also if it could not be asked for", async () => {
    const { house, fake, bob, chat } = await spokenToWhileAway();
    const running = await startChannel(house);
    fake.say(chat, bob, "hello?");
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["anybody there?", "hello?"]);
  });

  it("is fetched when a server comes back that Discord had lost for a while", async () => {
    const { fake, guild, room, ann, running } = await openRunning({ groupPolicy: "open" });
    const thread = fake.addThread(room);
    fake.say(room, ann, "room 1");
    fake.say(thread, ann, "thread 1");
    await running.until(() => running.stored.length === 2);
    fake.loseGuild(guild);
    fake.say(room, ann, "room 2");
    fake.say(thread, ann, "thread 2");
    fake.returnGuild(guild);
    fake.say(room, ann, "room 3");
    await running.until(() => running.stored.length === 5);
    expect(running.texts().filter((text) => text.startsWith("room"))).toEqual(["room 1", "room 2", "room 3"]);
    expect(running.texts()).toContain("thread 2");
    expect(fake.logins).toEqual(["identify"]);
  });

  it("in a channel that is gone is nobody's", async () => {
    const house = await openRunning();
    const { fake, dm, room, ann } = house;
    fake.say(dm, ann, "1");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    fake.removeChannel(dm);
    const running = await startChannel(house);
    fake.say(room, ann, `<@${fake.bot.id}> still here`);
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["still here"]);
  });

  it("is remembered in a small file; a damaged one is set aside", async () => {
    const house = await openRunning();
    const { fake, dm, ann, world } = house;
    const id = fake.say(dm, ann, "1");
    await house.running.until(() => house.running.stored.length === 1);
    await house.running.end();
    const path = join(world.stateFolder, "discord.json");
    const kept = JSON.parse(readFileSync(path, "utf8")) as { channels: Record<string, unknown> };
    expect(kept.channels[dm]).toEqual({ last: id, person: ann.id, heard: true });
    writeFileSync(path, "{");
    const running = await startChannel(house);
    fake.say(dm, ann, "2");
    await running.until(() => running.stored.length === 1);
    expect(house.warnings).toEqual([expect.stringMatching(/discord\.json is damaged and was set aside/)]);
  });

  it("and could not be stored holds up what comes after it, until it is", async () => {
    const house = await openDiscord();
    const { fake, dm, ann } = house;
    onTestFinished(() => fake.close());
    const memory = memoryLink();
    let broken = true;
    const accept: typeof memory.link.accept = async (message) => {
      if (!broken) return memory.link.accept(message);
      broken = false;
      throw new Error("the disk is full");
    };
    const first = await startChannel(house, { ...memory, link: { ...memory.link, accept } });
    fake.say(dm, ann, "1");
    fake.say(dm, ann, "2");
    expect(await first.ended()).toMatchObject({ message: "the disk is full" });
    expect(memory.stored).toEqual([]);
    const running = await startChannel(house);
    await running.until(() => running.stored.length === 2);
    expect(running.texts()).toEqual(["1", "2"]);
  });
});
