/** Keeps the beginning and the end of a stream of text, however long it gets. */
import { StringDecoder } from "node:string_decoder";

export type CappedText = {
  push(bytes: Buffer): void;
  end(): void;
  readonly head: string;
  /** Empty as long as everything fits into `head`. */
  readonly tail: string;
  /** Characters seen. */
  readonly length: number;
};

/** Holds on to `keep` characters at either end; what lies between is forgotten at once. */
export function createCappedText(keep: number): CappedText {
  const decoder = new StringDecoder("utf8");
  let head = "";
  let tail = "";
  let length = 0;
  const take = (text: string): void => {
    length += text.length;
    const room = 2 * keep - head.length;
    head += text.slice(0, room);
    tail += text.slice(room);
    if (tail.length > 4 * keep) tail = tail.slice(-keep);
  };
  return {
    push: (bytes) => take(decoder.write(bytes)),
    end: () => take(decoder.end()),
    get head() {
      return head;
    },
    get tail() {
      return tail;
    },
    get length() {
      return length;
    },
  };
}

/** One text after the other, cut in the middle when they are longer than `2 * keep` together. */
export function joinCapped(parts: readonly (string | CappedText)[], keep: number): string {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const headOf = (part: string | CappedText): string => (typeof part === "string" ? part : part.head);
  const allOf = (part: string | CappedText): string => (typeof part === "string" ? part : part.head + part.tail);
  if (length <= 2 * keep) return parts.map(allOf).join("");
  // A part is whole as long as its tail is empty, so the first `keep` characters are right even where they span parts.
  const start = parts.map(headOf).join("").slice(0, keep).toWellFormed();
  const end = parts.map(allOf).join("").slice(-keep).toWellFormed();
  return `${start}\n\n... (${(length - 2 * keep).toLocaleString("en-US")} chars truncated) ...\n\n${end}`;
}
