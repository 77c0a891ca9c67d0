/** Files that come with a Telegram message. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hearAll, type House, openHouse, photo } from "../support/telegram-house.js";

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

  it("that does not come is no sign that Telegram is gone", async () => {
    const signs: number[] = [];
    const house: House = await openHouse({ accept: async () => void signs.push(house.signsOfLife()) });
    house.fake.fail("file", { kind: "die" }, { kind: "die" }, { kind: "die" });
    house.fake.file("f", Buffer.from("x"));
    house.fake.say(1, "", { photo: photo("f") });
    await hearAll(house);
    // Who we are, what was said, and each try: never so long without a sign that somebody would cut it off.
    expect(signs).toEqual([5]);
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
