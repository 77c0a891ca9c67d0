/**
 * What an old tool result looks like to the model: a stub that says which tool, how it went, how many results, which
 * files. It is made from the whole result when the tool returns, shown only from the next turn on, and never made twice.
 */
import type { Row } from "../message.js";
import { pythonJson } from "../session/python-json.js";
import { firstCharacters } from "../session/turn-rows.js";

/**
 * `store`: tool rows are stored as stubs. `view`: they are stored as the model saw them, and shown as stubs once their
 * turn is over. `off`: they are shown as they are.
 */
export type ToolCompaction = "store" | "view" | "off";

const summaryChars = 200;
/** The model needs an error whole to learn from it, within reason. */
const errorChars = 1000;

/** The stub of a result, as JSON text. Any text will do; nothing in it can make this throw. */
export function resultStub(tool: string, result: string): string {
  const value = parsed(result);
  if (value === undefined) {
    return result.startsWith("Error")
      ? pythonJson({ tool, status: "error", error: firstCharacters(result, errorChars) })
      : pythonJson({ tool, status: "success", summary: firstCharacters(result, summaryChars) });
  }
  const results = Array.isArray(value) ? value : listIn(value, "results");
  const error = failureOf(value, result);
  const files = [
    textIn(value, "path"),
    ...(results ?? []).map((item) => textIn(item, "source") ?? textIn(item, "path")),
  ];
  const named = [...new Set(files.filter((file) => file !== undefined))];
  const count = results && `${results.length} ${results.length === 1 ? "result" : "results"}`;
  const summary = count ?? (error === undefined ? summaryOf(value, result) : undefined);
  return pythonJson({
    tool,
    status: error === undefined ? "success" : "error",
    ...(summary !== undefined && { summary }),
    ...(named.length > 0 && { files: named }),
    ...(error !== undefined && { error }),
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Row)[name] : undefined;

function textIn(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === "string" ? found : undefined;
}

function listIn(value: unknown, name: string): readonly unknown[] | undefined {
  const found = field(value, name);
  return Array.isArray(found) ? found : undefined;
}

/** What a failed result says of its failure; undefined if it did not fail. */
function failureOf(value: unknown, result: string): string | undefined {
  const error = field(value, "error");
  const hasError = error !== undefined && error !== null && error !== false && error !== "";
  if (field(value, "success") !== false && !hasError) return undefined;
  const words = typeof error === "string" && error !== "" ? error : textIn(value, "message");
  return firstCharacters(words ?? result, errorChars);
}

const summaryOf = (value: unknown, result: string): string =>
  firstCharacters(textIn(value, "message") ?? result, summaryChars);

/** Where a row keeps the stub of a result that was too long to store whole. */
const stubField = "_stub";

/** A finished call as a row, and how it is to be stored. */
export function toolRow(
  call: { readonly id: string; readonly name: string },
  result: string,
  shown: string,
  compaction: ToolCompaction,
): { readonly now: Row; readonly stored: Row } {
  const row = (content: string): Row => ({ role: "tool", tool_call_id: call.id, name: call.name, content });
  const now = row(shown);
  if (compaction === "store") return { now, stored: { ...row(resultStub(call.name, result)), _compacted: true } };
  const cut = compaction === "view" && shown !== result;
  return { now, stored: cut ? { ...now, [stubField]: resultStub(call.name, result) } : now };
}

/** Earlier turns as the model is shown them. */
export function compactedView(rows: readonly Row[], compaction: ToolCompaction): readonly Row[] {
  if (compaction === "off") return rows;
  /** Ids come again in later turns: the newest call of an id is the one that is answered. */
  const names = new Map<unknown, string>();
  return rows.map((row) => {
    for (const { id, name } of callsIn(row)) names.set(id, name);
    const { role, content, name, _compacted: done } = row;
    if (role !== "tool" || typeof content !== "string" || done === true) return row;
    const kept = row[stubField];
    const called = names.get(row["tool_call_id"]) ?? (typeof name === "string" ? name : "tool");
    const stub = typeof kept === "string" ? kept : resultStub(called, content);
    return stub.length < content.length ? { ...row, content: stub } : row;
  });
}

function callsIn(row: Row): { id: unknown; name: string }[] {
  const calls = row["tool_calls"];
  return (Array.isArray(calls) ? calls : []).flatMap((call: unknown) => {
    const name = textIn(field(call, "function"), "name");
    return name === undefined ? [] : [{ id: field(call, "id"), name }];
  });
}
