/**
 * Cron expressions as nanobot has them (croniter's), in the words of croner, which reads them and knows the calendar.
 * The two differ in four spellings only: where the seconds stand, the last Friday, ranges that go over the end, and a
 * list of all values, which means `*`.
 */

export type FieldName = "minute" | "hour" | "day" | "month" | "weekday" | "second" | "year";

/** In the order in which they are written: minute to weekday, then seconds, then a year. */
export const fields: readonly {
  readonly name: FieldName;
  readonly first: number;
  readonly last: number;
  readonly names?: readonly string[];
}[] = [
  { name: "minute", first: 0, last: 59 },
  { name: "hour", first: 0, last: 23 },
  { name: "day", first: 1, last: 31 },
  {
    name: "month",
    first: 1,
    last: 12,
    names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  },
  { name: "weekday", first: 0, last: 7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] },
  { name: "second", first: 0, last: 59 },
  { name: "year", first: 1970, last: 2099 },
];
export type Field = (typeof fields)[number];

export const aliases: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** The fields of an expression, as written; those of an alias. */
export const fieldsOf = (expr: string): string[] => {
  const text = expr.trim();
  return (aliases[text.toLowerCase()] ?? text).split(/\s+/);
};

/** For croner, which wants the seconds first. Undefined if it has not the right number of fields. */
export function inCronerWords(expr: string): string | undefined {
  const written = fieldsOf(expr);
  if (written.length < 5 || written.length > fields.length) return undefined;
  const [minute, hour, day, month, weekday, second = "0", year = "*"] = written.map((text, at) =>
    text
      .split(",")
      .map((element) => elementInCronerWords(element, fields[at]))
      .join(","),
  );
  return [second, minute, hour, day, month, weekday, year].join(" ");
}

function elementInCronerWords(element: string, field: Field | undefined): string {
  if (!field) return element;
  const lastOfMonth = field.name === "weekday" ? /^L([0-7])$/i.exec(element)?.[1] : undefined;
  if (lastOfMonth !== undefined) return `${lastOfMonth}#L`;
  const [all, from = "", to = "", every = "1"] = /^(\w+)-(\w+)(?:\/(\d+))?$/.exec(element) ?? [];
  if (all === undefined) return element;
  const [low, high, step] = [numberOf(from, field), numberOf(to, field), Number(every)];
  return low === undefined || high === undefined || low <= high || step < 1
    ? element
    : overTheEnd(low, high, step, field);
}

/** `22-4`: from ten in the evening until four in the morning. */
function overTheEnd(low: number, high: number, step: number, { name, first, last }: Field): string {
  const size = name === "weekday" ? 7 : last - first + 1;
  const values: number[] = [];
  for (let value = low; value <= high + size; value += step) values.push(((value - first) % size) + first);
  return values.join(",");
}

/** What a number or a name stands for; undefined if it is neither, or out of range. */
export function numberOf(text: string, { first, last, names }: Field): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + first;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= first && value <= last ? value : undefined;
}
