/** The connection to Discord: the real discord.js, cut off in every way. */
import { describe, expect, it } from "vitest";
import type { FakeDiscord } from "../lab/fake-discord.js";
import { openRunning } from "../support/discord-house.js";

describe("a connection that breaks", () => {
  it.each([
    ["is dropped", (fake: FakeDiscord) => fake.dropGateway()],
    ["is closed with an error", (fake: FakeDiscord) => fake.dropGateway(4000)],
    ["is to be renewed", (fake: FakeDiscord) => fake.requestReconnect()],
  ])("because it %s is resumed, with what was said meanwhile", async (_why, breakIt) => {
    const { fake, dm, ann, running } = await openRunning();
    fake.say(dm, ann, "before");
    await running.until(() => running.stored.length === 1);
    breakIt(fake);
    await fake.until(() => !fake.isConnected());
    fake.say(dm, ann, "meanwhile");
    await running.until(() => running.stored.length === 2);
    fake.say(dm, ann, "after");
    await running.until(() => running.stored.length === 3);
    expect(running.texts()).toEqual(["before", "meanwhile", "after"]);
    expect(fake.logins).toEqual(["identify", "resume"]);
  });

  it("because nobody acknowledges its heartbeats is resumed", async () => {
    const { fake, dm, ann, running } = await openRunning({}, { heartbeatMs: 60 });
    fake.withholdAcks();
    await fake.until(() => !fake.isConnected());
    fake.withholdAcks(false);
    fake.say(dm, ann, "still there?");
    await running.until(() => running.stored.length === 1);
    expect(fake.logins).toEqual(["identify", "resume"]);
  });

  it("and cannot be resumed loses nothing either", async () => {
    const { fake, dm, ann, running } = await openRunning();
    fake.say(dm, ann, "before");
    await running.until(() => running.stored.length === 1);
    fake.setGatewayOpen(false);
    fake.invalidateSession();
    fake.say(dm, ann, "meanwhile");
    fake.setGatewayOpen(true);
    await running.until(() => running.stored.length === 2);
    expect(fake.logins.at(-1)).toBe("identify");
  });

  it("gives no sign of life; heartbeats do", async () => {
    const { fake, running } = await openRunning({}, { heartbeatMs: 30 });
    const { length: before } = fake.heartbeats;
    const lives = running.lives();
    await fake.until(() => fake.heartbeats.length > before + 2);
    await running.until(() => running.lives() > lives + 1);
    fake.setGatewayOpen(false);
    const silent = running.lives();
    await fake.until(() => !fake.isConnected());
    expect(running.lives()).toBe(silent);
  });

  it("does not come back after the end", async () => {
    const { fake, running } = await openRunning();
    fake.dropGateway(4000);
    await fake.until(() => !fake.isConnected());
    expect(await running.end()).toBe("ended");
    // discord.js dials again half a second after a break.
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(fake.logins).toEqual(["identify"]);
  });
});
