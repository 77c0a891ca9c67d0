import { describe, expect, it } from "vitest";
import { isActive, readActiveHours } from "../../src/util/active-hours.js";

const at = (time: string): number => Date.parse(`2026-07-01T${time}:00Z`);
const active = (hours: string, time: string, zone = "UTC"): boolean => {
  const read = readActiveHours(hours);
  if (!read) throw new Error(`${hours} is not understood`);
  return isActive(read, at(time), zone);
};

describe("active hours", () => {
  it("begin with the first minute and end before the last", () => {
    expect(active("08:00-22:00", "07:59")).toBe(false);
    expect(active("08:00-22:00", "08:00")).toBe(true);
    expect(active("08:00-22:00", "21:59")).toBe(true);
    expect(active("08:00-22:00", "22:00")).toBe(false);
    expect(active("8:30-24:00", "23:59")).toBe(true);
  });

  it("may go over midnight", () => {
    expect(active("22:00-06:00", "23:00")).toBe(true);
    expect(active("22:00-06:00", "05:59")).toBe(true);
    expect(active("22:00-06:00", "06:00")).toBe(false);
    expect(active("22:00-06:00", "12:00")).toBe(false);
  });

  it("are those of the zone", () => {
    expect(active("08:00-22:00", "06:30", "Europe/Berlin")).toBe(true);
    expect(active("08:00-22:00", "21:00", "Europe/Berlin")).toBe(false);
  });

  it.each(["", "8-22", "08:00", "08:60-22:00", "25:00-26:00", "08:00-08:00", "08:00-24:01", "a08:00-22:00"])(
    "%j are none",
    (text) => {
      expect(readActiveHours(text)).toBeUndefined();
    },
  );
});
