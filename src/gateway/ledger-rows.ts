/** What lies in the ledger's tables, as the rest of the program knows it, and what a trace says of it. */
import { isInterrupted } from "../agent/loop.js";
import { type Inbound, type Outbound, type SessionKey, shownText, type ToolCall } from "../message.js";
import { parsePythonJson, pythonJson } from "../session/python-json.js";
import type { FinishedTurn, Item, LedgerEntry, Outcome, Part, PartChange, Step } from "./ledger.js";
import type { Row } from "./ledger-schema.js";

/** SQLite cuts texts at a NUL; in JSON it is escaped, elsewhere it has no business. */
export const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed();
export const storable = (value: unknown): string => pythonJson(value, { ascii: true });
export const read = <T>(text: string | number | null | undefined): T => parsePythonJson(String(text)) as T;

export const itemOf = (row: Row): Item => ({
  id: Number(row["id"]),
  trace: String(row["trace"]),
  session: read<SessionKey>(row["session"]),
  message: read<Inbound>(row["message"]),
  receivedAt: Number(row["received_at"]),
  attempts: Number(row["attempts"]),
});

export const partOf = (row: Row): Part => ({
  id: Number(row["id"]),
  answers:
    row["trace"] === null || row["trace"] === undefined
      ? undefined
      : { item: Number(row["item"]), trace: String(row["trace"]), number: Number(row["number"]) },
  message: read<Outbound>(row["message"]),
  attempts: Number(row["attempts"]),
  createdAt: Number(row["created_at"]),
  nextAt: Number(row["next_at"]),
  waitMs: Number(row["wait_ms"]),
  triedMs: Number(row["tried_ms"]),
  // Found in the state `sending`, the process died during the request.
  mayRepeat: row["may_repeat"] === 1 || row["state"] === "sending",
});

export const entryOf = (row: Row): LedgerEntry => ({
  trace: String(row["trace"]),
  platformId: String(row["platform_id"]),
  channel: String(row["channel"]),
  chat: String(row["chat"]),
  text: shownText(read<Inbound>(row["message"])),
  receivedAt: Number(row["received_at"]),
  attempts: Number(row["attempts"]),
  outcome: row["outcome"] === null ? undefined : (String(row["outcome"]) as Outcome["kind"]),
  reason: row["reason"] === null ? undefined : String(row["reason"]),
});

export const partEvents = { sending: "sending", sent: "sent", later: "not sent yet", never: "not sent" } as const;

export function changeDetail(number: number, change: PartChange): string {
  if (change.kind === "sending") return `part ${number}`;
  return `part ${number}${change.kind === "sent" ? ` as ${change.receipt}` : `: ${change.reason}`}`;
}

export function stepEvent(step: Step): [what: string, detail: string] {
  if (step.kind === "shown") return ["shown", `the beginning of the answer, as ${step.receipt}`];
  if (step.kind === "asked") return ["files fetched", `${step.media.length} saved`];
  if (step.kind === "started") return ["tool started", step.name ?? step.call];
  const { role, name, tool_calls: calls } = step.now;
  if (role === "tool") {
    return [isInterrupted(step.now) ? "tool interrupted" : "tool finished", typeof name === "string" ? name : ""];
  }
  const names = Array.isArray(calls) ? calls.map((call: ToolCall) => call.function?.name) : [];
  return ["model answered", names.length > 0 ? `calls ${names.join(", ")}` : ""];
}

export function turnDetail({ outcome, messages, usage }: FinishedTurn): string {
  const tokens = usage ? `${usage.input} tokens in, ${usage.output} out` : "";
  return [outcome.kind, messages.length > 0 ? `${messages.length} to send` : "", tokens].filter(Boolean).join(", ");
}
