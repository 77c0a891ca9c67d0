/** Schedules and times as people read them. */
import { machineZone, timeIn } from "../util/zone.js";
import type { Schedule } from "./job.js";

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** `every 2h`, `cron: 0 9 * * * (Europe/Berlin)`, `at 2026-12-24 18:00:00 (Europe/Berlin)`. */
export function scheduleInWords(schedule: Schedule, zone?: string): string {
  if (schedule.kind === "every") return `every ${duration(schedule.everyMs)}`;
  if (schedule.kind === "at") return `at ${moment(schedule.atMs, zone)}`;
  return `cron: ${schedule.expr}${schedule.tz === undefined ? "" : ` (${schedule.tz})`}`;
}

export const moment = (instant: number, zone?: string): string => `${timeIn(instant, zone)} (${zone ?? machineZone()})`;

export function duration(ms: number): string {
  const [unit, size] = units.find(([, length]) => ms >= length && ms % length === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** `90s`, `15m`, `2h`, `1d`, `1h30m` in milliseconds; undefined if it is none. */
export function readDuration(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)\s*(ms|d|h|m|s)\s*/gy)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== text.trim()) return undefined;
  const sizes: Readonly<Record<string, number>> = { ms: 1, ...Object.fromEntries(units) };
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (sizes[unit ?? ""] ?? 0), 0));
}
