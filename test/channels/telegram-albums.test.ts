/** Photos sent together are one message. */
import { describe, expect, it } from "vitest";
import type { Question } from "../../src/gateway/question.js";
import { askAll, group, hearAll, type House, openHouse, photo } from "../support/telegram-house.js";

describe("an album", () => {
  const part = (house: House, id: string, extra: Readonly<Record<string, unknown>> = {}, chat = 1, album = "a") => {
    house.fake.file(id, Buffer.from(id));
    return house.fake.say(chat, "", { photo: photo(id), media_group_id: album, ...extra });
  };
  const names = (question: Question | undefined) => question?.media.map((path) => path.replace(/^.*\//, ""));

  it("is one message, with the id of the first", async () => {
    const house = await openHouse();
    const first = part(house, "1", { caption: "my cats" });
    part(house, "2");
    part(house, "3");
    const [question] = await askAll(house);
    expect(house.accepted).toMatchObject([{ id: `1/${String(first["message_id"])}` }]);
    expect(question?.text).toMatch(/^my cats\n\[image: .*u1\.jpg\]\n\[image: .*u2\.jpg\]\n\[image: .*u3\.jpg\]$/);
    expect(names(question)).toEqual(["u1.jpg", "u2.jpg", "u3.jpg"]);
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
    const questions = await askAll(house);
    expect(questions.map(names)).toEqual([[], ["u1.jpg", "u2.jpg", "u3.jpg"], []]);
    expect(house.slept).toEqual([600, 600, 600]);
  });

  it("is not waited for when something follows in the chat, or when it is full", async () => {
    const house = await openHouse();
    part(house, "1");
    part(house, "2");
    house.fake.say(1, "nice?");
    for (let at = 0; at < 10; at++) part(house, `b${at}`, {}, 2, "b");
    const messages = await hearAll(house);
    expect(messages.map(({ attachments = [] }) => attachments.length)).toEqual([2, 0, 10]);
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
    const questions = await askAll(house);
    expect(questions.map(names)).toEqual([["u1.jpg", "u3.jpg"], ["u2.jpg", "u4.jpg"], []]);
  });

  it("in a group is meant for the bot if one of its captions is", async () => {
    const house = await openHouse();
    part(house, "1", {}, group);
    part(house, "2", { caption: "@NanoBot which one?" }, group);
    const questions = await askAll(house);
    expect(questions.map(names)).toEqual([["u1.jpg", "u2.jpg"]]);
  });
});
