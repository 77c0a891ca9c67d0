/** Reads a row of a session. Nothing in it can be relied on: it may come from any version of anything. */
import type { Row, ToolCall } from "../../../src/message.js";

/** What was said in a row: its text, and pictures that are still there. */
export function contentOf({ content }: Row): { readonly text: string; readonly images: readonly string[] } {
  if (typeof content === "string") return { text: content, images: [] };
  if (!Array.isArray(content))
    return { text: content === null || content === undefined ? "" : JSON.stringify(content), images: [] };
  const parts = content.map((part: unknown) => (typeof part === "object" && part !== null ? (part as Row) : {}));
  return {
    text: parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n"),
    images: parts.flatMap(({ image_url: image }) => {
      const url = (image as Row | undefined)?.["url"];
      return typeof url === "string" && url.startsWith("data:image/") ? [url] : [];
    }),
  };
}

export const roleOf = ({ role }: Row): string => (typeof role === "string" ? role : "unknown");

export function callsOf({ tool_calls: calls }: Row): readonly ToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown, at) => {
    const { id, function: called } = (call ?? {}) as Partial<ToolCall>;
    const name = called?.name;
    if (typeof name !== "string") return [];
    const words = typeof called?.arguments === "string" ? called.arguments : JSON.stringify(called?.arguments ?? {});
    return [{ id: typeof id === "string" ? id : `call-${at}`, type: "function", function: { name, arguments: words } }];
  });
}

/** The call that a tool's row answers. */
export const callIdOf = ({ tool_call_id: id }: Row): string | undefined => (typeof id === "string" ? id : undefined);

/** When it was said; undefined if it does not say. */
export function timeOf({ timestamp }: Row): number | undefined {
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** One and the same row, as far as one can tell. */
export const isSameRow = (one: Row, other: Row): boolean =>
  one["role"] === other["role"] &&
  one["timestamp"] === other["timestamp"] &&
  one["tool_call_id"] === other["tool_call_id"] &&
  JSON.stringify(one["content"]) === JSON.stringify(other["content"]);
