/** The connection to Discord, kept up by what discord.js keeps its own with, cut off in every way. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../src/channels/discord-gateway.js";
import type { FakeDiscord } from "../lab/fake-discord.js";
import { memoryLink } from "./channel.contract.js";
import { openDiscord, openRunning, startChannel } from "../support/discord-house.js";

type Break = {
  readonly why: string;
  readonly logins: FakeDiscord["logins"];
  readonly heartbeatMs?: number;
  readonly cut: (fake: FakeDiscord) => void | Promise<void>;
};

const breaks: readonly Break[] = [
  { why: "it was dropped", logins: ["identify", "resume"], cut: (fake) => fake.dropGateway() },
  { why: "it was closed with an error", logins: ["identify", "resume"], cut: (fake) => fake.dropGateway(4000) },
  { why: "Discord asked for a new one", logins: ["identify", "resume"], cut: (fake) => fake.requestReconnect() },
  {
    why: "heartbeats were not acknowledged",
    logins: ["identify", "resume"],
    heartbeatMs: 200,
    async cut(fake) {
      fake.withholdAcks();
      await fake.until(() => !fake.isConnected());
      fake.withholdAcks(false);
    },
  },
  // discord.js waits five seconds before it identifies again.
  { why: "the session was over", logins: ["identify", "identify"], cut: (fake) => fake.invalidateSession() },
  {
    why: "the session was over when it came back",
    logins: ["identify", "resume", "identify"],
    cut(fake) {
      fake.setGatewayOpen(false);
      fake.invalidateSession();
      fake.setGatewayOpen(true);
    },
  },
];

describe("a connection that breaks", () => {
  // All at once: most of the time discord.js is waiting by itself.
  it("for whatever reason is mended, and nothing said meanwhile is lost", async () => {
    const outcomes = breaks.map(async ({ why, cut, heartbeatMs = 41_250 }) => {
      const { fake, dm, ann, running } = await openRunning({}, { heartbeatMs });
      fake.say(dm, ann, "before");
      await running.until(() => running.stored.length === 1);
      await cut(fake);
      await fake.until(() => !fake.isConnected());
      fake.say(dm, ann, "meanwhile");
      await running.until(() => running.stored.length === 2);
      fake.say(dm, ann, "after");
      await running.until(() => running.stored.length === 3);
      return { why, texts: running.texts(), logins: fake.logins, violations: fake.violations };
    });
    const texts = ["before", "meanwhile", "after"];
    expect(await Promise.all(outcomes)).toEqual(
      breaks.map(({ why, logins }) => ({ why, texts, logins, violations: [] })),
    );
  });

  it("gives no sign of life; heartbeats do", async () => {
    const { fake, running } = await openRunning({}, { heartbeatMs: 30 });
    const { length: before } = fake.heartbeats;
    const lives = running.lives();
    await fake.until(() => fake.heartbeats.length > before + 2);
    await running.until(() => running.lives() > lives + 1);
    fake.setGatewayOpen(false);
    await fake.until(() => !fake.isConnected());
    const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 90));
    // The last acknowledgement may still be on its way.
    await pause();
    const silent = running.lives();
    await pause();
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

describe("a Discord that names no address", () => {
  it("is told as any other fault: nothing is thrown where nobody catches it", async () => {
    const stop = new AbortController();
    const failures: unknown[] = [];
    const ignored = (): void => {};
    const parts = {
      library: await import("../../src/channels/discord-library.js"),
      token: "x",
      ask: async () => ({ url: "nowhere", shards: 1, session_start_limit: { remaining: 1, max_concurrency: 1 } }),
      gatewayUrl: undefined,
      listener: { ready: async () => {}, guild: ignored, thread: ignored, message: ignored, command: ignored },
      log: { warn: ignored },
      alive: ignored,
      failed(error: unknown) {
        failures.push(error);
        stop.abort();
      },
    };
    await listen(parts, stop.signal);
    expect(failures).toEqual([new Error("Discord names an address that is none: nowhere")]);
  });
});

describe("a login that nobody answers", () => {
  const heard = async (fake: FakeDiscord): Promise<void> => {
    const { length } = fake.heartbeats;
    await fake.until(() => fake.heartbeats.length > length + 2);
  };

  it("is no sign of life, though heartbeats are acknowledged", async () => {
    const { fake, channel } = await openDiscord({}, { heartbeatMs: 30 });
    onTestFinished(() => fake.close());
    fake.ignoreLogins();
    const stop = new AbortController();
    const memory = memoryLink();
    const run = channel.run(memory.link, stop.signal);
    await heard(fake);
    expect(memory.lives()).toBe(0);
    stop.abort();
    await run;
  });

  it("ends the run in a while, so that another can begin: also on the way back into a session", async () => {
    const { fake, running } = await openRunning({}, { heartbeatMs: 30 });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    fake.ignoreLogins();
    fake.dropGateway(4000);
    await vi.waitUntil(async () => {
      await vi.advanceTimersByTimeAsync(1000);
      return fake.logins.at(-1) === "resume";
    });
    await heard(fake);
    const lives = running.lives();
    await heard(fake);
    expect(running.lives()).toBe(lives);
    await vi.advanceTimersByTimeAsync(20_000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await running.ended()).toMatchObject({ message: expect.stringContaining("has not let us in") });
  });
});

describe("what Discord tells and nobody understands", () => {
  it("is passed over, and said", async () => {
    const { fake, dm, ann, running, warnings } = await openRunning();
    fake.dispatch("MESSAGE_CREATE", { id: "1", channel_id: dm, content: "from nobody" });
    fake.dispatch("GUILD_CREATE", { id: "2", channels: 7 });
    fake.say(dm, ann, "a reply to nothing", { fields: { referenced_message: { id: "3", content: 7 } } });
    fake.say(dm, ann, "hi");
    await running.until(() => running.stored.length === 1);
    expect(running.texts()).toEqual(["hi"]);
    expect(warnings.join()).toContain("passed over (MESSAGE_CREATE)");
    expect(warnings.join()).toContain("passed over (GUILD_CREATE)");
    expect(warnings.join()).toMatch(/message \d+ is passed over/);
    expect(fake.logins).toEqual(["identify"]);
  });
});

describe("a gateway of one's own", () => {
  it("needs nobody to name it, and may leave out what is usual", async () => {
    const house = await openDiscord();
    onTestFinished(() => house.fake.close());
    const { fake } = house;
    fake.fail("GET /gateway/bot", { kind: "status", status: 404, code: 0 });
    const channel = await house.open({ gatewayUrl: fake.gatewayUrl });
    await startChannel({ ...house, channel });
    expect(fake.isConnected()).toBe(true);
  });
});

describe("a login that is broken off", () => {
  const waits: Readonly<Record<string, (fake: FakeDiscord) => void>> = {
    "before Discord has said where the gateway is": (fake) => fake.fail("GET /gateway/bot", { kind: "hang" }),
    "before the gateway has let us in": (fake) => fake.silenceGateway(),
  };

  it.each(Object.keys(waits))("%s leaves no connection behind that could keep the process", async (when) => {
    const { fake, channel } = await openDiscord();
    waits[when]?.(fake);
    const stop = new AbortController();
    const run = channel.run(memoryLink().link, stop.signal);
    await fake.until(() => fake.keptWaiting() === 1, "the login");
    stop.abort();
    await run;
    // discord.js itself would give up a request after 15 seconds.
    await fake.until(() => fake.keptWaiting() === 0, "the end of the connection", 10_000);
    await fake.close();
  });
});
