/** A channel is its file and its line in the list: nothing else knows it by name. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { channelKinds } from "../../src/channels/index.js";
import { runMain } from "../support/cli.js";

const source = fileURLToPath(new URL("../../src/", import.meta.url));

describe("the channels there are", () => {
  const connectable = channelKinds.filter(({ setup }) => setup).map(({ name }) => name);

  it("are named by no other part of the program", () => {
    const names = connectable.join("|");
    const named = new RegExp(`["'\`](?:${names})["'\`]|\\b\\w*(?:${names})(?!:)\\w+`, "i");
    const others = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !file.startsWith("channels/"),
    );
    const code = (file: string): string =>
      readFileSync(join(source, file), "utf8").replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, "");
    expect(others.filter((file) => named.test(code(file)))).toEqual([]);
  });

  it("bring their own flags for nanogate init", async () => {
    const { out } = await runMain(["init", "--help"]);
    const flags = connectable.flatMap((name) => ["token", "allow", "api-root"].map((end) => `--${name}-${end} <`));
    expect(flags.filter((flag) => !out.includes(flag))).toEqual([]);
    expect(connectable).not.toEqual([]);
  });
});
