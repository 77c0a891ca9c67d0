/** When a job is due next, against what croniter answered for the same questions. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { Schedule } from "../../src/cron/job.js";
import { nextRun } from "../../src/cron/next-run.js";

type GoldenRow = {
  readonly expr: string;
  readonly tz: string | null;
  readonly machine_zone?: string;
  readonly now_ms: number;
  readonly note: string | null;
  readonly "croniter_6.2.4": readonly (number | null)[];
};

const golden = (name: string): GoldenRow[] =>
  JSON.parse(readFileSync(new URL(`../../fixtures/golden/cron/${name}`, import.meta.url), "utf8")) as GoldenRow[];

const cron = (expr: string, tz?: string): Schedule => ({ kind: "cron", expr, ...(tz !== undefined && { tz }) });
const iso = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : new Date(ms).toISOString());

/** The next runs, each asked from the one before. A last `null` says that there is none. */
function runsOf(schedule: Schedule, afterMs: number, count: number, zone?: string): (number | null)[] {
  const runs: (number | null)[] = [];
  for (let at = afterMs; runs.length < count;) {
    const next = nextRun(schedule, at, { ...(zone !== undefined && { zone }) });
    if (next === undefined) return [...runs, null];
    runs.push((at = next));
  }
  return runs;
}
const timesOf = (expr: string, tz: string, after: string, count: number): (string | undefined)[] =>
  runsOf(cron(expr, tz), Date.parse(after), count).map((at) => (at === null ? undefined : iso(at)));

/**
 * The rows where we answer otherwise, on purpose. croniter 6.2.4 runs a daily job twice on the day on which the clocks
 * go back, once in each of the two hours of that name; a reminder should come once.
 */
const onceInsteadOfTwice: Readonly<Record<string, readonly string[]>> = {
  "0 1 * * * before the autumn overlap": ["2026-11-01T05:00", "2026-11-02T06:00", "2026-11-03T06:00"],
  "30 1 * * * before the autumn overlap": ["2026-11-01T05:30", "2026-11-02T06:30", "2026-11-03T06:30"],
  "30 1 * * * on the first 01:30": ["2026-11-02T06:30", "2026-11-03T06:30", "2026-11-04T06:30"],
  "30 2 * * * Berlin autumn overlap": ["2026-10-25T00:30", "2026-10-26T01:30", "2026-10-27T01:30"],
};

/** Without a zone nanobot takes today's offset for tomorrow too, so that a job is an hour off after a change. */
const anHourOff: Readonly<Record<string, string>> = {
  "the offset of now is used for the next day, across the change": "2026-03-08T13:00",
  "the same in autumn": "2026-11-01T14:00",
};

describe("the next runs that croniter 6.2.4 gives", () => {
  const rows = golden("next-runs.json");

  it.each(rows.map((row) => [row.expr, row.tz, row.note, row] as const))("of %j in %s (%s)", (expr, tz, note, row) => {
    const expected = row["croniter_6.2.4"];
    const ours = runsOf(cron(expr, tz ?? undefined), row.now_ms, expected.length);
    const other = onceInsteadOfTwice[`${expr} ${note}`];
    if (!other) return expect(ours).toEqual(expected);
    expect(ours.slice(0, 3)).toEqual(other.map((time) => Date.parse(`${time}Z`)));
    // All the rest is the same: what we leave out is the second of two equal times.
    return expect(expected.filter((at) => !ours.includes(at))).toHaveLength(1);
  });

  it("differ from ours in four rows of the table and in two without a zone", () => {
    const listed = rows.filter(({ expr, note }) => onceInsteadOfTwice[`${expr} ${note}`]);
    expect(listed).toHaveLength(4);
    expect(golden("next-runs-local.json").filter(({ note }) => anHourOff[note ?? ""])).toHaveLength(2);
  });

  describe("without a zone in the job", () => {
    const before = process.env["TZ"];
    afterEach(() => {
      if (before === undefined) delete process.env["TZ"];
      else process.env["TZ"] = before;
    });

    it.each(golden("next-runs-local.json").map((row) => [row.expr, row.machine_zone ?? "", row.note, row] as const))(
      "of %j on a machine in %s (%s)",
      (expr, zone, note, row) => {
        const other = anHourOff[note ?? ""];
        const expected = other === undefined ? row["croniter_6.2.4"] : [Date.parse(`${other}Z`)];
        expect(runsOf(cron(expr), row.now_ms, 1, zone)).toEqual(expected);
        process.env["TZ"] = zone;
        expect(runsOf(cron(expr), row.now_ms, 1)).toEqual(expected);
      },
    );
  });
});

describe("a cron expression", () => {
  it.each([
    ["0 0 * * L5", ["2026-03-27", "2026-04-24", "2026-05-29"], "the last Friday"],
    ["0 0 * * 5#2", ["2026-03-13", "2026-04-10", "2026-05-08"], "the second Friday"],
    ["0 0 * * FRI-MON", ["2026-03-13", "2026-03-14", "2026-03-15"], "a range over the weekend"],
    ["0 0 * NOV-JAN *", ["2026-11-01", "2026-11-02", "2026-11-03"], "a range over the year's end"],
    ["0 0 1 * ?", ["2026-04-01", "2026-05-01", "2026-06-01"], "any weekday"],
    ["0 0 ? * MON", ["2026-03-16", "2026-03-23", "2026-03-30"], "any day of the month"],
    ["0 0 1-31 * MON", ["2026-03-16", "2026-03-23", "2026-03-30"], "all days are no choice of days"],
    ["0 0 13 * 0-6", ["2026-03-13", "2026-04-13", "2026-05-13"], "nor are all weekdays"],
    ["0 0 1 1 * 0 2030", ["2030-01-01"], "with a year"],
    ["@Midnight", ["2026-03-11", "2026-03-12", "2026-03-13"], "an alias"],
  ])("%s is due on %j (%s)", (expr, days) => {
    expect(timesOf(expr, "UTC", "2026-03-10T12:00Z", days.length)).toEqual(days.map((day) => `${day}T00:00:00.000Z`));
  });

  it("of hours goes over midnight, in steps", () => {
    const hours = timesOf("0 22-4/2 * * *", "UTC", "2026-03-10T21:00Z", 5).map((time) => time?.slice(8, 13));
    expect(hours).toEqual(["10T22", "11T00", "11T02", "11T04", "11T22"]);
  });

  it.each(["", "0 9", "0 0 30 2 *", "0 0 * * 8", "61 * * * *", "a b c d e", "0 0 15W * * * * *", "2026-01-01T10:00"])(
    "%j is never due",
    (expr) => {
      expect(nextRun(cron(expr, "UTC"), 0)).toBeUndefined();
    },
  );
});

describe("when the clocks change", () => {
  it("a time that is missing that day comes at the moment of the change, each of a list too", () => {
    expect(timesOf("30 2,14 * * *", "America/New_York", "2026-03-08T05:45Z", 3)).toEqual([
      "2026-03-08T07:00:00.000Z",
      "2026-03-08T18:30:00.000Z",
      "2026-03-09T06:30:00.000Z",
    ]);
    // Both fall into the missing hour: one run, not two at the same moment.
    expect(timesOf("*/30 2 * * *", "America/New_York", "2026-03-08T05:45Z", 2)).toEqual([
      "2026-03-08T07:00:00.000Z",
      "2026-03-09T06:00:00.000Z",
    ]);
  });

  it("a time that comes twice that day counts once, each of a list too", () => {
    expect(timesOf("0,30 1 * * *", "America/New_York", "2026-11-01T04:45Z", 3)).toEqual([
      "2026-11-01T05:00:00.000Z",
      "2026-11-01T05:30:00.000Z",
      "2026-11-02T06:00:00.000Z",
    ]);
  });

  it("what repeats over the hours goes on at its pace", () => {
    const day = (after: string): number =>
      runsOf(cron("*/30 * * * *", "Europe/Berlin"), Date.parse(after), 50).filter(
        (at) => at !== null && at <= Date.parse(after) + 86_400_000,
      ).length;
    expect(day("2026-03-28T23:00Z")).toBe(48);
    expect(day("2026-10-24T22:00Z")).toBe(48);
  });

  it.each(["America/New_York", "Europe/London", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago"])(
    "times of day come on every day of a year, and none more than once, in %s",
    (zone) => {
      const format = new Intl.DateTimeFormat("sv", { timeZone: zone });
      for (const hour of [0, 1, 2]) {
        const perDay = new Map<string, number>();
        for (const at of runsOf(cron(`10,45 ${hour} * * *`, zone), Date.UTC(2026, 0, 1, 12), 728)) {
          const day = format.format(at ?? 0);
          perDay.set(day, (perDay.get(day) ?? 0) + 1);
        }
        const days = [...perDay.keys()].map((day) => Date.parse(day) / 86_400_000);
        expect(days).toEqual(days.map((_, at) => (days[0] ?? 0) + at));
        expect(Math.max(...perDay.values())).toBe(2);
      }
    },
  );
});

describe("an interval", () => {
  const every = (hours: number): Schedule => ({ kind: "every", everyMs: hours * 3_600_000 });
  const at = (hours: number): number => hours * 3_600_000;

  it("is counted from its anchor, so that restarts do not put it off", () => {
    expect(nextRun(every(24), at(12), { anchorMs: 0 })).toBe(at(24));
    expect(nextRun(every(24), at(23), { anchorMs: 0 })).toBe(at(24));
    expect(nextRun(every(24), at(24), { anchorMs: 0 })).toBe(at(48));
    expect(nextRun(every(24), at(24) - 1, { anchorMs: 0 })).toBe(at(24));
    expect(nextRun(every(24), at(100), { anchorMs: 0 })).toBe(at(120));
  });

  it("begins a full interval after its anchor, also when the clock was put back", () => {
    expect(nextRun(every(1), -at(5), { anchorMs: 0 })).toBe(at(1));
    expect(nextRun(every(1), 0, { anchorMs: 0 })).toBe(at(1));
  });

  it("without an anchor is counted from now, as nanobot does", () => {
    expect(nextRun(every(2), 123)).toBe(123 + at(2));
  });

  it.each([0, -1, Number.NaN, 1.5, Infinity])("of %d ms is never due", (everyMs) => {
    expect(nextRun({ kind: "every", everyMs }, 0)).toBeUndefined();
  });
});

describe("a moment", () => {
  it("is due until it has come", () => {
    expect(nextRun({ kind: "at", atMs: 1000 }, 999)).toBe(1000);
    expect(nextRun({ kind: "at", atMs: 1000 }, 1000)).toBeUndefined();
  });
});
