/** `nanogate trace`: the life of one message. */
import type { LedgerEntry, TraceEvent } from "../gateway/ledger.js";
import { localIsoTime } from "../util/clock.js";
import { openLedger } from "./open-ledger.js";
import { since } from "./spans.js";
import { spelledOut } from "./printable.js";
import { NotFound, styled, type Terminal } from "./terminal.js";

export type TraceOptions = { readonly home?: string; readonly json?: boolean };

export async function showTrace(id: string, options: TraceOptions, terminal: Terminal): Promise<void> {
  const ledger = await openLedger(options, "look");
  const found = await ledger?.reports.trace(id);
  await ledger?.close();
  if (!found) {
    throw new NotFound(
      `The ledger knows no message ${JSON.stringify(id)}.`,
      "`nanogate ledger --all` shows the newest; finished ones are kept for 30 days.",
    );
  }
  if (options.json) return terminal.out(JSON.stringify(found));
  terminal.out(timeline(terminal, found.entry, found.events));
}

/** What some of the ledger's words mean to people. */
const names: Readonly<Record<string, string>> = { received: "received, stored", attempt: "begun" };

function timeline(terminal: Terminal, entry: LedgerEntry, events: readonly TraceEvent[]): string {
  const { trace, platformId, channel, chat, text, receivedAt, outcome, reason } = entry;
  const steps = events.map(({ at, what, detail }) => ({
    time: since(at - (events[0]?.at ?? receivedAt)),
    what: names[what] ?? what,
    detail: what === "attempt" ? `attempt ${detail}` : spelledOut(detail),
  }));
  const wide = Math.max(0, ...steps.map(({ time }) => time.length));
  const wideWords = Math.max(0, ...steps.map(({ what }) => what.length));
  const lines = steps.map(({ time, what, detail }) =>
    `  ${styled(terminal, "dim", time.padStart(wide))}  ${what.padEnd(wideWords)}  ${detail}`.trimEnd(),
  );
  return [
    `${styled(terminal, "bold", trace)}  ${spelledOut(`${channel}:${chat}`)}  ${spelledOut(platformId)}`,
    `  ${styled(
      terminal,
      "dim",
      localIsoTime(receivedAt * 1000)
        .slice(0, 19)
        .replace("T", " "),
    )}  ${excerpt(text)}`,
    "",
    ...lines,
    "",
    `  ${styled(terminal, "bold", outcome ?? "open")}${reason === undefined ? "" : `: ${spelledOut(reason)}`}`,
  ].join("\n");
}

/** Enough to recognise a message by. */
export const excerpt = (text: string): string => {
  const line = spelledOut(text.slice(0, 200).replaceAll(/\s+/g, " ").trim());
  return line.length > 60 ? `${line.slice(0, 59).toWellFormed()}…` : line;
};
