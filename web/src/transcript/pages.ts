/** Which pages of a long conversation to ask for, and which rows to forget. */
import type { Range } from "../list/window.js";

export const pageSize = 100;
/** So many rows around the view are kept. */
const keptAround = 2000;

export type PagePlan = { readonly page: number; readonly before: number; readonly limit: number };

/** The pages in which something is missing. */
export function pagesFor(wanted: Range, total: number, has: (index: number) => boolean): PagePlan[] {
  const plans: PagePlan[] = [];
  const [from, to] = [Math.max(0, wanted.from), Math.min(wanted.to, total)];
  for (let page = Math.floor(from / pageSize); page * pageSize < to; page++) {
    const [first, before] = [page * pageSize, Math.min((page + 1) * pageSize, total)];
    for (let index = Math.max(first, from); index < Math.min(before, to); index++) {
      if (has(index)) continue;
      plans.push({ page, before, limit: before - first });
      break;
    }
  }
  return plans;
}

/** Rows far from the view, but for the newest: those are where everybody comes back to. */
export function tooFar(known: Iterable<number>, { from, to }: Range, total: number): number[] {
  return [...known].filter(
    (index) => (index < from - keptAround || index > to + keptAround) && index < total - pageSize,
  );
}
