import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { nodeCronTicks } from "../../src/cron/ticks.js";

const hour = 3_600_000;

/** Ticks by a clock and timers that are moved by hand; the times at which it ticked. */
async function ticking(tick: () => Promise<void> = async () => {}) {
  const at: number[] = [];
  const stop = new AbortController();
  const run = nodeCronTicks(async () => {
    at.push(Date.now());
    await tick();
  }, stop.signal);
  // The library is loaded by the real event loop.
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
  return {
    at,
    end: async (): Promise<void> => {
      stop.abort();
      await run;
    },
  };
}

describe("the ticks", () => {
  beforeEach(() =>
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 12, 0, 0, 300), toFake: ["Date", "setTimeout", "clearTimeout"] }),
  );
  afterEach(() => vi.useRealTimers());

  it("come once a second, at its beginning", async () => {
    const { at, end } = await ticking();
    await vi.advanceTimersByTimeAsync(3000);
    expect(at.map((time) => time % 60_000)).toEqual([1000, 2000, 3000]);
    await end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("do not overlap: a long one is waited for", async () => {
    let isBusy = true;
    const { at, end } = await ticking(async () => {
      while (isBusy) await new Promise((done) => setTimeout(done, 100));
    });
    await vi.advanceTimersByTimeAsync(5000);
    expect(at).toHaveLength(1);
    isBusy = false;
    await vi.advanceTimersByTimeAsync(2000);
    expect(at).toHaveLength(3);
    await end();
  });

  it("go on at once after a long sleep, without walking through every second of it", async () => {
    const { at, end } = await ticking();
    await vi.advanceTimersByTimeAsync(1000);
    vi.setSystemTime(Date.now() + 1000 * hour);
    // A walk through 3.6 million seconds would outlast this test.
    await vi.advanceTimersByTimeAsync(2000);
    expect(at.length).toBeGreaterThanOrEqual(2);
    await end();
  });

  it("go on within seconds after the clock was put back", async () => {
    const { at, end } = await ticking();
    await vi.advanceTimersByTimeAsync(1000);
    vi.setSystemTime(Date.now() - hour);
    await vi.advanceTimersByTimeAsync(6000);
    expect(at.length).toBeGreaterThanOrEqual(4);
    await end();
  });

  it("end at once when nobody needs them any more", async () => {
    const { at, end } = await ticking();
    await end();
    await vi.advanceTimersByTimeAsync(5000);
    expect(at).toEqual([]);
  });
});
