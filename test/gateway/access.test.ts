import { describe, expect, it } from "vitest";
import { createAccess } from "../../src/gateway/access.js";

const from = (channel: string) => ({ channel, chat: "c" });

describe("who may speak", () => {
  const access = createAccess(
    new Map([
      ["telegram", ["42", "ann"]],
      ["discord", []],
      ["open", ["*"]],
    ]),
  );

  it.each([
    ["by id", "telegram", ["42", "eve"], true],
    ["by name", "telegram", ["7", "ann"], true],
    ["not on the list", "telegram", ["7", "eve"], false],
    ["part of an id", "telegram", ["4", "2"], false],
    ["another case", "telegram", ["ANN"], false],
    ["nameless", "telegram", [], false],
    ["an empty list lets nobody in", "discord", ["42"], false],
    ["a channel without a list lets nobody in", "webhook", ["42"], false],
    ["a star lets everybody in", "open", ["anybody"], true],
    ["a person called star is nobody special", "telegram", ["*"], false],
  ])("%s", (_, channel, sender, allowed) => {
    expect(access(from(channel), sender)).toBe(allowed);
  });
});
