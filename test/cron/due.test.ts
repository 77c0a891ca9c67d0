import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideDue, type Due, type DueQuestion, onTimeMs } from "../../src/cron/due.js";
import type { Policy, Schedule } from "../../src/cron/job.js";
import { nextRun } from "../../src/cron/next-run.js";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 2, 1);
const usual: Pick<Policy, "misfire" | "graceMs" | "overlap"> = { misfire: "once", graceMs: day, overlap: "skip" };

const hourly = (after: number): number => (Math.floor(after / hour) + 1) * hour;
const ask = (parts: Partial<DueQuestion> = {}): Due | undefined =>
  decideDue({
    next: hourly,
    policy: usual,
    after: start,
    now: start + hour,
    ahead: [],
    isRunning: false,
    room: 100,
    ...parts,
  });
const at = (hours: number): number => start + hours * hour;

/** `3 run, 1–2 once` */
const told = (due: Due | undefined): string =>
  due === undefined
    ? "nothing"
    : [
        ...due.runs.map(({ dueAt, late }) => `${(dueAt - start) / hour} ${late ? "late" : "run"}`),
        ...due.skipped.map(
          ({ from, to, count, by }) =>
            `${(from - start) / hour}${from === to ? "" : `–${(to - start) / hour} (${count})`} ${by}`,
        ),
      ].join(", ");

describe("a job that is due", () => {
  it("runs at its time, and not before", () => {
    expect(told(ask({ now: at(1) - 1 }))).toBe("nothing");
    expect(told(ask({ now: at(1) }))).toBe("1 run");
    expect(told(ask({ now: at(1) + onTimeMs }))).toBe("1 run");
    expect(told(ask({ now: at(1) + onTimeMs + 1 }))).toBe("1 late");
  });

  it("runs once for all that were missed: the newest, and it is said to be late", () => {
    expect(told(ask({ now: at(4) + 10 * minute }))).toBe("4 late, 1–3 (3) once");
    expect(told(ask({ now: at(4) }))).toBe("4 run, 1–3 (3) once");
  });

  it("is skipped if the newest was missed too long ago", () => {
    const daily = (after: number): number => (Math.floor(after / day) + 1) * day;
    const policy = { ...usual, graceMs: 2 * hour };
    expect(told(ask({ next: daily, policy, now: start + 3 * day + 2 * hour }))).toBe("72 late, 24–48 (2) once");
    expect(told(ask({ next: daily, policy, now: start + 3 * day + 2 * hour + 1 }))).toBe("24–72 (3) grace");
  });

  it("with `skip` runs only on time", () => {
    const policy = { ...usual, misfire: "skip" } as const;
    expect(told(ask({ policy, now: at(3) + 5000 }))).toBe("3 run, 1–2 (2) skip");
    expect(told(ask({ policy, now: at(3) + 10 * minute }))).toBe("1–3 (3) skip");
  });

  it("with `all` makes up for each that is not too old, in order", () => {
    const policy = { ...usual, misfire: "all", graceMs: 3 * hour } as const;
    expect(told(ask({ policy, now: at(5) + 1000 }))).toBe("3 late, 4 late, 5 run, 1–2 (2) grace");
  });

  it("with `all` decides no more than there is room for; the rest has its turn later", () => {
    const policy = { ...usual, misfire: "all" } as const;
    const due = ask({ policy, now: at(5), room: 2 });
    expect(told(due)).toBe("1 late, 2 late");
    expect(due?.through).toBe(at(2));
    expect(told(ask({ policy, now: at(5), room: 0 }))).toBe("nothing");
  });

  it("does not overlap the one before, unless it may wait", () => {
    expect(told(ask({ now: at(2), isRunning: true }))).toBe("1 once, 2 overlap");
    const policy = { ...usual, overlap: "wait" } as const;
    expect(told(ask({ policy, isRunning: true }))).toBe("1 run");
    expect(told(ask({ policy, isRunning: true, room: 0 }))).toBe("nothing");
  });

  it("makes up for what was missed although one is running, with `all`", () => {
    const policy = { ...usual, misfire: "all" } as const;
    expect(told(ask({ policy, now: at(3), isRunning: true }))).toBe("1 late, 2 late, 3 overlap");
  });

  it("leaves out what was decided while the clock was ahead", () => {
    expect(told(ask({ now: at(1), ahead: [at(1)] }))).toBe("");
    expect(told(ask({ now: at(5), ahead: [at(2)] }))).toBe("5 run, 1 once, 3–4 (2) once");
    expect(told(ask({ now: at(5), ahead: [at(5)] }))).toBe("1–4 (4) once");
    const policy = { ...usual, misfire: "all" } as const;
    expect(told(ask({ policy, now: at(3), ahead: [at(2)] }))).toBe("1 late, 3 run");
  });

  it("every second is decided at once after years, and not counted to the end", () => {
    let calls = 0;
    const everySecond = (after: number): number => {
      calls++;
      return (Math.floor(after / 1000) + 1) * 1000;
    };
    const due = ask({ next: everySecond, now: start + 5 * 365 * day });
    expect(due?.runs).toHaveLength(1);
    expect(due?.skipped).toMatchObject([{ from: start + 1000, count: 100, by: "once" }]);
    expect(due?.skipped[0]?.to).toBe(start + 5 * 365 * day - 1000);
    expect(calls).toBeLessThan(1000);
  });
});

const schedule: fc.Arbitrary<Schedule> = fc.oneof(
  fc.integer({ min: 1, max: 90 }).map((minutes) => ({ kind: "every", everyMs: minutes * 61_001 }) as const),
  fc
    .constantFrom("*/20 * * * *", "30 2 * * *", "15 1,2,3 * * 0", "0 */6 * * 1-5", "59 23 L * *")
    .chain((expr) =>
      fc.constantFrom("Europe/Berlin", "America/New_York", "Asia/Kolkata").map((tz) => ({ kind: "cron", expr, tz })),
    ) as fc.Arbitrary<Schedule>,
  fc.integer({ min: 0, max: 72 }).map((hours) => ({ kind: "at", atMs: at(hours) }) as const),
);
const policies = fc.record({
  misfire: fc.constantFrom("skip", "once", "all"),
  graceMs: fc.integer({ min: 0, max: 30 * hour }),
  overlap: fc.constantFrom("skip", "wait"),
}) as fc.Arbitrary<typeof usual>;

describe("whatever the schedule, the policy and the clock", () => {
  it("each time up to the mark has exactly one outcome, and none beyond it", () => {
    fc.assert(
      fc.property(
        schedule,
        policies,
        fc.integer({ min: 0, max: 30 * day }),
        fc.integer({ min: -hour, max: 4 * day }),
        fc.array(fc.nat(40), { maxLength: 4 }),
        fc.boolean(),
        fc.nat(5),
        (schedule, policy, offset, gap, chosen, isRunning, room) => {
          const next = (after: number): number | undefined => nextRun(schedule, after, { anchorMs: start });
          const after = start + offset;
          const now = after + gap;
          const times: number[] = [];
          for (let time = next(after); time !== undefined && time <= now; time = next(time)) times.push(time);
          const ahead = chosen.flatMap((at) => times[at] ?? []);
          const due = decideDue({ next, policy, after, now, ahead, isRunning, room });
          const through = due?.through ?? after;
          expect(through).toBeLessThanOrEqual(Math.max(now, after));
          if (room > 0 && policy.misfire !== "all") expect(through).toBe(times.at(-1) ?? after);
          if (due) expect(through).toBeGreaterThan(after);
          const decided = new Set(ahead);
          const outcomes = (time: number): number =>
            (due?.runs ?? []).filter(({ dueAt }) => dueAt === time).length +
            (due?.skipped ?? []).filter(({ from, to }) => from <= time && time <= to).length;
          const expected = (time: number): number => (time <= through && !decided.has(time) ? 1 : 0);
          expect(times.filter((time) => outcomes(time) !== expected(time))).toEqual([]);
          for (const { dueAt, late } of due?.runs ?? []) {
            expect(times).toContain(dueAt);
            expect(late).toBe(now - dueAt > onTimeMs);
            if (late) expect(policy.misfire).not.toBe("skip");
            if (late) expect(now - dueAt).toBeLessThanOrEqual(policy.graceMs);
          }
          expect((due?.runs ?? []).length).toBeLessThanOrEqual(policy.misfire === "all" ? room : 1);
        },
      ),
      { numRuns: 400 },
    );
  });
});
