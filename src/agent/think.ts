/** Models that think aloud between `<think>` and `</think>`: what they think is not part of the answer. */
import { pythonStrip } from "../session/key.js";

/** The answer without finished think-blocks, or null if nothing else was said. */
export function withoutThinking(text: string | null): string | null {
  const answer = pythonStrip((text ?? "").replaceAll(/<think>[\s\S]*?<\/think>/g, ""));
  return answer === "" ? null : answer;
}

/** Passes streamed text on, holding think-blocks back, also when a tag arrives in pieces. One that never ends is text. */
export function createThinkFilter(pass: (text: string) => void): { push(text: string): void; end(): void } {
  let held = "";
  let thinking = false;
  /** Before this there is no tag, so that long thoughts are not searched again and again. */
  let searched = 0;
  const release = (to: number): void => {
    if (to > 0) pass(held.slice(0, to));
    held = held.slice(to);
    searched = 0;
  };
  const drain = (): void => {
    for (;;) {
      const at = held.indexOf(thinking ? closing : opening, searched);
      if (at < 0) break;
      if (thinking) held = held.slice(at + closing.length);
      else release(at);
      searched = thinking ? 0 : opening.length;
      thinking = !thinking;
    }
    if (thinking) searched = Math.max(searched, held.length - closing.length + 1);
    else release(held.length - partialTag(held));
  };
  return {
    push(text) {
      held += text;
      drain();
    },
    end: () => release(held.length),
  };
}

const opening = "<think>";
const closing = "</think>";

/** How many characters at the end could be the beginning of a block. */
function partialTag(text: string): number {
  for (let length = Math.min(opening.length - 1, text.length); length > 0; length--) {
    if (opening.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
