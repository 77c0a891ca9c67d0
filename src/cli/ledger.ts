/** `nanogate ledger`: messages that are open, failed or put aside, and what the owner can do about them. */
import { localIsoTime } from "../util/clock.js";
import { openLedger } from "./open-ledger.js";
import { spelledOut } from "./printable.js";
import { NotFound, positive, table, type Terminal } from "./terminal.js";
import { excerpt } from "./trace.js";

export type LedgerOptions = {
  readonly home?: string;
  readonly all?: boolean;
  readonly limit: string;
  readonly json?: boolean;
};

export async function listLedger(options: LedgerOptions, terminal: Terminal): Promise<void> {
  const limit = positive(options.limit, "--limit");
  const ledger = await openLedger(options, "look");
  const entries = (await ledger?.reports.entries(options.all ? "all" : "problems", limit)) ?? [];
  await ledger?.close();
  if (options.json) return terminal.out(JSON.stringify(entries));
  if (entries.length === 0) {
    return terminal.out(options.all ? "No message yet." : "Nothing is open, failed or put aside.");
  }
  const rows = entries.map(({ trace, receivedAt, channel, chat, outcome, attempts, reason, text }) => [
    trace,
    localIsoTime(receivedAt * 1000)
      .slice(0, 19)
      .replace("T", " "),
    spelledOut(`${channel}:${chat}`),
    outcome ?? "open",
    String(attempts),
    [excerpt(text), reason === undefined ? "" : `(${excerpt(reason)})`].filter(Boolean).join("  "),
  ]);
  terminal.out(table(terminal, ["ID", "RECEIVED", "CHAT", "OUTCOME", "TRIES", "MESSAGE"], rows));
}

const words = {
  retry: { done: "will be tried again", not: "is neither failed nor put aside, so there is nothing to try again" },
  discard: { done: "is discarded", not: "is finished already, so there is nothing to discard" },
};

export async function changeLedger(
  change: "retry" | "discard",
  id: string,
  options: { readonly home?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<void> {
  const ledger = await openLedger(options, "change");
  const known = await ledger?.reports.trace(id);
  // Also by an id that people shorten: what was found is what is changed.
  const changed = known !== undefined && (await ledger?.reports[change](known.entry.trace)) === true;
  await ledger?.close();
  if (!known) throw new NotFound(`The ledger knows no message ${JSON.stringify(id)}.`, "`nanogate ledger` lists them.");
  const { trace } = known.entry;
  if (!changed) {
    throw new NotFound(`Message ${trace} ${words[change].not}.`, `\`nanogate trace ${trace}\` shows its life.`);
  }
  if (options.json) return terminal.out(JSON.stringify({ trace, [change]: true }));
  const when = change === "retry" ? " within seconds if the gateway runs, else at its next start" : "";
  terminal.out(`Message ${trace} ${words[change].done}${when}.`);
}
