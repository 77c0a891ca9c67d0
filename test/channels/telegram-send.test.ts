/** What is sent to Telegram: as people read it, and with what a refusal means. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChannelWorld, Sending } from "../../src/channels/channel.js";
import { telegram } from "../../src/channels/telegram.js";
import { systemWorld } from "../../src/world.js";
import { refuse, tooMany } from "../lab/fake-telegram.js";
import { failure, hearAll, type House, openHouse, photo, sorted } from "../support/telegram-house.js";

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
