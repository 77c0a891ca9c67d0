/** What is sent to Telegram: as people read it, and with what a refusal means. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Api } from "grammy";
import { type ChannelWorld, type Receipt, SendFailure, type Sending } from "../../src/channels/channel.js";
import { createGroupLimit } from "../../src/channels/telegram-group-limit.js";
import { createSender } from "../../src/channels/telegram-send.js";
import { telegram } from "../../src/channels/telegram.js";
import { systemWorld } from "../../src/world.js";
import { openFakeTelegram, refuse, tooMany } from "../lab/fake-telegram.js";
import { askAll, failure, group, hearAll, type House, openHouse, photo, sorted } from "../support/telegram-house.js";

const never = new AbortController().signal;

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
    const parts = await house.channel.split(
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
    // A server of one's own says by itself what it minds.
    const house = await openHouse();
    expect("pace" in house.channel).toBe(false);
    for (let at = 0; at < 25; at++) await house.say(`${at}`, `${group}`);
    expect(house.fake.sent).toHaveLength(25);
  });

  it("says no more in a group than Telegram takes in a minute, in all its topics together", async () => {
    let now = 0;
    const fake = await openFakeTelegram({
      chats: [{ id: group, topics: [5] }, { id: 1 }],
      limits: { perGroupMinute: 20 },
      now: () => now,
    });
    onTestFinished(() => fake.close());
    const api = new Api(fake.token, { apiRoot: fake.url });
    const groups = createGroupLimit(() => now);
    const sender = createSender({ api, uploads: api, token: fake.token, quotes: false, groups });
    const say = (text: string, chat: string): Promise<Receipt> =>
      sender.send({ kind: "text", to: { channel: "telegram", chat }, text, intent: text, mayRepeat: false }, never);
    let waits = 0;
    /** As delivery does it. */
    const insist = async (work: () => Promise<unknown>): Promise<void> => {
      for (let tries = 0; tries < 3; tries++) {
        const error = await failure(work());
        if (error === "sent" || !(error instanceof SendFailure)) return;
        waits++;
        now += error.afterMs ?? 0;
      }
    };
    for (let at = 0; at < 45; at++) {
      now += 1000;
      await insist(() => say(`${at}`, at % 2 === 0 ? `${group}` : `${group}:topic:5`));
      await say(`${at}`, "1");
    }
    const last = fake.sent.findLast(({ chat }) => chat === group);
    await insist(() => sender.edit({ channel: "telegram", chat: `${group}` }, { id: String(last?.id) }, "end", never));
    expect(fake.sent.filter(({ chat }) => chat === group)).toHaveLength(45);
    expect(fake.sent.filter(({ chat }) => chat === 1)).toHaveLength(45);
    expect(last && fake.sent.find(({ id }) => id === last.id)?.text).toBe("end");
    expect(waits).toBeGreaterThan(0);
    // Each was asked for once: Telegram never had to refuse.
    expect(fake.callsOf("sendMessage")).toHaveLength(90);
    expect(fake.callsOf("editMessageText")).toHaveLength(1);
  });

  it("is told by another server to wait", async () => {
    const house = await openHouse({ fake: { chats: [{ id: 1 }], limits: { perChatMs: 1000 } } });
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
    const [question] = await askAll(house);
    await house.say("hi");
    expect(question?.media).toHaveLength(1);
    expect(house.fake.sent).toHaveLength(1);
    expect(new Set(asked)).toEqual(new Set([`${new URL(house.fake.url).host} Basic ${btoa("me:secret")}`]));

    const lost = await openHouse({ settings: { proxy: "http://127.0.0.1:1" } });
    expect(await sorted(lost.say("hi"))).toEqual(["later", undefined]);
  });
});

describe("an answer that is being written", () => {
  it("is edited in place", async () => {
    const house = await openHouse();
    const { id } = await house.say("He");
    await house.edit(id, "Hello you");
    await house.edit(id, "Hello **you**");
    expect(house.fake.sent).toMatchObject([
      { source: "Hello <b>you</b>", text: "Hello you", html: true, edits: ["He", "Hello you"] },
    ]);
  });

  it("may say the same again", async () => {
    const house = await openHouse();
    const { id } = await house.say("Hello **you**");
    await house.edit(id, "Hello **you**");
    expect(house.fake.callsOf("editMessageText")).toHaveLength(1);
    expect(house.fake.sent).toMatchObject([{ text: "Hello you", edits: [] }]);
  });

  it("is edited as plain text when Telegram refuses the markup, however often", async () => {
    const house = await openHouse();
    const { id } = await house.say("He");
    const refusal = refuse(400, "Bad Request: can't parse entities");
    house.fake.fail("editMessageText", refusal);
    await house.edit(id, "Hello **all**");
    expect(house.fake.sent).toMatchObject([{ text: "Hello **all**", html: false }]);
    house.fake.fail("editMessageText", refusal);
    await house.edit(id, "Hello **all**");
    expect(house.fake.sent).toMatchObject([{ text: "Hello **all**", edits: ["He"] }]);
  });

  it("in a topic is edited without naming it", async () => {
    const house = await openHouse({ fake: { chats: [{ id: group, topics: [5] }] } });
    const { id } = await house.say("He", `${group}:topic:5`);
    await house.edit(id, "Hello", `${group}:topic:5`);
    expect(house.fake.sent).toMatchObject([{ thread: 5, text: "Hello", edits: ["He"] }]);
  });

  it.each<[string, Parameters<House["fake"]["fail"]>[1], unknown[]]>([
    ["too many", tooMany(3), ["later", 3000]],
    ["Telegram is ill", refuse(500, "Internal Server Error"), ["later", undefined]],
    ["somebody has deleted it", refuse(400, "Bad Request: message to edit not found"), ["never", undefined]],
    ["it is no longer ours", refuse(400, "Bad Request: message can't be edited"), ["never", undefined]],
    ["blocked", refuse(403, "Forbidden: bot was blocked by the user"), ["never", undefined]],
    ["the line died after it", { kind: "die after" }, ["nobody knows"]],
  ])("tells why it was not edited: %s", async (_, fault, expected) => {
    const house = await openHouse();
    const { id } = await house.say("He");
    house.fake.fail("editMessageText", fault);
    expect(await sorted(house.edit(id, "Hello"))).toEqual(expected);
    expect(house.fake.callsOf("editMessageText")).toHaveLength(1);
  });

  it("is not looked for among the messages of others", async () => {
    const house = await openHouse();
    const { message_id: theirs } = house.fake.say(1, "mine");
    expect(await sorted(house.edit(String(theirs), "yours"))).toEqual(["never", undefined]);
    expect(await sorted(house.edit("999", "nobody's"))).toEqual(["never", undefined]);
    expect(await sorted(house.edit("a receipt of another kind", "x"))).toEqual(["never", undefined]);
  });

  it("appears while it grows only where that is wanted, as often as is wanted", async () => {
    expect("streaming" in (await openHouse()).channel).toBe(false);
    const everyMs = async (settings: object, chat = "1"): Promise<number | undefined> => {
      const { channel } = await openHouse({ settings: { streaming: true, ...settings } });
      return channel.streaming?.everyMs({ channel: "telegram", chat });
    };
    expect(await everyMs({})).toBe(600);
    expect(await everyMs({ stream_edit_interval: "2.5" })).toBe(2500);
    // In a group Telegram takes twenty a minute, and the answer is one of them.
    expect(await everyMs({}, `${group}:topic:5`)).toBe(4000);
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

describe("an answer to a message", () => {
  const settings = { replyToMessage: true };

  it("quotes it, where that is wanted", async () => {
    const house = await openHouse({ settings });
    const { message_id: id } = house.fake.say(1, "what is the time?");
    const [asked] = await hearAll(house);
    await house.say("Noon.", "1", { answers: asked?.id });
    await house.say("And sunny.");
    expect(house.fake.sent).toMatchObject([
      { text: "Noon.", quotes: id },
      { text: "And sunny.", quotes: undefined },
    ]);
    const plain = await openHouse();
    plain.fake.say(1, "what is the time?");
    await plain.say("Noon.", "1", { answers: asked?.id });
    expect(plain.fake.sent).toMatchObject([{ quotes: undefined }]);
  });

  it("that was edited quotes the message", async () => {
    const house = await openHouse({ settings });
    const said = house.fake.say(1, "teh time?");
    house.fake.push({ edited_message: { ...said, text: "the time?", edit_date: Number(said["date"]) + 5 } });
    const [, edited] = await hearAll(house);
    await house.say("Noon.", "1", { answers: edited?.id });
    expect(house.fake.sent).toMatchObject([{ quotes: said["message_id"] }]);
  });

  it("in a topic quotes it there", async () => {
    const house = await openHouse({ settings: { ...settings, groupPolicy: "open" } });
    const { message_id: id } = house.fake.say(group, "hi", { message_thread_id: 5, is_topic_message: true });
    const [asked] = await hearAll(house);
    await house.say("hello", asked?.from.chat, { answers: asked?.id });
    expect(house.fake.sent).toMatchObject([{ chat: group, thread: 5, quotes: id }]);
  });

  it("survives what it answers, and the topic that was in", async () => {
    const house = await openHouse({ settings });
    await house.say("gone", "1", { answers: "1/77" });
    house.fake.fail("sendMessage", refuse(400, "Bad Request: message to be replied not found"));
    await house.say("still gone", `${group}:topic:9`, { answers: `${group}/77` });
    expect(house.fake.sent).toMatchObject([
      { text: "gone", quotes: undefined },
      { text: "still gone", quotes: undefined },
    ]);
  });

  it.each(["own-0b5c", "cron-daily-1", "2/101", "1/x", ""])(
    "%j is of no message here, and quotes none",
    async (answers) => {
      const house = await openHouse({ settings });
      house.fake.say(2, "elsewhere");
      await house.say("hello", "1", { answers });
      expect(house.fake.callsOf("sendMessage")).toEqual([{ chat_id: 1, text: "hello", parse_mode: "HTML" }]);
    },
  );
});
