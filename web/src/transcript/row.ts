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

/** Pictures stand in a question by their places: `[image: /home/…/a.png]`. People want to read the rest. */
export function withoutPictures(text: string): { readonly words: string; readonly pictures: readonly string[] } {
  const pictures: string[] = [];
  const words = text.replace(/^\[image: (.+)\]$|^\[image\]$/gm, (_, path: string | undefined) => {
    pictures.push(path?.split(/[\\/]/).at(-1) ?? "picture");
    return "";
  });
  return pictures.length === 0 ? { words: text, pictures } : { words: words.trim(), pictures };
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
export const isSameRow = (one: Row, other: Row): boolean => signOf(one) === signOf(other);

const signOf = ({ role, timestamp, tool_call_id: call, content }: Row): string =>
  JSON.stringify([role, timestamp, call, content]);
