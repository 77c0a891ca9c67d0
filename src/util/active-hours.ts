/** The hours in which a heartbeat may beat: `08:00-22:00`, or over midnight `22:00-06:00`. */
import { timeIn } from "./zone.js";

export type ActiveHours = { readonly from: number; readonly to: number };

/** In minutes of the day; undefined if it makes no sense. */
export function readActiveHours(text: string): ActiveHours | undefined {
  const [, ...parts] = /^\s*(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})\s*$/.exec(text) ?? [];
  const [hour = NaN, minute = NaN, endHour = NaN, endMinute = NaN] = parts.map(Number);
  const [from, to] = [hour * 60 + minute, endHour * 60 + endMinute];
  const isTime = (time: number, minutes: number): boolean => time <= 24 * 60 && minutes < 60;
  return isTime(from, minute) && isTime(to, endMinute) && from !== to ? { from, to } : undefined;
}

export function isActive({ from, to }: ActiveHours, instant: number, zone: string): boolean {
  const [, hour, minute] = /(\d{2}):(\d{2}):\d{2}/.exec(timeIn(instant, zone)) ?? [];
  const now = Number(hour) * 60 + Number(minute);
  return from < to ? from <= now && now < to : now >= from || now < to;
}
