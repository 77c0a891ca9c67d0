/** Reads an ISO date and time, in a given time zone if it names none. */
import { offsetAt } from "../../util/zone.js";

const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Milliseconds since 1970; undefined if it is no such time. Without `zone` the machine's own is meant. */
export function parseLocalTime(text: string, zone?: string): number | undefined {
  const [all, day, time = "00:00", offset] = iso.exec(text.trim()) ?? [];
  if (all === undefined || day === undefined || !isDay(day)) return undefined;
  const stamp = `${day}T${time.slice(0, 12)}`;
  if (offset) return number(Date.parse(`${stamp}${offset.toUpperCase()}`));
  if (zone === undefined) return number(Date.parse(stamp));
  const wanted = number(Date.parse(`${stamp}Z`));
  if (wanted === undefined) return undefined;
  // The offset depends on the instant and the instant on the offset; two steps are enough around any change of clocks.
  const first = wanted - offsetAt(wanted, zone);
  return wanted - offsetAt(first, zone);
}

/** `Date.parse` turns 31 February into 3 March. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

const number = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);
