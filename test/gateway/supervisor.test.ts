import { describe, expect, it } from "vitest";
import type { Channel, Link } from "../../src/channels/channel.js";
import { superviseChannel } from "../../src/gateway/supervisor.js";
import { UserError } from "../../src/util/errors.js";
import { handTime } from "../support/hand-time.js";

type Run = (link: Link, signal: AbortSignal) => Promise<void>;

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** A channel that runs as it is told, under supervision. */
function supervised(run: Run) {
  const time = handTime();
  const log: string[] = [];
  const gaveUp: string[] = [];
  let ups = 0;
  let built = 1;
  let runs = 0;
  const channel = (): Channel => ({
    run: (link, signal) => {
      runs++;
      return run(link, signal);
    },
    send: async () => ({ id: "1" }),
    split: (text) => [text],
    pace: { perChatMs: 5, perSecond: 1 },
    save: async ({ reference }) => ({ marker: `[${String(reference)}]` }),
  });
  const one = superviseChannel(
    {
      name: "fake",
      open: async () => {
        built++;
        return channel();
      },
      link: { accept: async () => {}, mayEnter: () => true },
      now: time.now,
      sleep: time.sleep,
      log: { warn: (message) => void log.push(message) },
      up: () => void (ups += 1),
      giveUp: (reason) => void gaveUp.push(reason),
    },
    channel(),
  );
  const stop = new AbortController();
  const running = one.run(stop.signal);
  return {
    ...one,
    time,
    log,
    gaveUp,
    built: () => built,
    runs: () => runs,
    ups: () => ups,
    state: () => one.status().state,
    async close() {
      stop.abort();
      await time.pass(10_000);
      await running;
    },
  };
}

describe("a channel under supervision", () => {
  it("is up once the platform has been heard, not before", async () => {
    let hear = (): void => {};
    const house = supervised(async (link, signal) => {
      hear = () => link.alive();
      await untilAborted(signal);
    });
    await house.time.pass(1000);
    expect(house.state()).toBe("starting");
    hear();
    expect(house.state()).toBe("up");
    expect(house.channel.pace).toEqual({ perChatMs: 5, perSecond: 1 });
    const file = { marker: "[file]", reference: "here" };
    expect(await house.channel.save?.(file, AbortSignal.timeout(1000))).toEqual({ marker: "[here]" });
    await house.close();
  });

  it("that hears nothing is deaf, is connected again, then built anew, then given up", async () => {
    const house = supervised((_, signal) => untilAborted(signal));
    await house.time.pass(121_000);
    expect(house.state()).toBe("deaf");
    await house.time.pass(20_000);
    expect(house.runs()).toBe(2);
    expect(house.built()).toBe(1);
    expect(house.status().reason).toContain("nothing heard for 120 seconds");
    await house.time.pass(150_000);
    expect([house.runs(), house.built()]).toEqual([3, 1]);
    await house.time.pass(150_000);
    expect([house.runs(), house.built()]).toEqual([4, 2]);
    expect(house.gaveUp).toEqual([]);
    await house.time.pass(1_000_000);
    expect(house.gaveUp[0]).toContain("fake could not be brought back: nothing heard");
    await house.close();
  });

  it("is not called up by what an earlier connection heard", async () => {
    let first = true;
    const house = supervised(async (link, signal) => {
      if (first) link.alive();
      first = false;
      await untilAborted(signal);
    });
    await house.time.pass(1000);
    expect(house.state()).toBe("up");
    await house.time.pass(150_000);
    expect(house.runs()).toBe(2);
    expect(house.state()).toBe("starting");
    await house.close();
  });

  it("is tried again with growing pauses of at most half a minute, for as long as the network is down", async () => {
    const house = supervised(async () => {
      throw new Error("ENETUNREACH");
    });
    const starts: number[] = [];
    for (let last = 0; starts.length < 8; await house.time.pass(500)) {
      if (house.runs() > last) starts.push(house.time.now());
      last = house.runs();
    }
    const pauses = starts.slice(1).map((at, index) => Math.round((at - (starts[index] ?? 0)) / 1000));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
    await house.time.pass(24 * 3_600_000);
    expect(house.gaveUp).toEqual([]);
    expect(house.state()).toBe("down");
    await house.close();
  });

  it("starts with short pauses again once it has been heard for a while", async () => {
    let fail = true;
    const house = supervised(async (link, signal) => {
      link.alive();
      if (!fail) {
        await house.time.sleep(40_000, signal);
        link.alive();
      }
      throw new Error("closed");
    });
    await house.time.pass(120_000);
    expect(house.runs()).toBeLessThan(10);
    fail = false;
    await house.time.pass(31_000);
    fail = true;
    const before = house.runs();
    await house.time.pass(45_000);
    expect(house.runs() - before).toBeGreaterThanOrEqual(2);
    await house.close();
  });

  it("that breaks off whenever it is heard is tried again with growing pauses: logins are few", async () => {
    const house = supervised(async (link) => {
      link.alive();
      throw new Error("a message could not be stored");
    });
    await house.time.pass(600_000);
    expect(house.runs()).toBeLessThan(30);
    await house.close();
  });

  it("is told of when it is heard, and not again before it was not", async () => {
    let hear = (): void => {};
    const house = supervised(async (link, signal) => {
      hear = () => link.alive();
      await untilAborted(signal);
    });
    await house.time.pass(1000);
    hear();
    hear();
    expect(house.ups()).toBe(1);
    await house.time.pass(125_000);
    hear();
    expect(house.ups()).toBe(2);
    await house.close();
  });

  it("whose token is refused is given up with the words of the refusal", async () => {
    const house = supervised(async () => {
      throw new UserError("Telegram refused the token.", "Set another.");
    });
    await house.time.pass(300_000);
    expect(house.gaveUp[0]).toContain("Telegram refused the token. Set another.");
    await house.close();
  });

  it("says why it is tried again in a sentence with one end", async () => {
    const one = supervised(() => Promise.reject(new UserError("Refused.", "Set channels.fake.token.")));
    await one.time.pass(10);
    expect(one.log[0]).toBe("fake: Refused. Set channels.fake.token; trying again.");
    await one.close();
  });

  it("that does not let go when it is told to is left to itself, and another one is built", async () => {
    const house = supervised(() => new Promise(() => {}));
    await house.time.pass(145_000);
    expect(house.runs()).toBe(2);
    expect(house.built()).toBe(2);
    await house.close();
  });

  it("is found deaf although the clock was put back", async () => {
    let hear = (): void => {};
    const house = supervised(async (link, signal) => {
      hear = () => link.alive();
      await untilAborted(signal);
    });
    await house.time.pass(1000);
    hear();
    house.time.set(house.time.now() - 3_600_000);
    await house.time.pass(160_000);
    expect(house.runs()).toBe(2);
    await house.close();
  });
});
