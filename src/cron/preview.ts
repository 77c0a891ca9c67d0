/** The next runs of a schedule, and between them the moments at which the clocks change. */
import { offsetAt } from "../util/zone.js";
import type { Schedule } from "./job.js";
import { names, nextRun, type NextRunOptions } from "./next-run.js";

export type PreviewRow =
  | {
      readonly kind: "run";
      readonly at: number;
      /** Its time of day does not exist that day, so it runs at the moment of the change. */
      readonly moved?: true;
    }
  /** The clocks of the zone are put forward or back by `byMs`. */
  | { readonly kind: "change"; readonly at: number; readonly byMs: number };

export type PreviewQuestion = NextRunOptions & { readonly after: number; readonly count: number };

export function preview(schedule: Schedule, { after, count, ...options }: PreviewQuestion): PreviewRow[] {
  const zone = (schedule.kind === "cron" ? schedule.tz : undefined) ?? options.zone;
  const rows: PreviewRow[] = [];
  for (let from = after, left = count; left > 0; left--) {
    const at = nextRun(schedule, from, options);
    if (at === undefined) break;
    const change = lastChange(from, at, zone);
    if (change) rows.push({ kind: "change", ...change });
    const isMoved = change?.at === at && schedule.kind === "cron" && !names(schedule.expr, at, zone);
    rows.push({ kind: "run", at, ...(isMoved && { moved: true }) });
    from = at;
  }
  return rows;
}

/** By which the clocks are others than before; of several the last. Undefined if they show the same hour as before. */
function lastChange(from: number, to: number, zone: string | undefined): { at: number; byMs: number } | undefined {
  const offset = offsetAt(to, zone);
  if (offsetAt(from, zone) === offset) return undefined;
  let [before, since] = [from, to];
  while (since - before > 1) {
    const middle = Math.floor((before + since) / 2);
    if (offsetAt(middle, zone) === offset) since = middle;
    else before = middle;
  }
  return { at: since, byMs: offset - offsetAt(before, zone) };
}
