/** Who speaks to a Telegram bot, where, and what is said. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askAll, group, hearAll, type House, openHouse, photo } from "../support/telegram-house.js";

const bot = { id: 42, is_bot: true, first_name: "Nano", username: "NanoBot" };

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
      missed: true,
      sentAt: Number(said["date"]) * 1000,
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
    const [question] = await askAll(house);
    expect(question?.text).toBe(`what is this\n[image: ${join(house.folder, "up.jpg")}]`);
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
    house.fake.say(1, "hi", { message_thread_id: 7, is_topic_message: true });
    await hearAll(house);
    expect(house.accepted.map(({ from }) => from.chat)).toEqual([`${group}:topic:5`, "1", "1:topic:7"]);
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
