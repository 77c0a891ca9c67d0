/**
 * How long a request is, roughly: three bytes a token. That is about right for Chinese, code and JSON and a third too
 * much for English, costs nothing, and errs on the side of fitting; the model's own count corrects what is left.
 */
import type { ModelMessage } from "../message.js";

const bytesPerToken = 3;
/** What an API adds around each message. */
const perMessage = 4;
/** Pictures are billed by size; this is a large one. */
const perImage = 1500;

export const tokensOfText = (text: string): number => Math.ceil(Buffer.byteLength(text, "utf8") / bytesPerToken);

export function tokensOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + perMessage + contentTokens(message) + callTokens(message), 0);
}

function contentTokens({ content }: ModelMessage): number {
  if (content === null) return 0;
  if (typeof content === "string") return tokensOfText(content);
  return content.reduce((sum, part) => sum + (part.type === "text" ? tokensOfText(part.text) : perImage), 0);
}

function callTokens(message: ModelMessage): number {
  if (message.role === "tool") return tokensOfText(message.tool_call_id);
  if (message.role !== "assistant") return 0;
  const calls = message.tool_calls ?? [];
  return calls.reduce((sum, { id, function: { name, arguments: args } }) => sum + tokensOfText(id + name + args), 0);
}

const cutMark = "\n[… cut …]\n";

/** The beginning and the end of a text that is longer than `tokens`; never half a character. */
export function cutText(text: string, tokens: number): string {
  if (tokensOfText(text) <= tokens) return text;
  const bytes = tokens * bytesPerToken;
  const room = bytes - Buffer.byteLength(cutMark, "utf8");
  if (room < 2 * bytesPerToken) return firstBytes(text, Math.max(bytes, bytesPerToken + 1)).trim() || "…";
  const head = firstBytes(text, Math.ceil(room * 0.7));
  const tail = lastBytes(text, Math.floor(room * 0.3));
  return `${head}${cutMark}${tail}`;
}

/** As much of the beginning as fits into so many bytes. */
function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

function lastBytes(text: string, bytes: number): string {
  let from = text.length;
  for (let used = 0; from > 0;) {
    const pair = /[\udc00-\udfff]/.test(text[from - 1] ?? "") ? 2 : 1;
    const size = Buffer.byteLength(text.slice(from - pair, from), "utf8");
    if (used + size > bytes) break;
    used += size;
    from -= pair;
  }
  return text.slice(from);
}
