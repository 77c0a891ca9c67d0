/** The life of a message as seven stages, read from its trace. */
import type { LedgerEntry, TraceEvent } from "../../../../src/gateway/ledger.js";

export type StageName = "received" | "stored" | "queued" | "model" | "tools" | "saved" | "sent";
/** `skipped`: it went on without. `open`: it has not come so far yet. */
export type StageState = "done" | "open" | "skipped" | "failed";
export type Stage = { readonly name: StageName; readonly state: StageState; readonly times: number };

const signs: readonly (readonly [StageName, RegExp])[] = [
  ["received", /^received/],
  // It is in the ledger, or nobody would know of it.
  ["stored", /^received/],
  ["queued", /^queued/],
  ["model", /^model/],
  ["tools", /^tool started/],
  ["saved", /^saved/],
  ["sent", /^sent/],
];

/** The stage an event belongs to, if it belongs to one. */
export const stageOf = ({ what }: TraceEvent): StageName | undefined =>
  /^tool (?:finished|interrupted)/.test(what) ? "tools" : signs.findLast(([, sign]) => sign.test(what))?.[0];

export function stagesOf({ outcome }: Pick<LedgerEntry, "outcome">, events: readonly TraceEvent[]): Stage[] {
  const counts = signs.map(([, sign]) => events.filter(({ what }) => sign.test(what)).length);
  const last = counts.findLastIndex((times) => times > 0);
  const hasFailed = outcome === "failed" || outcome === "dead";
  return signs.map(([name], at) => {
    const times = counts[at] ?? 0;
    const state: StageState =
      times > 0
        ? "done"
        : at < last || (outcome !== undefined && !hasFailed)
          ? "skipped"
          : hasFailed && at === last + 1
            ? "failed"
            : "open";
    return { name, state, times };
  });
}

/** What an event is called where people read it. */
export function wordsOf({ what, detail }: TraceEvent): { readonly what: string; readonly detail: string } {
  if (what === "received") return { what: "received, stored", detail };
  return what === "attempt" ? { what: "begun", detail: `attempt ${detail}` } : { what, detail };
}

/** How long after the first event each one came, and how long it took until the next. */
export function spansOf(
  events: readonly TraceEvent[],
): { readonly event: TraceEvent; readonly since: number; readonly share: number; readonly start: number }[] {
  const first = events[0]?.at ?? 0;
  const whole = Math.max(1, (events.at(-1)?.at ?? 0) - first);
  return events.map((event, at) => ({
    event,
    since: event.at - first,
    start: (at === 0 ? 0 : (events[at - 1]?.at ?? first) - first) / whole,
    share: at === 0 ? 0 : (event.at - (events[at - 1]?.at ?? event.at)) / whole,
  }));
}
