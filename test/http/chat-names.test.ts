/** Names that come in through the door. */
import { assert, constantFrom, oneof, pre, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { chatId, chatName, fileChat } from "../../src/http/chat-names.js";
import { driverNames, openSessions } from "../../src/session/open.js";
import { temporaryFolder } from "../support/workspace.js";

const names = oneof(
  string({ unit: "grapheme" }),
  string({ unit: constantFrom("a", "%", "2", "F", "/", "\\", ".", ":", "~", "n", "\0", "é"), maxLength: 200 }),
);

describe("the name of a chat", () => {
  it("reads like what it stands for", () => {
    expect(chatName("Notes/foo.md")).toBe("Notes%2Ffoo.md");
    expect(chatName("../../etc")).toBe(".%2E%2F.%2E%2Fetc");
    expect(chatName("ann")).toBe("ann");
  });

  it("is never that of another", () => {
    assert(
      property(names, names, (one, other) => {
        pre(one !== other);
        expect(chatName(one)).not.toBe(chatName(other));
      }),
      { numRuns: 2000 },
    );
  });

  it("tells long names apart that begin alike", () => {
    const long = "a/".repeat(2000);
    expect(chatName(`${long}x`)).not.toBe(chatName(`${long}y`));
    expect(chatName(`${long}x`)).toBe(chatName(`${long}x`));
  });

  it.each(driverNames)("can be stored by the driver %s", async (driver) => {
    const sessions = openSessions({ workspace: temporaryFolder(), driver });
    for (const name of ["Notes/foo.md", "..\\..\\x", "a\0b", "深い/".repeat(300), "%", " ", ""]) {
      const session = await sessions.getOrCreate(`file:${chatName(name)}`);
      session.addMessage("user", name);
      await sessions.save(session);
    }
    await sessions.close();
  });
});

describe("the chat about a file", () => {
  it("is one for no file, another for a file without a name, and others for files that look like these", () => {
    const all = [null, "", "null", "%none", "%empty", "none", "empty"].map((file) => fileChat(file).chat);
    expect(new Set(all).size).toBe(all.length);
  });

  it("has an id that is a UUID and depends on nothing but the chat", () => {
    const id = chatId(fileChat("a.md"));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(chatId(fileChat("a.md"))).toBe(id);
    expect(chatId(fileChat("b.md"))).not.toBe(id);
  });
});
