/** Round times on a line of time. */
import { describe, expect, it } from "vitest";
import { type Span, spans, ticksOf } from "../../../web/src/views/schedule/time-axis.js";

describe("a line of time", () => {
  it.each<Span>(["hours", "day", "week"])("of %s has a handful of round times, all of them on it", (span) => {
    const from = new Date(2026, 10, 16, 12, 17).getTime();
    const ticks = ticksOf(from, span);
    expect(ticks.length).toBeGreaterThanOrEqual(5);
    expect(ticks.length).toBeLessThanOrEqual(7);
    for (const { at } of ticks) {
      expect(at).toBeGreaterThanOrEqual(from);
      expect(at).toBeLessThanOrEqual(from + spans[span]);
      expect(new Date(at).getMinutes()).toBe(0);
    }
  });
});
