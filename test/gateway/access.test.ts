import { describe, expect, it } from "vitest";
import { createAccess } from "../../src/gateway/access.js";

describe("who may speak", () => {
  const ann = ["77", "ann", "77|ann"];
  const inChat = { channel: "telegram", chat: "1" };

  it.each<[string, readonly string[], boolean]>([
    ["nobody is listed", [], false],
    ["she is listed by id", ["77"], true],
    ["she is listed by name", ["ann"], true],
    ["she is listed by name, as people write it", ["@ann"], true],
    ["she is listed as nanobot writes it", ["77|ann"], true],
    ["everybody is", ["*"], true],
    ["somebody else is", ["7", "annie", "@ann2"], false],
    ["nobody has a name at all", ["@"], false],
  ])("%s", (_, list, may) => {
    expect(createAccess(new Map([["telegram", list]]))(inChat, ann)).toBe(may);
  });

  it("is a matter of each channel", () => {
    const access = createAccess(new Map([["discord", ["77"]]]));
    expect(access(inChat, ann)).toBe(false);
  });
});
