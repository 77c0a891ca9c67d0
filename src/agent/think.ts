/** Models that think aloud between `<think>` and `</think>`: what they think is not part of the answer. */
import { pythonStrip } from "../session/key.js";

/** The answer without finished think-blocks, or null if nothing else was said. */
export function withoutThinking(text: string | null): string | null {
  const answer = pythonStrip((text ?? "").replaceAll(/<think>[\s\S]*?<\/think>/g, ""));
  return answer === "" ? null : answer;
}

/** Passes streamed text on, holding think-blocks back, also when a tag arrives in pieces. One that never ends is text. */
export function createThinkFilter(pass: (text: string) => void): { push(text: string): void; end(): void } {
  /** The open think-block so far, in pieces: joining and searching it with every word would take minutes. */
  let thoughts: string[] = [];
  /** What may still turn out to be a tag, or part of one. */
  let held = "";
  const take = (length: number): string => {
    const taken = held.slice(0, length);
    held = held.slice(length);
    return taken;
  };
  const say = (text: string): void => {
    if (text !== "") pass(text);
  };
  const drain = (): void => {
    for (;;) {
      const thinking = thoughts.length > 0;
      const at = held.indexOf(thinking ? closing : opening);
      if (at < 0) break;
      const before = take(at);
      if (!thinking) say(before);
      thoughts = thinking ? [] : [opening];
      take(thinking ? closing.length : opening.length);
    }
    if (thoughts.length === 0) say(take(held.length - partialTag(held)));
    else thoughts.push(take(Math.max(0, held.length - closing.length + 1)));
  };
  return {
    push(text) {
      held += text;
      drain();
    },
    end: () => say(thoughts.join("") + take(held.length)),
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
