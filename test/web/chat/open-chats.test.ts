/** Conversations side by side. */
import { describe, expect, it } from "vitest";
import { createOpenChats, type OpenState, titleOf } from "../../../web/src/chat/open-chats.js";

function openPage(kept?: OpenState) {
  let shelved = kept;
  let fresh = 0;
  const shelf = { read: () => shelved, write: (value: OpenState) => void (shelved = value) };
  const chats = createOpenChats(shelf, () => `web:${++fresh}`);
  const seen = (): string =>
    chats.state.value.open.map((one) => (one === chats.state.value.current ? `[${one}]` : one)).join(" ");
  return { chats, seen, shelved: () => shelved };
}

describe("open conversations", () => {
  it("begin with a new one, and are as they were after a reload", () => {
    const page = openPage();
    expect(page.seen()).toBe("[web:1]");
    page.chats.beside("telegram:42");
    expect(openPage(page.shelved()).seen()).toBe("web:1 [telegram:42]");
  });

  it("are shown in the place of the one that is looked at, or beside it, but never twice", () => {
    const { chats, seen } = openPage();
    chats.beside("a:1");
    chats.show("a:2");
    expect(seen()).toBe("web:1 [a:2]");
    chats.show("web:1");
    chats.beside("a:2");
    expect(seen()).toBe("web:1 [a:2]");
  });

  it("leave their place to a neighbour, and the last one to a new one", () => {
    const { chats, seen } = openPage();
    chats.beside("a:1");
    chats.beside("a:2");
    chats.focus("a:1");
    chats.close("a:1");
    expect(seen()).toBe("web:1 [a:2]");
    chats.close("web:1");
    expect(seen()).toBe("[a:2]");
    chats.close("a:2");
    expect(seen()).toBe("[web:2]");
  });

  it("are called after what was said first", () => {
    const { chats } = openPage();
    chats.name("web:1", "Where is\nmy bike?");
    const { titles } = chats.state.value;
    expect([titleOf("web:1", titles), titleOf("web:9", titles), titleOf("telegram:42", titles)]).toEqual([
      "Where is",
      "New chat",
      "telegram:42",
    ]);
  });
});
