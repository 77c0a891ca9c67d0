import { describe, expect, it } from "vitest";
import { createUpkeep } from "../../src/gateway/upkeep.js";
import { handTime } from "../support/hand-time.js";

const day = 24 * 3_600_000;

function openUpkeep(options: { readonly oldest?: (now: number) => number; readonly fail?: boolean } = {}) {
  const time = handTime();
  const warnings: string[] = [];
  const swept: number[] = [];
  const forgotten: number[] = [];
  let touched = false;
  let looks = 0;
  let left = 3;
  const upkeep = createUpkeep({
    ledger: {
      upkeep: {
        async touched() {
          if (options.fail) throw new Error("disk I/O error");
          const now = touched;
          touched = false;
          return now;
        },
        async sweep(before) {
          swept.push(time.now() - before);
          return left-- > 0 ? 500 : 0;
        },
      },
      reports: {
        summary: async () => ({
          open: 2,
          unsent: 0,
          dead: 0,
          outcomes: {},
          oldestOpenAt: options.oldest?.(time.now()),
        }),
      } as never,
    },
    gateway: { resume: async () => void looks++ },
    now: time.now,
    sleep: time.sleep,
    log: { warn: (message) => void warnings.push(message) },
    forgetFiles: async (before) => void forgotten.push(time.now() - before),
  });
  const stop = new AbortController();
  const running = upkeep.run(stop.signal);
  return {
    time,
    warnings,
    swept,
    forgotten,
    looks: () => looks,
    touch: () => {
      touched = true;
    },
    async close() {
      stop.abort();
      await time.pass(0);
      await running;
    },
  };
}

describe("upkeep", () => {
  it("goes on with what somebody else has put back, within seconds", async () => {
    const house = openUpkeep();
    await house.time.pass(10_000);
    expect(house.looks()).toBe(0);
    house.touch();
    await house.time.pass(2000);
    expect(house.looks()).toBe(1);
    await house.close();
  });

  it("looks once a minute for what nobody works on", async () => {
    const house = openUpkeep();
    await house.time.pass(200_000);
    expect(house.looks()).toBe(3);
    await house.close();
  });

  it("forgets after 30 days, piece by piece, at the start and every hour", async () => {
    const house = openUpkeep();
    await house.time.pass(1000);
    expect(house.swept).toHaveLength(4);
    expect(Math.round((house.swept[0] ?? 0) / day)).toBe(30);
    expect(house.forgotten).toHaveLength(1);
    await house.time.pass(3_700_000);
    expect(house.forgotten).toHaveLength(2);
    await house.close();
  });

  it("tells the owner of a message that has no outcome for over an hour", async () => {
    const fresh = openUpkeep({ oldest: (now) => now - 60_000 });
    await fresh.time.pass(1000);
    expect(fresh.warnings).toEqual([]);
    await fresh.close();
    const stuck = openUpkeep({ oldest: (now) => now - 2 * 3_600_000 });
    await stuck.time.pass(1000);
    expect(stuck.warnings[0]).toContain("2 message(s) have no outcome yet");
    await stuck.close();
  });

  it("survives a ledger that cannot be read at the moment", async () => {
    const house = openUpkeep({ fail: true });
    await house.time.pass(5000);
    expect(house.warnings.length).toBeGreaterThan(1);
    await house.close();
  });
});
