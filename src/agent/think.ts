/** Models that think aloud between `<think>` and `</think>`: what they think is not part of the answer. */
import { pythonStrip } from "../session/key.js";

/** The answer without finished think-blocks, or null if nothing else was said. */
export function withoutThinking(text: string | null): string | null {
  const answer = pythonStrip((text ?? "").replaceAll(/<think>[\s\S]*?<\/think>/g, ""));
  return answer === "" ? null : answer;
}

/** Passes streamed text on, holding think-blocks back, also when a tag arrives in pieces. */
export function createThinkFilter(pass: (text: string) => void): { push(text: string): void; end(): void } {
  let held = "";
  let thinking = false;
  const drain = (last: boolean): void => {
    for (;;) {
      const tag = thinking ? "</think>" : "<think>";
      const at = held.indexOf(tag);
      if (at < 0) break;
      if (!thinking && at > 0) pass(held.slice(0, at));
      held = held.slice(at + tag.length);
      thinking = !thinking;
    }
    if (thinking) return;
    const keep = last ? 0 : partialTag(held);
    const ready = held.slice(0, held.length - keep);
    if (ready !== "") pass(ready);
    held = held.slice(ready.length);
  };
  return {
    push(text) {
      held += text;
      drain(false);
    },
    end: () => drain(true),
  };
}

/** How many characters at the end could be the beginning of a tag. */
function partialTag(text: string): number {
  for (let length = Math.min(6, text.length); length > 0; length--) {
    if ("<think>".startsWith(text.slice(-length))) return length;
  }
  return 0;
}
