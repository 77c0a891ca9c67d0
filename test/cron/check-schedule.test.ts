/** What is said about a schedule that makes no sense. */
import { readFileSync } from "node:fs";
import { Cron } from "croner";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSchedule } from "../../src/cron/check-schedule.js";
import { inCronerWords } from "../../src/cron/cron-expression.js";
import { nextRun } from "../../src/cron/next-run.js";

const check = (expr: string, tz?: string): string | undefined =>
  checkSchedule({ kind: "cron", expr, ...(tz !== undefined && { tz }) });

describe("a bad expression is explained", () => {
  it.each([
    ["61 * * * *", "minute 61: use 0–59"],
    ["0 24 * * *", "hour 24: use 0–23"],
    ["0 0 32 * *", "day 32: use 1–31, or L for the last day"],
    ["0 0 0 * *", "day 0: use 1–31, or L for the last day"],
    ["0 0 1 13 *", "month 13: use 1–12 or JAN–DEC"],
    ["0 0 * * 8", "weekday 8: use 0–7 or SUN–SAT"],
    ["0 0 * * FUNDAY", "weekday FUNDAY: use 0–7 or SUN–SAT"],
    ["0 9 * * * 60", "second 60: use 0–59"],
    ["0 9 * * * 0 1900", "year 1900: use 1970–2099"],
    ["0 9-25 * * *", "hour 25: use 0–23"],
    ["0 9 * * MON-FUN", "weekday FUN: use 0–7 or SUN–SAT"],
    ["*/0 * * * *", "minute */0: use a step of 1–60"],
    ["*/90 * * * *", "minute */90: use a step of 1–60"],
    ["*/x * * * *", "minute */x: use a step of 1–60"],
    ["/5 * * * *", "minute /5: use 0–59"],
    ["1,,2 * * * *", "minute: there is nothing beside a comma"],
    ["? * * * *", "minute ?: use 0–59"],
    ["-5 * * * *", "minute -5: use 0–59"],
    ["0 9 *", "5 fields: minute hour day month weekday; there are 3"],
    ["daily", "5 fields: minute hour day month weekday; there is 1"],
    ["* * * * * * * *", "5 fields: minute hour day month weekday; there are 8"],
    ["", "there is nothing; 5 fields: minute hour day month weekday; 6 with seconds at the end"],
    ["@dayly", "@dayly: use @daily"],
    ["@reboot", "@reboot: use @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"],
    ["0 0 30 2 *", "'0 0 30 2 *' never comes: no month 2 has a day 30"],
    ["0 0 31 4,6 *", "'0 0 31 4,6 *' never comes: no month 4,6 has a day 31"],
  ])("%j: %s", (expr, problem) => {
    expect(check(expr)).toBe(problem);
  });

  it.each([
    ["Europe/Berln", "unknown timezone 'Europe/Berln': did you mean Europe/Berlin?"],
    ["berlin", "unknown timezone 'berlin': did you mean Europe/Berlin?"],
    ["New York", "unknown timezone 'New York': did you mean America/New_York?"],
    ["Xyzzyx", "unknown timezone 'Xyzzyx': use a name like Europe/Berlin"],
  ])("zone %s: %s", (tz, problem) => {
    expect(check("0 9 * * *", tz)).toBe(problem);
  });

  it("and so is an interval or a moment that is none", () => {
    expect(checkSchedule({ kind: "every", everyMs: 0 })).toBe("an interval has to be at least one millisecond long");
    expect(checkSchedule({ kind: "at", atMs: Number.NaN })).toBe("that is no time");
    expect(checkSchedule({ kind: "every", everyMs: 1 })).toBeUndefined();
    expect(checkSchedule({ kind: "at", atMs: 0 })).toBeUndefined();
  });
});

describe("what is accepted and what is ever due", () => {
  type Row = { readonly expr: string; readonly tz: string; readonly now_ms: number };
  const golden = JSON.parse(
    readFileSync(new URL("../../fixtures/golden/cron/next-runs.json", import.meta.url), "utf8"),
  ) as Row[];

  it("are the same, for every row of the golden table", () => {
    for (const { expr, tz, now_ms } of golden) {
      expect([expr, check(expr, tz) === undefined]).toEqual([
        expr,
        nextRun({ kind: "cron", expr, tz }, now_ms) !== undefined,
      ]);
    }
  });

  it("never differ because croner cannot read what is accepted, whatever somebody may type", () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 70 }).map(String),
      fc.constantFrom("*", "?", "L", "MON", "sun", "jan", "L5", "5#2", "5L", "W", "", "x", "7", "+1"),
    );
    const element = fc.oneof(
      value,
      fc.tuple(value, value).map(([a, b]) => `${a}-${b}`),
      fc.tuple(value, fc.integer({ min: 0, max: 61 })).map(([a, n]) => `${a}/${n}`),
      fc.tuple(value, value, fc.integer({ min: 0, max: 61 })).map(([a, b, n]) => `${a}-${b}/${n}`),
    );
    const field = fc.array(element, { minLength: 1, maxLength: 2 }).map((elements) => elements.join(","));
    const usual = fc.constantFrom("*", "0", "1-5", "*/2", "L", "MON");
    const expression = fc.array(fc.oneof({ weight: 4, arbitrary: usual }, field), { minLength: 4, maxLength: 7 });
    fc.assert(
      fc.property(expression, (written) => {
        const expr = written.join(" ");
        const problem = check(expr, "UTC");
        // Croner knows a few words more, which nanobot could not read; nothing that we let pass is unknown to it.
        if (problem === undefined || problem.includes("never comes"))
          expect(() => new Cron(inCronerWords(expr) ?? "", { sloppyRanges: true })).not.toThrow();
      }),
      { numRuns: 2000 },
    );
  });
});
