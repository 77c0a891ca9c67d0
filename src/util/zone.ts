/** Time zones: which names exist, and how far their clocks are ahead of UTC at an instant. */
import { LRUCache } from "lru-cache";
import { nearest } from "./nearest.js";

/** Building one takes a thousand times as long as using it. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: 64 });

/** The zone of the machine. */
export const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** The zone that somebody probably meant: `Europe/Berln`, `berlin`, `New York`. */
export function nearestZone(name: string): string | undefined {
  const zones = Intl.supportedValuesOf("timeZone");
  const plain = name.trim().replaceAll(" ", "_");
  const ending = `/${plain.toLowerCase()}`;
  return zones.find((zone) => zone.toLowerCase().endsWith(ending)) ?? nearest(plain, zones);
}

/** In milliseconds. Without `zone` the machine's own is meant. */
export function offsetAt(instant: number, zone?: string): number {
  if (zone === undefined) return -new Date(instant).getTimezoneOffset() * 60_000;
  const parts = formatOf(zone).formatToParts(instant);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const shown = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return shown - Math.floor(instant / 1000) * 1000;
}

/** `2026-12-24 18:00:00`, as the clocks of the zone show it. */
export const timeIn = (instant: number, zone?: string): string =>
  new Date(instant + offsetAt(instant, zone)).toISOString().slice(0, 19).replace("T", " ");

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(zone, format);
  return format;
}
