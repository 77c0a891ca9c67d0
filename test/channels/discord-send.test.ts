/** What is sent to Discord: once each, quoting, growing, and within its limits. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SendFailure, type Sending } from "../../src/channels/channel.js";
import { createRest } from "../../src/channels/discord-rest.js";
import type { FakeDiscordOptions } from "../lab/fake-discord.js";
import { openDiscord, openRunning } from "../support/discord-house.js";

const never = new AbortController().signal;
const posting = "POST /channels/:id/messages";
const editing = "PATCH /channels/:id/messages/:id";

const textTo = (chat: string, text: string, intent = text): Sending & { readonly kind: "text" } => ({
  kind: "text",
  to: { channel: "discord", chat },
  text,
  intent,
  mayRepeat: false,
});

async function failureOf(work: Promise<unknown> | undefined): Promise<unknown> {
  return work?.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Discord, and the channel with nothing to hear. */
async function openMute(settings: object = {}, options: FakeDiscordOptions = {}) {
  const house = await openDiscord(settings, options);
  onTestFinished(() => house.fake.close());
  return house;
}

describe("a limit that only the words of a refusal name", () => {
  const refusal =
    (body: string): typeof fetch =>
    async () =>
      new Response(body, { status: 429, headers: { "content-type": "application/json" } });

  // discord.js adds a moment of its own.
  it.each([
    ['{"message":"You are being rate limited.","retry_after":14.5,"global":false}', 14_550],
    ["<html>slow down</html>", 5050],
    ['{"retry_after":"soon"}', 5050],
  ])("is kept: %s", async (body, afterMs) => {
    const library = await import("../../src/channels/discord-library.js");
    const { deliver } = createRest(library, {
      api: "http://127.0.0.1",
      token: "t",
      perSecond: 50,
      fetch: refusal(body),
    });
    const failure = await failureOf(deliver("post", "/channels/1/messages", {}, never));
    expect(failure).toBeInstanceOf(SendFailure);
    expect(failure).toMatchObject({ when: "later", afterMs });
  });

  it("for everybody holds up everybody", async () => {
    let asked = 0;
    const body = '{"retry_after":30,"global":true}';
    const library = await import("../../src/channels/discord-library.js");
    const { deliver } = createRest(library, {
      api: "http://127.0.0.1",
      token: "t",
      perSecond: 50,
      fetch: (...request) => {
        asked++;
        return refusal(body)(...request);
      },
    });
    for (const channel of ["1", "2"]) await failureOf(deliver("post", `/channels/${channel}/messages`, {}, never));
    expect(asked).toBe(1);
  });
});

describe("a message that is sent", () => {
  it("pings nobody and carries a nonce of its intent", async () => {
    const { fake, channel, room } = await openRunning();
    const { id } = await channel.send(textTo(room, "hello @everyone", "intent-1"), never);
    expect(fake.posts).toMatchObject([{ id, channel: room, content: "hello @everyone" }]);
    const [{ body } = { body: {} }] = fake.requestsTo(posting);
    expect(body).toMatchObject({ enforce_nonce: true, allowed_mentions: { parse: [] } });
    expect(fake.posts[0]?.nonce).toMatch(/^[\w-]{25}$/);
    expect(fake.violations).toEqual([]);
  });

  it("may be a file", async () => {
    const { fake, channel, room, folder } = await openRunning();
    const path = join(folder, "report.txt");
    writeFileSync(path, "all is well");
    const to = { channel: "discord", chat: room };
    await channel.send({ kind: "file", to, path, caption: "here", intent: "i", mayRepeat: false }, never);
    expect(fake.posts).toMatchObject([
      { content: "here", files: [{ name: "report.txt", bytes: Buffer.from("all is well") }] },
    ]);
    const gone = { kind: "file", to, path: join(folder, "gone"), caption: "", intent: "j", mayRepeat: false } as const;
    expect(await failureOf(channel.send(gone, never))).toMatchObject({ when: "never" });
  });

  it("is posted once, however often it is tried after an answer was lost", async () => {
    const house = await openDiscord();
    const { fake, channel, room } = house;
    onTestFinished(() => fake.close());
    fake.fail(posting, { kind: "die", when: "after" }, { kind: "die", when: "after" }, { kind: "status", status: 502 });
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await failureOf(channel.send(textTo(room, "hi"), never))).not.toBeInstanceOf(SendFailure);
    }
    const { id } = await channel.send({ ...textTo(room, "hi"), mayRepeat: true }, never);
    expect(fake.posts.map((post) => post.id)).toEqual([id]);
    // Another message with the same words is another message.
    await channel.send(textTo(room, "hi", "another"), never);
    expect(fake.posts).toHaveLength(2);
  });

  it("is recognised when it comes by, after Discord has forgotten the nonce", async () => {
    const { fake, channel, room, running } = await openRunning({}, { nonceWindowMs: 0 });
    fake.fail(posting, { kind: "die", when: "after" });
    const lives = running.lives();
    await failureOf(channel.send(textTo(room, "hi"), never));
    await running.until(() => running.lives() > lives);
    const { id } = await channel.send({ ...textTo(room, "hi"), mayRepeat: true }, never);
    expect(fake.posts.map((post) => post.id)).toEqual([id]);
  });

  it.each([
    ["slowed down for long", { kind: "rate-limit", retryAfter: 7 }, "later"],
    ["slowed down everywhere", { kind: "rate-limit", retryAfter: 7, global: true }, "later"],
    ["in slow mode", { kind: "status", status: 400, code: 20016 }, "later"],
    ["unauthorised", { kind: "status", status: 401 }, "later"],
    ["to nobody", { kind: "status", status: 404, code: 10003 }, "never"],
    ["without access", { kind: "status", status: 403, code: 50001 }, "never"],
    ["to someone who blocks us", { kind: "status", status: 403, code: 50007 }, "never"],
    ["too large", { kind: "status", status: 413, code: 40005 }, "never"],
    ["refused on the way", { kind: "page", status: 403 }, "later"],
    ["lost on the way", { kind: "page", status: 404 }, "later"],
    ["refused without a word", { kind: "page", status: 400, words: "" }, "later"],
    ["too large for somebody on the way", { kind: "page", status: 413 }, "never"],
    ["slowed down without saying for how long", { kind: "page", status: 429 }, "later"],
  ] as const)("%s: %j is %s", async (_what, fault, when) => {
    const { fake, channel, room } = await openDiscord();
    onTestFinished(() => fake.close());
    fake.fail(posting, fault);
    const failure = await failureOf(channel.send(textTo(room, "hi"), never));
    expect(failure).toBeInstanceOf(SendFailure);
    expect(failure).toMatchObject({ when });
    if (fault.kind === "rate-limit") expect((failure as SendFailure).afterMs).toBeGreaterThanOrEqual(7000);
    expect(fake.posts).toEqual([]);
    // Nothing of it sticks, not even to the token.
    if (fault.kind === "status") await channel.send(textTo(room, "hi"), never);
  });

  it.each([
    { kind: "page", status: 200 },
    { kind: "page", status: 204 },
    { kind: "page", status: 302 },
  ] as const)("and is answered by somebody else (%j) may or may not have arrived", async (fault) => {
    const { fake, channel, room } = await openDiscord();
    onTestFinished(() => fake.close());
    fake.fail(posting, fault);
    const failure = await failureOf(channel.send(textTo(room, "hi"), never));
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(SendFailure);
    await channel.send(textTo(room, "hi"), never);
    expect(fake.posts).toHaveLength(1);
  });

  it("keeps no connection open for the words of a refusal", async () => {
    const { fake, channel, room } = await openDiscord();
    onTestFinished(() => fake.close());
    const many = 20;
    fake.fail(posting, ...Array.from({ length: many }, () => ({ kind: "page", status: 502 }) as const));
    for (let at = 0; at < many; at++) await failureOf(channel.send(textTo(room, "hi", `intent-${at}`), never));
    await fake.until(() => fake.connections() < 5, "their end", 2000);
  });

  it("waits out a short rate limit by itself", async () => {
    const { fake, channel, room } = await openDiscord();
    onTestFinished(() => fake.close());
    fake.fail(posting, { kind: "rate-limit", retryAfter: 0.05 });
    await channel.send(textTo(room, "hi"), never);
    expect(fake.posts).toHaveLength(1);
  });

  it("that nobody could take, for nobody was there, may go later", async () => {
    const { fake, channel, room } = await openDiscord();
    await fake.close();
    expect(await failureOf(channel.send(textTo(room, "hi"), never))).toMatchObject({ when: "later" });
  });

  it("can be called off while Discord does not answer", async () => {
    const { fake, channel, room } = await openDiscord();
    onTestFinished(() => fake.close());
    fake.fail(posting, { kind: "hang" });
    const stop = new AbortController();
    const failure = failureOf(channel.send(textTo(room, "hi"), stop.signal));
    await fake.until(() => fake.requestsTo(posting).length === 1);
    stop.abort();
    expect(await failure).toBeInstanceOf(Error);
  });

  it("to something that is no channel is never sent", async () => {
    const { fake, channel } = await openDiscord();
    onTestFinished(() => fake.close());
    expect(await failureOf(channel.send(textTo("../users/@me", "hi"), never))).toMatchObject({ when: "never" });
    expect(fake.requests).toEqual([]);
  });

  it("with a caption that is too long has it cut, not refused", async () => {
    const { fake, channel, room, folder } = await openMute();
    const path = join(folder, "report.txt");
    writeFileSync(path, "all is well");
    const caption = "word ".repeat(1000);
    const to = { channel: "discord", chat: room };
    await channel.send({ kind: "file", to, path, caption, intent: "i", mayRepeat: false }, never);
    expect(fake.posts).toMatchObject([{ content: expect.stringMatching(/word\n…$/) as string }]);
  });

  it("is announced by typing", async () => {
    const { fake, channel, room } = await openMute();
    await channel.typing?.({ channel: "discord", chat: room }, never);
    expect(fake.requests.map(({ path }) => path)).toEqual([`/channels/${room}/typing`]);
  });
});

describe("an answer to a message", () => {
  const settings = { replyToMessage: true };

  it("quotes it without a ping, where that is wanted", async () => {
    const { fake, channel, room, ann, open } = await openMute(settings);
    const answers = fake.say(room, ann, "what is the time?");
    await channel.send({ ...textTo(room, "Noon."), answers }, never);
    await channel.send(textTo(room, "And sunny."), never);
    const plain = await open({ replyToMessage: false });
    await plain.send({ ...textTo(room, "Still noon."), answers }, never);
    expect(fake.posts.map(({ quotes }) => quotes)).toEqual([answers, undefined, undefined]);
    expect(fake.violations).toEqual([]);
  });

  it("in a thread quotes it there", async () => {
    const { fake, channel, room, ann } = await openMute(settings);
    const thread = fake.addThread(room);
    const answers = fake.say(thread, ann, "hello");
    await channel.send({ ...textTo(`${room}:thread:${thread}`, "hi"), answers }, never);
    expect(fake.posts).toMatchObject([{ channel: thread, quotes: answers }]);
  });

  it("survives the message, which may be gone or was a command from the menu", async () => {
    const { fake, channel, room, ann } = await openMute(settings);
    const answers = fake.command(room, ann, "status");
    await channel.send({ ...textTo(room, "All is well."), answers }, never);
    expect(fake.posts).toMatchObject([{ content: "All is well.", quotes: undefined }]);
    expect(fake.requestsTo(posting)).toHaveLength(1);
  });

  it.each([
    ["the bot may not read what was said before", { kind: "status", status: 400, code: 160002 }],
    [
      "Discord does not like what is quoted",
      { kind: "status", status: 400, code: 50035, errors: { message_reference: { _errors: [] } } },
    ],
  ] as const)("goes alone where %s", async (_, fault) => {
    const { fake, channel, room, ann } = await openMute(settings);
    const answers = fake.say(room, ann, "hello");
    fake.fail(posting, fault);
    await channel.send({ ...textTo(room, "hi"), answers }, never);
    expect(fake.posts).toMatchObject([{ content: "hi", quotes: undefined }]);
  });

  it("that is refused for its words is refused", async () => {
    const { fake, channel, room, ann } = await openMute(settings);
    const answers = fake.say(room, ann, "hello");
    fake.fail(posting, { kind: "status", status: 400, code: 50035, errors: { content: { _errors: [] } } });
    expect(await failureOf(channel.send({ ...textTo(room, "hi"), answers }, never))).toMatchObject({ when: "never" });
    expect(fake.requestsTo(posting)).toHaveLength(1);
  });

  it.each(["own-0b5c", "cron-daily-1", ""])("%j is of no message, and quotes none", async (answers) => {
    const { fake, channel, room } = await openMute(settings);
    await channel.send({ ...textTo(room, "hi"), answers }, never);
    expect(fake.requestsTo(posting)[0]?.body).not.toHaveProperty("message_reference");
  });
});

describe("an answer that is being written", () => {
  it("is edited in place, and still pings nobody", async () => {
    const { fake, channel, room } = await openMute();
    const to = { channel: "discord", chat: room };
    const receipt = await channel.send(textTo(room, "hel"), never);
    await channel.edit?.(to, receipt, "hello", never);
    await channel.edit?.(to, receipt, "hello @everyone", never);
    expect(fake.edits.map(({ content }) => content)).toEqual(["hello", "hello @everyone"]);
    expect(fake.standing()).toEqual(["hello @everyone"]);
    expect(fake.violations).toEqual([]);
  });

  it("in a thread is edited there", async () => {
    const { fake, channel, room } = await openMute();
    const thread = fake.addThread(room);
    const chat = `${room}:thread:${thread}`;
    const receipt = await channel.send(textTo(chat, "hel"), never);
    await channel.edit?.({ channel: "discord", chat }, receipt, "hello", never);
    expect(fake.requestsTo(editing).map(({ path }) => path)).toEqual([`/channels/${thread}/messages/${receipt.id}`]);
  });

  it.each([
    ["slowed down", { kind: "rate-limit", retryAfter: 7 }, "later"],
    ["edited too often when it is old", { kind: "status", status: 400, code: 30046 }, "never"],
    ["deleted", { kind: "status", status: 404, code: 10008 }, "never"],
    ["of somebody else", { kind: "status", status: 403, code: 50005 }, "never"],
  ] as const)("%s: %j is %s", async (_what, fault, when) => {
    const { fake, channel, room } = await openMute();
    const to = { channel: "discord", chat: room };
    const receipt = await channel.send(textTo(room, "hel"), never);
    fake.fail(editing, fault);
    const failure = await failureOf(channel.edit?.(to, receipt, "hello", never));
    expect(failure).toMatchObject({ name: "SendFailure", when });
    if (fault.kind === "rate-limit") expect((failure as SendFailure).afterMs).toBeGreaterThanOrEqual(7000);
    expect(fake.standing()).toEqual(["hel"]);
  });

  it("is not looked for where it cannot be", async () => {
    const { fake, channel, room, ann } = await openMute();
    const to = { channel: "discord", chat: room };
    const theirs = fake.say(room, ann, "mine");
    expect(await failureOf(channel.edit?.(to, { id: theirs }, "yours", never))).toMatchObject({ when: "never" });
    expect(await failureOf(channel.edit?.(to, { id: "../@me" }, "x", never))).toMatchObject({ when: "never" });
    expect(fake.requests.map(({ route }) => route)).toEqual([editing]);
  });

  it("appears while it grows only where that is wanted, as often as is wanted", async () => {
    const { channel, open, room } = await openMute();
    expect("streaming" in channel).toBe(false);
    const to = { channel: "discord", chat: room };
    expect((await open({ streaming: true })).streaming?.everyMs(to)).toBe(800);
    expect((await open({ streaming: true, streamEditInterval: 2 })).streaming?.everyMs(to)).toBe(2000);
  });
});

describe("a burst", () => {
  /** As delivery does it: one after the other in a chat, the chats side by side. */
  const burst = (count: number, chats: readonly string[], work: (chat: string, text: string) => Promise<unknown>) =>
    Promise.all(
      chats.map(async (chat) => {
        for (let at = 0; at < count; at++) await work(chat, `${at}`);
      }),
    );

  it("keeps to the limits that Discord tells of, in order and without a single refusal", async () => {
    const limits = { bucket: { requests: 5, perMs: 150 } };
    const { fake, channel, room, dm } = await openMute({}, { limits });
    await burst(12, [room, dm], (chat, text) => channel.send(textTo(chat, text, `${chat} ${text}`), never));
    for (const place of [room, dm]) {
      const texts = fake.posts.filter((post) => post.channel === place).map(({ content }) => content);
      expect(texts).toEqual(Array.from({ length: 12 }, (_, at) => `${at}`));
    }
    expect(fake.refused()).toBe(0);
  });

  it("of edits does so too", async () => {
    const { fake, channel, room } = await openMute({}, { limits: { bucket: { requests: 5, perMs: 150 } } });
    const receipt = await channel.send(textTo(room, "begin"), never);
    const to = { channel: "discord", chat: room };
    await burst(12, [room], async (_, text) => channel.edit?.(to, receipt, text, never));
    expect(fake.standing()).toEqual(["11"]);
    expect(fake.refused()).toBe(0);
  });

  it.each([
    ["a channel", { bucket: { requests: 3, perMs: 100 }, silent: true }],
    ["everything", { global: { requests: 6, perMs: 100 } }],
  ] as const)("that runs into an unannounced limit of %s waits and goes on", async (_, limits) => {
    const { fake, channel, room, dm } = await openMute({}, { limits });
    await burst(8, [room, dm], (chat, text) => channel.send(textTo(chat, text, `${chat} ${text}`), never));
    for (const place of [room, dm]) {
      const texts = fake.posts.filter((post) => post.channel === place).map(({ content }) => content);
      expect(texts).toEqual(Array.from({ length: 8 }, (_, at) => `${at}`));
    }
    expect(fake.refused()).toBeGreaterThan(0);
  });

  it("that would have to wait for long is given back to whoever sends, with the time to wait", async () => {
    const { fake, channel, room } = await openMute({}, { limits: { bucket: { requests: 2, perMs: 60_000 } } });
    await burst(2, [room], (chat, text) => channel.send(textTo(chat, text), never));
    const failure = await failureOf(channel.send(textTo(room, "2"), never));
    expect(failure).toMatchObject({ name: "SendFailure", when: "later" });
    expect((failure as SendFailure).afterMs).toBeGreaterThan(50_000);
    // Discord has been listened to: it was not even asked.
    expect(fake.requestsTo(posting)).toHaveLength(2);
  });

  it("to a server of one's own is as fast as that server", async () => {
    const { fake, channel, guild } = await openMute();
    const chats = Array.from({ length: 120 }, () => fake.addChannel(guild));
    // At Discord's fifty a second the rest would wait for the next second, which does not come.
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    await burst(1, chats, (chat, text) => channel.send(textTo(chat, text, chat), new AbortController().signal));
    expect(fake.posts).toHaveLength(120);
  });
});
