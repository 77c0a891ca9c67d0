/** Times as Python's `datetime` reads and prints them in nanobot's files. */

const date = /^(\d{4})-(\d{2})-(\d{2})|^(\d{4})(\d{2})(\d{2})/;
const week = /^(\d{4})(?:-W(\d{2})(?:-(\d))?|W(\d{2})(\d)?)/;
const extendedTime = /^(\d{2})(?::(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?(Z|[+-].*)?$/;
const compactTime = /^(\d{2})(?:(\d{2})(?:(\d{2})(?:[.,](\d+))?)?)?(Z|[+-].*)?$/;

/**
 * What Python 3.11 prints for `datetime.fromisoformat(text).isoformat()`, or undefined where it refuses the text:
 * a date alone gets midnight, `Z` becomes `+00:00`, a fraction has six digits or, when it is zero, is left out.
 */
export function normalPythonTime(text: string): string | undefined {
  const day = readDate(text);
  if (!day) return undefined;
  if (day.rest === "") return `${day.iso}T00:00:00`;
  // Any single character may stand between date and time.
  const time = readTime(day.rest.slice([...day.rest][0]?.length ?? 1));
  return time && `${day.iso}T${time}`;
}

function readDate(text: string): { iso: string; rest: string } | undefined {
  const weekMatch = week.exec(text);
  if (weekMatch) {
    const [, year, weekNumber = weekMatch[4], weekday = weekMatch[5] ?? 1] = weekMatch;
    const iso = weekDate(Number(year), Number(weekNumber), Number(weekday));
    return iso === undefined ? undefined : { iso, rest: text.slice(weekMatch[0].length) };
  }
  const match = date.exec(text);
  if (!match) return undefined;
  const [year, month, day] = (match[1] === undefined ? match.slice(4, 7) : match.slice(1, 4)).map(Number);
  const iso = match[0].length === 10 ? match[0] : `${match[4]}-${match[5]}-${match[6]}`;
  return isDate(year ?? 0, month ?? 0, day ?? 0) ? { iso, rest: text.slice(match[0].length) } : undefined;
}

function isDate(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function weekDate(year: number, weekNumber: number, weekday: number): string | undefined {
  if (year < 1 || weekNumber < 1 || weekNumber > 53 || weekday < 1 || weekday > 7) return undefined;
  // The week with 4 January in it is week 1; weeks start on Monday.
  const fourth = new Date(0).setUTCFullYear(year, 0, 4);
  const days = (weekNumber - 1) * 7 + weekday - 1 - ((new Date(fourth).getUTCDay() + 6) % 7);
  const found = new Date(fourth + days * 86_400_000);
  const thursday = new Date(found.getTime() + (4 - weekday) * 86_400_000);
  return thursday.getUTCFullYear() === year && found.getUTCFullYear() <= 9999
    ? found.toISOString().slice(0, 10)
    : undefined;
}

function readTime(text: string): string | undefined {
  const match = extendedTime.exec(text) ?? compactTime.exec(text);
  if (!match) return undefined;
  const [, hour = "", minute = "00", second = "00", fraction = "", zone] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  const offset = zone === undefined ? "" : readOffset(zone);
  if (offset === undefined) return undefined;
  return `${hour}:${minute}:${second}${micros === "000000" ? "" : `.${micros}`}${offset}`;
}

function readOffset(zone: string): string | undefined {
  if (zone === "Z") return "+00:00";
  const match = extendedTime.exec(zone.slice(1)) ?? compactTime.exec(zone.slice(1));
  if (!match || match[5] !== undefined) return undefined;
  const [, hour = "", minute = "00", second = "00", fraction = ""] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  const fine = micros === "000000" ? "" : `.${micros}`;
  const seconds = second === "00" && fine === "" ? "" : `:${second}${fine}`;
  const sign = hour === "00" && minute === "00" && seconds === "" ? "+" : zone[0];
  return `${sign}${hour}:${minute}${seconds}`;
}
