/** Where the token of the HTTP door comes from. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHttpKeys } from "../../src/app/http-keys.js";
import { loadSettings } from "../../src/config/load.js";
import { temporaryFolder } from "../support/workspace.js";

function open(gateway: object, home = temporaryFolder()) {
  writeFileSync(join(home, "config.json"), JSON.stringify({ gateway }));
  const file = join(home, "state", "http-token");
  return { home, file, keys: openHttpKeys(loadSettings(home, {})) };
}

describe("the token", () => {
  it.each([{}, { host: "localhost" }, { host: "::1" }, { host: "127.0.0.2" }])(
    "is not needed here: %j",
    async (gateway) => {
      const { keys, file } = open(gateway);
      expect(await keys).toEqual({ tokens: [] });
      expect(existsSync(file)).toBe(false);
    },
  );

  it.each([{ host: "0.0.0.0" }, { host: "::" }, { host: "192.168.1.5" }, { host: "" }, { names: ["bot.example.org"] }])(
    "is needed where others can reach it, and made for its owner alone: %j",
    async (gateway) => {
      const { keys, file, home } = open(gateway);
      const { tokens, file: told, ownKey } = await keys;
      expect(told).toBe(file);
      expect(tokens).toEqual([readFileSync(file, "utf8").trim(), ownKey]);
      expect(tokens[0]).toMatch(/^[\w-]{43}$/);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const again = await open(gateway, home).keys;
      expect(again.tokens[0]).toBe(tokens[0]);
      expect(again.ownKey).not.toBe(ownKey);
    },
  );

  it("is the owner's, if he has set one, here too", async () => {
    const { keys, file } = open({ token: "0123456789abcdef" });
    expect((await keys).tokens[0]).toBe("0123456789abcdef");
    expect(existsSync(file)).toBe(false);
  });

  it.each(["short", "with spaces in between them"])("that could be guessed is refused: %j", (token) => {
    expect(() => open({ token })).toThrow("gateway.token must have 16 characters or more, and no spaces");
  });

  it("that others could read is closed to them", async () => {
    const { keys, file, home } = open({ host: "0.0.0.0" });
    await keys;
    chmodSync(file, 0o644);
    await open({ host: "0.0.0.0" }, home).keys;
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is not an empty file", async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, "state"));
    writeFileSync(join(home, "state", "http-token"), "\n");
    await expect(open({ host: "0.0.0.0" }, home).keys).rejects.toThrow("holds no token");
  });
});
