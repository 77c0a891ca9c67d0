import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { thorough } from "../support/thorough.js";
import { audit, auditDates, simulate } from "./simulation.js";

const zones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "Europe/London",
  "America/Los_Angeles",
  "America/Sao_Paulo",
  "America/St_Johns",
  "America/Santiago",
  "Africa/Cairo",
  "Africa/Casablanca",
  "Asia/Tehran",
  "Asia/Kathmandu",
  "Asia/Tokyo",
  "Asia/Beirut",
  "Pacific/Auckland",
  "Pacific/Chatham",
  "Pacific/Apia",
  "Atlantic/Azores",
  "UTC",
];

const place = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "nanogate-clock-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("years of cron", () => {
  const everyday = [1, 2].map((seed) => ({ seed, chosen: zones.slice(0, 2), years: 1 }));
  const all = zones.map((zone, seed) => ({ seed: seed + 1, chosen: [zone], years: 5 }));

  it.each(thorough ? all : everyday)(
    "each time a job was due has one outcome, and none ran twice ($chosen, $years years, seed $seed)",
    { timeout: 120_000 },
    async ({ seed, chosen, years }) => {
      const result = await simulate({ seed, zones: chosen, years, folder: mkdtempSync(join(place, "house-")) });
      const { wrong, outcomes } = audit(result);
      expect(wrong.slice(0, 20)).toEqual([]);
      expect(auditDates(result)).toEqual([]);
      expect([...result.ran.values()].filter((count) => count > 1)).toEqual([]);
      for (const outcome of ["ran", "late", "skipped", "failed"]) expect(outcomes.get(outcome)).toBeGreaterThan(0);
      expect(outcomes.get("ran")).toBeGreaterThan(outcomes.get("skipped") ?? 0);
      expect(result.deaths.size).toBeGreaterThan(5);
    },
  );
});
