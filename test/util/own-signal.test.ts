/** A signal for one piece of work. */
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { withOwnSignal } from "../../src/util/own-signal.js";

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });

describe("work with a signal of its own", () => {
  it("is aborted with the longer one", async () => {
    const life = new AbortController();
    const work = withOwnSignal(life.signal, 60_000, untilAborted);
    life.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
  });

  it("is aborted when it takes too long", async () => {
    await expect(withOwnSignal(new AbortController().signal, 5, untilAborted)).rejects.toThrow("no answer within");
  });

  it("does not begin after the end", async () => {
    let begun = false;
    const work = withOwnSignal(AbortSignal.abort(new Error("over")), 60_000, async () => void (begun = true));
    await expect(work).rejects.toThrow("over");
    expect(begun).toBe(false);
  });

  it("leaves nothing behind on the longer one", async () => {
    const { signal } = new AbortController();
    for (let time = 0; time < 20; time++) {
      await withOwnSignal(signal, 60_000, async (own) => own.addEventListener("abort", () => {}));
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
