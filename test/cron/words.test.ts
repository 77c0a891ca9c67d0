/** Schedules and durations as people write and read them. */
import { describe, expect, it } from "vitest";
import { duration, moment, readDuration, scheduleInWords } from "../../src/cron/words.js";

describe("a schedule in words", () => {
  it.each([
    [{ kind: "every", everyMs: 7_200_000 }, "every 2h"],
    [{ kind: "every", everyMs: 1500 }, "every 1500ms"],
    [{ kind: "every", everyMs: 0 }, "every 0ms"],
    [{ kind: "cron", expr: "0 9 * * *" }, "cron: 0 9 * * *"],
    [{ kind: "cron", expr: "0 9 * * *", tz: "UTC" }, "cron: 0 9 * * * (UTC)"],
    [{ kind: "at", atMs: Date.UTC(2026, 11, 24, 17) }, "at 2026-12-24 18:00:00 (Europe/Berlin)"],
  ] as const)("%j: %s", (schedule, words) => {
    expect(scheduleInWords(schedule, "Europe/Berlin")).toBe(words);
  });
});

describe("a time", () => {
  it("names the machine's zone where no other is meant", () => {
    expect(moment(0)).toContain(`(${Intl.DateTimeFormat().resolvedOptions().timeZone})`);
  });
});

describe("a duration", () => {
  it.each([
    ["2h", 7_200_000],
    ["90s", 90_000],
    ["1d", 86_400_000],
    ["1h30m", 5_400_000],
    ["1h 30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
  ])("%s is %d ms", (text, ms) => {
    expect(readDuration(text)).toBe(ms);
    expect(readDuration(duration(ms))).toBe(ms);
  });

  it.each(["", "h", "5", "2 weeks", "-1h", "1h x"])("%j is none", (text) => {
    expect(readDuration(text)).toBeUndefined();
  });
});
