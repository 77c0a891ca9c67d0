/** The disk fills up under the running program, and is read-only under the starting one: real errors, nothing lost. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { audit, type Said, toldFor } from "../lab/audit.js";
import { configure } from "../lab/daemon.js";
import { startFakeDiscord } from "../lab/fake-discord.js";
import { openFakeModel } from "../lab/fake-model.js";
import { openFakeTelegram } from "../lab/fake-telegram.js";
import { createRandom } from "../lab/random.js";
import { buildProgram, runMain } from "../support/cli.js";
import { canMount, startOnSmallDisk } from "../support/small-disk.js";
import { temporaryFolder } from "../support/workspace.js";

const minute = 60_000;

describe.skipIf(!canMount)("a disk", () => {
  beforeAll(buildProgram);

  it("that fills up makes everybody wait, and loses and doubles nothing", { timeout: 3 * minute }, async () => {
    const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openFakeModel()]);
    const fakes = { telegram, discord, model };
    const home = join(temporaryFolder(), "home");
    configure(home, fakes);
    const chance = createRandom(11);
    const ann = discord.person("ann");
    const room = discord.addPrivateChat(ann);
    const said: Said[] = [];
    const speak = (): void => {
      const number = String(said.length + 1).padStart(4, "0");
      const text = `${chance.oneOf(["say", "do"])} ${number}`;
      if (chance.below(2) === 0) {
        discord.say(room, ann, text);
        said.push({ number, channel: "discord", chat: room });
      } else {
        telegram.say(501, text);
        said.push({ number, channel: "telegram", chat: "501" });
      }
    };
    const allTold = (): boolean => said.every((one) => toldFor(one, fakes).length > 0);

    const disk = await startOnSmallDisk(home);
    await discord.until(() => discord.isConnected(), "the login", minute);
    for (let round = 0; round < 4; round++) {
      for (let count = 0; count < 3; count++) speak();
      // In the middle of whatever it is doing.
      await wait(chance.below(60));
      await disk.fill();
      for (let count = 0; count < 2; count++) speak();
      await wait(500);
      await disk.free();
      await discord.until(allTold, "an answer to everything", minute);
    }
    expect(await disk.ended("by a signal")).toBe(0);
    expect(disk.said()).toMatch(/no space|full/i);
    expect(await audit(home, said, fakes, 0)).toEqual([]);
    const { code, out } = await runMain(["sessions", "verify", "--home", home]);
    expect({ code, out }).toMatchObject({ code: 0 });
    await Promise.all([telegram.close(), discord.close()]);
    model.close();
  });

  it("that is read-only stops the start with a sentence", async () => {
    const home = join(temporaryFolder(), "home");
    mkdirSync(home);
    const nowhere = { url: "http://127.0.0.1:9", token: "1:x", apiRoot: "http://127.0.0.1:9/api" };
    configure(home, { telegram: nowhere, discord: nowhere, model: nowhere } as never);
    const disk = await startOnSmallDisk(home, "ro");
    expect(await disk.ended("by itself")).toBe(1);
    expect(disk.said()).toContain("read-only");
    expect(disk.said()).toContain("--home");
    expect(disk.said()).not.toContain("    at ");
  });
});
