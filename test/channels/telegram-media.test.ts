/** Files that come with a Telegram message. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Inbound, shownText } from "../../src/message.js";
import { asked } from "../support/asked.js";
import { askAll, hearAll, openHouse, photo } from "../support/telegram-house.js";

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
    const [question] = await askAll(house);
    const [saved = ""] = await readdir(house.folder);
    expect(saved).toMatch(name);
    expect(question?.text).toBe(`look\n[${kind}: ${join(house.folder, saved)}]`);
    expect(question?.media).toEqual([join(house.folder, saved)]);
    expect(await readFile(join(house.folder, saved), "utf8")).toBe("the bytes");
  });

  it("is only named when its message comes: nothing is fetched for strangers, and nobody waits", async () => {
    const house = await openHouse();
    house.fake.say(1, "", { caption: "look", photo: photo("f") });
    house.fake.say(1, "", { document: { file_id: "g", file_unique_id: "ug", file_name: "a.pdf" } });
    await hearAll(house);
    expect(house.texts()).toEqual(["look", ""]);
    expect(house.accepted.map(shownText)).toEqual(["look\n[image]", "[file: a.pdf]"]);
    expect(house.accepted.map(({ media }) => media)).toEqual([[], []]);
    expect(house.fake.callsOf("getFile")).toEqual([]);
  });

  it("is found by what a ledger has kept of it", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "", { photo: photo("f") });
    const [message] = await hearAll(house);
    const kept = JSON.parse(JSON.stringify(message)) as Inbound;
    expect(await asked(house.channel, kept)).toMatchObject({ media: [join(house.folder, "uf.jpg")] });
  });

  it("too large is not fetched, and the text says so", async () => {
    const house = await openHouse();
    house.fake.file("g", Buffer.alloc(20 * 1024 * 1024 + 1));
    const document = { file_id: "f", file_unique_id: "uf", file_name: "film.mkv", file_size: 21 * 1024 * 1024 };
    house.fake.say(1, "", { document });
    house.fake.say(1, "", { document: { file_id: "g", file_unique_id: "ug" } });
    const questions = await askAll(house);
    expect(questions).toEqual([
      { text: "[file: film.mkv - too large (over 20 MB)]", media: [] },
      { text: "[file: too large (over 20 MB)]", media: [] },
    ]);
  });

  it("is tried again, and missing in the end rather than waited for", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.fail("file", { kind: "die" });
    house.fake.say(1, "", { photo: photo("f") });
    house.fake.fail("getFile", { kind: "die" });
    const path = join(house.folder, "uf.jpg");
    expect(await askAll(house)).toEqual([{ text: `[image: ${path}]`, media: [path] }]);

    const other = await openHouse();
    other.fake.file("f", Buffer.from("x"));
    other.fake.fail("file", { kind: "die" }, { kind: "die" }, { kind: "die" });
    other.fake.say(1, "see", { photo: photo("f") });
    expect(await askAll(other)).toEqual([{ text: "see\n[image: download failed]", media: [] }]);
    expect(await readdir(other.folder)).toEqual([]);
    expect(other.warnings.join()).not.toContain(other.fake.token);
  });

  it("that is there already is not fetched again", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "", { photo: photo("f") });
    house.fake.say(1, "", { photo: photo("f") });
    const [first, second] = await hearAll(house);
    for (const message of [first, second, first]) if (message) await asked(house.channel, message);
    expect(house.fake.callsOf("getFile")).toHaveLength(1);
  });

  it("is not waited for any more when its turn is stopped, nor is its place behind others", async () => {
    const house = await openHouse();
    house.fake.fail("file", ...Array.from({ length: 8 }, () => ({ kind: "hang" }) as const));
    for (let at = 0; at < 9; at++) {
      house.fake.file(`f${at}`, Buffer.from("x"));
      house.fake.say(1, "", { photo: photo(`f${at}`) });
    }
    const messages = await hearAll(house);
    const stop = new AbortController();
    const asking = messages.map((message) => asked(house.channel, message, stop.signal));
    await house.fake.until(() => house.fake.callsOf("file").length === 8);
    stop.abort(new Error("stopped"));
    const ends = await Promise.all(asking.map((one) => one.catch((error: unknown) => String(error))));
    expect(ends).toEqual(Array.from({ length: 9 }, () => "Error: stopped"));
    expect(house.warnings).toEqual([]);
    const [, , last] = messages;
    expect(last && (await asked(house.channel, last))).toMatchObject({ media: [join(house.folder, "uf2.jpg")] });
  });

  it("of the message replied to comes along", async () => {
    const house = await openHouse();
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "what is it?", {
      reply_to_message: { message_id: 2, date: 1, photo: photo("f"), caption: "holiday" },
    });
    const questions = await askAll(house);
    const path = join(house.folder, "uf.jpg");
    expect(questions).toEqual([{ text: `[Reply to: holiday]\nwhat is it?\n[image: ${path}]`, media: [path] }]);
  });
});
