/**
 * From stored rows to messages that every model API accepts: known roles and fields only, each tool call answered right
 * behind it and nothing answered that was not asked, ids unique, no message empty. Whatever a row holds, this does not
 * throw.
 */
import { createHash } from "node:crypto";
import type { ModelMessage, Part, Row, ToolCall } from "../message.js";

/** What stands for nothing: APIs refuse empty texts. */
const blank = "(empty)";

/** The rows as messages, in order. Rows that say nothing to a model are left out. */
export function legalMessages(rows: readonly Row[]): ModelMessage[] {
  const messages: ModelMessage[] = [];
  const usedIds = new Set<string>();
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? {};
    if (row["role"] === "user") {
      messages.push({ role: "user", content: userContent(row["content"]) });
    } else if (row["role"] === "assistant") {
      const results = followingResults(rows, at + 1);
      messages.push(...assistantMessages(row, results, usedIds));
      at += results.length;
    }
    // A tool row met here answers nothing that is still there; a stored system row is replaced by the current one.
  }
  return messages;
}

/** Neighbours of one role become one message: some models insist on user and assistant taking turns. */
export function takingTurns(messages: readonly ModelMessage[]): ModelMessage[] {
  const merged: ModelMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === "user" && message.role === "user") {
      merged[merged.length - 1] = { role: "user", content: joinedContent(last.content, message.content) };
    } else if (last?.role === "assistant" && message.role === "assistant" && last.tool_calls === undefined) {
      merged[merged.length - 1] = { ...message, content: joinedText(last.content, message.content) };
    } else {
      merged.push(message);
    }
  }
  return merged;
}

const joinedText = (one: string | null, other: string | null): string | null =>
  one !== null && other !== null ? `${one}\n\n${other}` : (one ?? other);

function joinedContent(one: string | readonly Part[], other: string | readonly Part[]): string | readonly Part[] {
  if (typeof one === "string" && typeof other === "string") return `${one}\n\n${other}`;
  const parts = (content: string | readonly Part[]): readonly Part[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return [...parts(one), ...parts(other)];
}

function followingResults(rows: readonly Row[], from: number): readonly Row[] {
  let end = from;
  while (rows[end]?.["role"] === "tool") end++;
  return rows.slice(from, end);
}

/** The assistant's words with those of its calls that were answered, and the answers in the order of the calls. */
function assistantMessages(row: Row, results: readonly Row[], usedIds: Set<string>): ModelMessage[] {
  const text = plainText(row["content"]);
  const content = text.trim() === "" ? null : text;
  const answered = validCalls(row["tool_calls"]).flatMap((call) => {
    const result = results.find((candidate) => candidate["tool_call_id"] === call.id);
    return result ? [{ call: { ...call, id: freshId(call.id, usedIds) }, result }] : [];
  });
  if (answered.length === 0) return content === null ? [] : [{ role: "assistant", content }];
  return [
    { role: "assistant", content, tool_calls: answered.map(({ call }) => call) },
    ...answered.map(({ call, result }): ModelMessage => ({
      role: "tool",
      tool_call_id: call.id,
      name: call.function.name,
      content: orBlank(plainText(result["content"])),
    })),
  ];
}

/** The calls that are whole, each id once. */
function validCalls(calls: unknown): ToolCall[] {
  const found = new Map<string, ToolCall>();
  for (const call of Array.isArray(calls) ? (calls as readonly (Row | null)[]) : []) {
    const called = call?.["function"] as Row | null | undefined;
    const id = call?.["id"];
    const name = called?.["name"];
    if (typeof id !== "string" || id === "" || typeof name !== "string" || name === "" || found.has(id)) continue;
    const fn = { name: safeName(name), arguments: argumentsText(called?.["arguments"]) };
    found.set(id, { id, type: "function", function: fn });
  }
  return [...found.values()];
}

const safeName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);

/** APIs want a JSON object here, also where the model once wrote something else. */
function argumentsText(value: unknown): string {
  if (typeof value !== "string") return isRecord(value) ? jsonText(value) : "{}";
  try {
    if (isRecord(JSON.parse(value))) return value.toWellFormed();
  } catch {
    // Shown to the model as it was, inside an object.
  }
  return value.trim() === "" ? "{}" : jsonText({ invalid: value });
}

/** Short, plain and not used before in this request: the strictest API decides. */
function freshId(id: string, used: Set<string>): string {
  const plain = /^[a-zA-Z0-9_-]{1,40}$/.test(id)
    ? id
    : createHash("sha256").update(id, "utf8").digest("hex").slice(0, 24);
  let fresh = plain;
  for (let count = 2; used.has(fresh); count++) fresh = `${plain.slice(0, 32)}_${count}`;
  used.add(fresh);
  return fresh;
}

/** A user's words and pictures. Without pictures a plain text, which every API takes. */
function userContent(content: unknown): string | readonly Part[] {
  if (!Array.isArray(content)) return orBlank(plainText(content));
  const parts = content.flatMap((part): Part[] => {
    const { type, text, image_url: image } = (part ?? {}) as Row;
    const url = (image as Row | null | undefined)?.["url"];
    if (type === "image_url" && typeof url === "string" && url !== "") return [{ type, image_url: { url } }];
    const words = type === "text" ? plainText(text) : "";
    return words.trim() === "" ? [] : [{ type: "text", text: words }];
  });
  return parts.some(({ type }) => type === "image_url") ? parts : orBlank(plainText(content));
}

const orBlank = (text: string): string => (text.trim() === "" ? blank : text);

/** Any content as text: of a list of parts the text ones, of anything else its JSON. */
function plainText(content: unknown): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content.toWellFormed();
  if (!Array.isArray(content)) return jsonText(content).toWellFormed();
  const texts = content.map((part: unknown) => (isRecord(part) ? part["text"] : part));
  return texts
    .filter((text) => typeof text === "string")
    .join("\n")
    .toWellFormed();
}

const isRecord = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON of anything, whole numbers beyond 2^53 included. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? Number(part) : part)) ?? "";
