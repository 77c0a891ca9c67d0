/**
 * What a later nanobot (v0.1.5 and up) leaves in a session's metadata when it dies in the middle of a turn. It would
 * replay these rows behind whatever we append, so they are settled before the next row, the way it does it itself.
 */
import type { Row } from "../message.js";
import { isObject } from "./header.js";
import { pythonJson, type PythonValue } from "./python-json.js";

const compared = ["role", "content", "tool_call_id", "name", "tool_calls", "reasoning_content", "thinking_blocks"];

/** Takes the leftovers out of `metadata` and returns the rows that the interrupted turn still owes. */
export function settleLeftovers(
  metadata: Record<string, PythonValue>,
  tail: (count: number) => readonly Row[],
  now: string,
): Row[] {
  const { runtime_checkpoint: checkpoint, pending_user_turn: pending } = metadata;
  delete metadata["runtime_checkpoint"];
  delete metadata["pending_user_turn"];
  // A checkpoint settles the whole turn, the question too.
  if (isObject(checkpoint)) return missingFromTail(checkpointRows(checkpoint, now), tail);
  if (!pending || tail(1)[0]?.["role"] !== "user") return [];
  return [{ role: "assistant", content: "Error: Task interrupted before a response was generated.", timestamp: now }];
}

export const hasLeftovers = (metadata: Readonly<Record<string, PythonValue>>): boolean =>
  "runtime_checkpoint" in metadata || "pending_user_turn" in metadata;

function checkpointRows(checkpoint: Readonly<Record<string, PythonValue>>, now: string): Row[] {
  const { assistant_message: assistant, completed_tool_results: results, pending_tool_calls: calls } = checkpoint;
  const stamped = (row: Row): Row => ("timestamp" in row ? row : { ...row, timestamp: now });
  return [
    ...(isObject(assistant) ? [stamped(assistant)] : []),
    ...(Array.isArray(results) ? results.filter(isObject).map(stamped) : []),
    ...(Array.isArray(calls) ? calls.filter(isObject).map((call) => interrupted(call, now)) : []),
  ];
}

function interrupted(call: Readonly<Record<string, PythonValue>>, now: string): Row {
  const called = call["function"];
  const name = isObject(called) ? called["name"] : undefined;
  return {
    role: "tool",
    tool_call_id: call["id"] ?? null,
    name: typeof name === "string" && name !== "" ? name : "tool",
    content: "Error: Task interrupted before this tool finished.",
    timestamp: now,
  };
}

/** Drops the longest beginning of `rows` that the session already ends with. */
function missingFromTail(rows: Row[], tail: (count: number) => readonly Row[]): Row[] {
  const print = (row: Row): string => pythonJson(compared.map((field) => row[field]));
  const wanted = rows.map(print);
  for (let overlap = rows.length; overlap > 0; overlap--) {
    const end = tail(overlap).map(print);
    if (end.length === overlap && end.every((text, at) => text === wanted[at])) return rows.slice(overlap);
  }
  return rows;
}
