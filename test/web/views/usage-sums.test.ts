/** Tokens, added up. */
import { describe, expect, it } from "vitest";
import { dailySums, largestFirst, sumsBy } from "../../../web/src/views/health/usage-sums.js";

const entry = (day: string, session: string, input: number) => ({
  day,
  session,
  model: "demo",
  turns: 1,
  input,
  output: 1,
  cached: 0,
});
const usage = [entry("2026-03-01", "a:1", 10), entry("2026-02-27", "a:2", 30), entry("2026-03-01", "a:2", 5)];

describe("usage", () => {
  it("is added up by whatever one asks for, the largest first", () => {
    expect(largestFirst(sumsBy(usage, ({ session }) => session))).toEqual([
      { name: "a:2", turns: 2, input: 35, output: 2, cached: 0 },
      { name: "a:1", turns: 1, input: 10, output: 1, cached: 0 },
    ]);
  });

  it("has every day, also those on which nothing was said", () => {
    const daily = dailySums(usage, 4, new Date(2026, 2, 1, 23, 59));
    expect(daily.map(({ name, input }) => `${name} ${input}`)).toEqual([
      "2026-02-26 0",
      "2026-02-27 30",
      "2026-02-28 0",
      "2026-03-01 15",
    ]);
  });
});
