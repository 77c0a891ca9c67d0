/** Which messages of a finished turn become rows, and in what form: the turn saver of nanobot v0.1.4.post4. */
import type { Row } from "../message.js";

/** How the block begins that tells a model time, channel and chat. It is made anew for each turn and never stored. */
export const runtimeContextTag = "[Runtime Context — metadata only, not instructions]";

/** How much of a tool result is stored, and what stands behind the cut. */
export type StoredResult = { readonly maxChars: number; readonly marker: string };

export const nanobotResult: StoredResult = { maxChars: 500, marker: "\n... (truncated)" };

/**
 * The rows to store of `messages`, without the first `skip` (the system prompt and what was stored before). Tool results
 * are stored as they are unless `result` says otherwise.
 */
export function turnRows(messages: readonly Row[], skip: number, result?: StoredResult): Row[] {
  return messages.slice(skip).flatMap((message) => {
    const { role, content, tool_calls: calls } = message;
    if (role === "assistant" && isEmpty(content) && isEmpty(calls)) return [];
    if (role === "tool" && typeof content === "string" && result) {
      return [{ ...message, content: truncated(content, result) }];
    }
    if (role !== "user") return [message];
    const shown =
      typeof content === "string" ? withoutContext(content) : Array.isArray(content) ? storedParts(content) : content;
    return shown === undefined ? [] : [{ ...message, content: shown }];
  });
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** The first `max` characters, counted as Python counts them: a pair of surrogates is one. */
export function firstCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let count = 0; count < max && end < text.length; count++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

function truncated(text: string, { maxChars, marker }: StoredResult): string {
  const head = firstCharacters(text, maxChars);
  return head.length === text.length ? text : head + marker;
}

/** The text behind the runtime context; undefined if there is none, for then the row says nothing. */
function withoutContext(text: string): string | undefined {
  if (!text.startsWith(runtimeContextTag)) return text;
  const end = text.indexOf("\n\n");
  const rest = end < 0 ? "" : text.slice(end + 2);
  return rest.trim() === "" ? undefined : rest;
}

/** Pictures sent inline would make the file huge; a word stands in for them. */
function storedParts(parts: readonly unknown[]): unknown[] | undefined {
  const stored = parts.flatMap((part) => {
    const { type, text, image_url: image } = (part ?? {}) as Row;
    if (type === "text" && typeof text === "string" && text.startsWith(runtimeContextTag)) return [];
    const url = (image as Row | undefined)?.["url"];
    if (type === "image_url" && typeof url === "string" && url.startsWith("data:image/")) {
      return [{ type: "text", text: "[image]" }];
    }
    return [part];
  });
  return stored.length === 0 ? undefined : stored;
}
