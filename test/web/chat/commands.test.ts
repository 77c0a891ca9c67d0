/** The palette offers what the gateway understands. */
import { describe, expect, it } from "vitest";
import { type CommandParts, createCommands } from "../../../src/gateway/commands.js";
import { commands, commandsFor } from "../../../web/src/chat/commands.js";

describe("the palette", () => {
  it("lists every command of /help, and no other", async () => {
    const run = createCommands({ status: () => [] } as unknown as CommandParts);
    const help = await run("/help", "web:a", new AbortController().signal);
    const known = help?.kind === "reply" ? [...help.text.matchAll(/^(\/\w+)/gm)].map(([name]) => name) : [];
    expect(commands.map(({ name }) => name)).toEqual(known);
  });

  it("shows what fits, and nothing once it is no command", () => {
    expect(commandsFor("/").map(({ name }) => name)).toHaveLength(commands.length);
    expect(commandsFor("/ST").map(({ name }) => name)).toEqual(["/stop", "/status"]);
    for (const text of ["", "hello /", "/new please", "/usr/bin"]) expect(commandsFor(text)).toEqual([]);
  });
});
