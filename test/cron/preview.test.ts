/** The next runs of a schedule, with the change of the clocks between them. */
import { describe, expect, it } from "vitest";
import { preview } from "../../src/cron/preview.js";

const at = (time: string): number => Date.parse(time);
const hour = 3_600_000;

describe("a preview", () => {
  it("shows the runs, and marks where the clocks are put forward", () => {
    const schedule = { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" } as const;
    expect(preview(schedule, { after: at("2026-03-27T12:00Z"), count: 3 })).toEqual([
      { kind: "run", at: at("2026-03-28T08:00Z") },
      { kind: "change", at: at("2026-03-29T01:00Z"), byMs: hour },
      { kind: "run", at: at("2026-03-29T07:00Z") },
      { kind: "run", at: at("2026-03-30T07:00Z") },
    ]);
  });

  it("says which run is not at its own time, because there is no such time", () => {
    const schedule = { kind: "cron", expr: "30 2 * * *", tz: "Europe/Berlin" } as const;
    expect(preview(schedule, { after: at("2026-03-28T12:00Z"), count: 2 })).toEqual([
      { kind: "change", at: at("2026-03-29T01:00Z"), byMs: hour },
      { kind: "run", at: at("2026-03-29T01:00Z"), moved: true },
      { kind: "run", at: at("2026-03-30T00:30Z") },
    ]);
    const three = { ...schedule, expr: "0 3 * * *" };
    expect(preview(three, { after: at("2026-03-28T12:00Z"), count: 1 })).toEqual([
      { kind: "change", at: at("2026-03-29T01:00Z"), byMs: hour },
      { kind: "run", at: at("2026-03-29T01:00Z") },
    ]);
  });

  it("marks where they are put back, for intervals in the zone one looks from", () => {
    const schedule = { kind: "every", everyMs: 24 * hour } as const;
    const question = { after: at("2026-10-31T12:00Z"), count: 2, zone: "America/New_York", anchorMs: 0 };
    expect(preview(schedule, question)).toEqual([
      { kind: "run", at: at("2026-11-01T00:00Z") },
      { kind: "change", at: at("2026-11-01T06:00Z"), byMs: -hour },
      { kind: "run", at: at("2026-11-02T00:00Z") },
    ]);
  });

  it("ends where there are no more", () => {
    expect(preview({ kind: "at", atMs: 5 }, { after: 0, count: 10, zone: "UTC" })).toEqual([{ kind: "run", at: 5 }]);
    expect(preview({ kind: "cron", expr: "0 0 30 2 *", tz: "UTC" }, { after: 0, count: 10 })).toEqual([]);
  });
});
