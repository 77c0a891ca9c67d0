/** When a job is due next. Croner knows the calendar; what a time of day means when the clocks change is decided here. */
import { Cron, CronPattern } from "croner";
import { LRUCache } from "lru-cache";
import { isZone, offsetAt } from "../util/zone.js";
import { fieldsOf, inCronerWords } from "./cron-expression.js";
import type { Schedule } from "./job.js";

export type NextRunOptions = {
  /** The zone of an expression that names none; absent: the machine's. */
  readonly zone?: string;
  /** From where intervals are counted, so that a restart does not put them off; absent: from `afterMs`. */
  readonly anchorMs?: number;
};

/** The first time strictly after `afterMs`; undefined if there is none, or the schedule makes no sense. */
export function nextRun(schedule: Schedule, afterMs: number, options: NextRunOptions = {}): number | undefined {
  if (schedule.kind === "at") return schedule.atMs > afterMs ? schedule.atMs : undefined;
  if (schedule.kind === "every") return nextInterval(schedule.everyMs, afterMs, options.anchorMs ?? afterMs);
  return nextByCalendar(schedule.expr, schedule.tz ?? options.zone, afterMs);
}

function nextInterval(everyMs: number, afterMs: number, anchorMs: number): number | undefined {
  if (!Number.isSafeInteger(everyMs) || everyMs <= 0) return undefined;
  return anchorMs + Math.max(1, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs;
}

type Calendar = {
  readonly whole: Cron;
  /**
   * Where the hours are named one by one, each time of day by itself. Croner sees to it that a single time of day comes
   * exactly once on every day, also when the clocks change; of a list it would skip what falls into the hour that is
   * missing, and repeat what falls into the one that comes twice.
   */
  readonly times: readonly string[];
};

/** Reading an expression takes longer than asking it, and scheduling asks the same ones again and again. */
const calendars = new LRUCache<string, Calendar>({ max: 64 });
const mostTimes = 60;
const day = 86_400_000;

function nextByCalendar(expr: string, zone: string | undefined, afterMs: number): number | undefined {
  const calendar = calendarOf(expr, zone);
  if (!calendar) return undefined;
  const next = runAfter(calendar.whole, afterMs);
  if (next === undefined || calendar.times.length < 2 || !clocksChange(afterMs - day, next + day, zone)) return next;
  const each = calendar.times.flatMap((time) => runAfter(cronerFor(time, zone), afterMs) ?? []);
  return each.length === 0 ? next : Math.min(...each);
}

/** Whether an expression names this very time; what the clocks have jumped over runs at another. */
export function names(expr: string, atMs: number, zone: string | undefined): boolean {
  return calendarOf(expr, zone)?.whole.match(new Date(atMs)) === true;
}

function calendarOf(expr: string, zone: string | undefined): Calendar | undefined {
  if (zone !== undefined && !isZone(zone)) return undefined;
  const key = `${expr}\n${zone ?? ""}`;
  const calendar = calendars.get(key) ?? readCalendar(expr, zone);
  if (calendar) calendars.set(key, calendar);
  return calendar;
}

function readCalendar(expr: string, zone: string | undefined): Calendar | undefined {
  const words = inCronerWords(expr);
  if (words === undefined) return undefined;
  try {
    const pattern = new CronPattern(words, zone, style);
    const [second, minute, hour, days, month, weekdays, year] = words.split(" ");
    // A list of all days is no wish for certain days: together with a weekday it would otherwise mean "every day".
    const dayField = pattern.day.every(Boolean) ? "*" : days;
    const weekdayField = pattern.dayOfWeek.every((bits) => bits === anyWeek) ? "*" : weekdays;
    const rest = [dayField, month, weekdayField, year].join(" ");
    const whole = cronerFor([second, minute, hour, rest].join(" "), zone);
    const isOneByOne = /^[\d,]+$/.test(fieldsOf(expr)[1] ?? "");
    return { whole, times: isOneByOne ? timesOf(pattern, rest) : [] };
  } catch {
    return undefined;
  }
}

/** How croner marks a weekday of any week of the month. */
const anyWeek = 63;
const style = { mode: "7-part", sloppyRanges: true } as const;

const cronerFor = (words: string, zone: string | undefined): Cron =>
  new Cron(words, { ...style, ...(zone !== undefined && { timezone: zone }) });

function timesOf({ hour, minute, second }: CronPattern, rest: string): string[] {
  const [hours, minutes, seconds] = [chosen(hour), chosen(minute), chosen(second)];
  if (hours.length * minutes.length * seconds.length > mostTimes) return [];
  return hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => `${s} ${m} ${h} ${rest}`)));
}

const chosen = (marks: readonly number[]): number[] => marks.flatMap((mark, at) => (mark ? [at] : []));

const runAfter = (cron: Cron, afterMs: number): number | undefined => cron.nextRun(new Date(afterMs))?.getTime();

/** Whether the clocks of a zone may change in this time; zones never change and change back within a week. */
function clocksChange(fromMs: number, toMs: number, zone: string | undefined): boolean {
  if (toMs - fromMs > 366 * day) return true;
  const before = offsetAt(fromMs, zone);
  for (let at = fromMs + 7 * day; at < toMs; at += 7 * day) if (offsetAt(at, zone) !== before) return true;
  return offsetAt(toMs, zone) !== before;
}
