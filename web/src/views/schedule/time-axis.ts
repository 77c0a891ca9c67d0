/** Round times on a line of time. */
export type Span = "hours" | "day" | "week";

const hour = 3_600_000;
export const spans: Readonly<Record<Span, number>> = { hours: 6 * hour, day: 24 * hour, week: 168 * hour };

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });

/** Whole hours, every sixth hour, or midnights, by the local clock. */
export function ticksOf(from: number, span: Span): { readonly at: number; readonly label: string }[] {
  const first = new Date(from);
  first.setMinutes(0, 0, 0);
  if (span === "week") first.setHours(0);
  const step = span === "hours" ? 1 : span === "day" ? 4 : 24;
  const ticks: { at: number; label: string }[] = [];
  for (const time = first; time.getTime() <= from + spans[span]; time.setHours(time.getHours() + step)) {
    const at = time.getTime();
    if (at < from || at > from + spans[span] * 0.97) continue;
    ticks.push({ at, label: (span === "week" ? weekday : clock).format(time) });
  }
  return ticks;
}
