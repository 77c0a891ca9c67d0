/** Numbers, sizes and times in words. */
const number = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const count = (value: number): string => number.format(value);
export const short = (value: number): string => compact.format(value);
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
export const exactTime = (ms: number): string => exact.format(ms);
export const clockTime = (ms: number): string => clock.format(ms);

/** `14:03` today, `Mon, 16 Nov 14:03` this year. */
export function timeOfDay(ms: number, now = Date.now()): string {
  const isToday = day.format(ms) === day.format(now) && Math.abs(now - ms) < 86_400_000;
  if (isToday) return clock.format(ms);
  const isThisYear = new Date(ms).getFullYear() === new Date(now).getFullYear();
  return `${(isThisYear ? day : dayAndYear).format(ms)} ${clock.format(ms)}`;
}

const units: readonly [name: string, ms: number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** `340 ms`, `4.2 s`, `3 min`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const at = units.findIndex(([, size]) => ms >= size);
  const [name = "s", size = 1000] = units[at] ?? [];
  const [lesserName, lesserSize] = units[at + 1] ?? [];
  const whole = Math.floor(ms / size);
  const rest = lesserSize === undefined ? 0 : Math.floor((ms - whole * size) / lesserSize);
  return rest === 0 || whole > 9 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${lesserName}`;
}

/** `3 min ago`, `in 2 h`. */
export function fromNow(ms: number, now = Date.now()): string {
  const apart = Math.abs(now - ms);
  if (apart < 5000) return "now";
  const [name = "s", size = 1000] = units.find(([, least]) => apart >= least) ?? [];
  const words = `${Math.floor(apart / size)} ${name}`;
  return ms < now ? `${words} ago` : `in ${words}`;
}

/** An answer as one line, without the marks that make it bold, code, a list or a table. A star between numbers is none. */
export const plainLine = (text: string): string =>
  unmarked(
    text
      .replace(/^\s*```.*$/gm, "")
      .replace(/^[\s|:-]*-{3,}[\s|:-]*$/gm, "")
      .replace(/^\s*\|.*\|\s*$/gm, (row) => row.replaceAll("|", " "))
      .replace(/^\s*(?:#{1,6}|[-+*]|>)\s+/gm, ""),
  )
    .replace(/\s+/g, " ")
    .trim();

const marked = /(`+)([^`\n]+)\1|(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\3(?![\w*])/g;
const unmarked = (text: string): string =>
  text.replace(marked, (_, _ticks, code?: string, _stars?: string, words = "") => code ?? unmarked(words as string));

export function bytes(value: number): string {
  if (value < 1024 * 1024) return `${Math.round(value / 1024)} kB`;
  return `${(value / 1024 / 1024).toFixed(value < 100 * 1024 * 1024 ? 1 : 0)} MB`;
}
