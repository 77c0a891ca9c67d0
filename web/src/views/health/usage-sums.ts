/** Tokens, added up by day, by conversation or by model. */
import type { UsageEntry } from "../../../../src/http/api.js";

export type Sum = {
  readonly name: string;
  readonly turns: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
};

export function sumsBy(usage: readonly UsageEntry[], nameOf: (entry: UsageEntry) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const entry of usage) {
    const name = nameOf(entry);
    const { turns, input, output, cached } = sums.get(name) ?? { turns: 0, input: 0, output: 0, cached: 0 };
    sums.set(name, {
      name,
      turns: turns + entry.turns,
      input: input + entry.input,
      output: output + entry.output,
      cached: cached + entry.cached,
    });
  }
  return [...sums.values()];
}

export const tokensOf = ({ input, output }: Sum): number => input + output;

export const largestFirst = (sums: readonly Sum[]): Sum[] =>
  [...sums].sort((one, other) => tokensOf(other) - tokensOf(one));

/** Each of the last days, also those on which nothing was said; the oldest first. */
export function dailySums(usage: readonly UsageEntry[], days: number, today: Date): Sum[] {
  const known = new Map(sumsBy(usage, ({ day }) => day).map((sum) => [sum.name, sum]));
  return Array.from({ length: days }, (_, at) => {
    const date = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (days - 1 - at), 12);
    const pad = (value: number): string => String(value).padStart(2, "0");
    const name = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
    return known.get(name) ?? { name, turns: 0, input: 0, output: 0, cached: 0 };
  });
}
