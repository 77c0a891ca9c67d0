/** What a model is shown of a session: the view of nanobot v0.1.4.post4, literally. */
import type { Row, ViewRow } from "../message.js";

/** nanobot's default. */
export const defaultHistoryRows = 500;

/** The first row that `history(max)` may show. Python's `rows[cursor:][-max:]`: 0 means all, a negative max skips rows. */
export function historyStart(length: number, cursor: number, max: number): number {
  const open = length - cursor;
  if (max > 0) return cursor + Math.max(0, open - max);
  return Math.min(cursor - Math.trunc(max), length);
}

/** Starts at the first user row, so that no answer stands without its question; without any user row all are shown. */
export function historyView(rows: readonly Row[]): ViewRow[] {
  const firstUser = rows.findIndex((row) => row["role"] === "user");
  return rows.slice(Math.max(0, firstUser)).flatMap((row) => viewOf(row) ?? []);
}

/** Only these fields ever leave. A row without a role means nothing to a model (nanobot fails on it). */
function viewOf(row: Row): ViewRow | undefined {
  const { role } = row;
  if (typeof role !== "string") return undefined;
  return {
    role,
    content: "content" in row ? row["content"] : "",
    ...("tool_calls" in row && { tool_calls: row["tool_calls"] }),
    ...("tool_call_id" in row && { tool_call_id: row["tool_call_id"] }),
    ...("name" in row && { name: row["name"] }),
  };
}
