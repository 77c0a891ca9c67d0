/** This instant as nanobot stamps it: local time without a zone, to the microsecond. */
export function localIsoTime(epochMicros: number): string {
  const millis = Math.floor(epochMicros / 1000);
  const at = new Date(millis);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const micros = at.getMilliseconds() * 1000 + Math.floor(epochMicros - millis * 1000);
  return `${day}T${time}${micros === 0 ? "" : `.${String(micros).padStart(6, "0")}`}`;
}

/** `2026-05-05T05:05:05.12` as part of a file name. */
export const fileTime = (time: string): string => time.slice(0, 19).replaceAll(":", "");
