/** What became of a message, for clients that know one question and one answer. */
import { tooManyWaiting } from "../gateway/gateway.js";
import type { Usage } from "../providers/provider.js";
import type { Told } from "./asking.js";

export type Answer =
  | { readonly kind: "answered"; readonly text: string; readonly usage: Usage }
  /** Nothing of it is stored in the conversation. `words` are for people and tell nothing of the inside. */
  | { readonly kind: "failed" | "busy" | "postponed"; readonly words: string };

const unknown = "It could not be answered.";
const nothing: Usage = { input: 0, output: 0, cached: 0 };

export function createAnswer() {
  const said: string[] = [];
  let answer: Answer = { kind: "failed", words: unknown };
  return {
    hear(told: Told): void {
      if (told.kind === "said") said.push(told.text);
      if (told.kind === "postponed") {
        answer = { kind: "postponed", words: "The gateway is about to end. It answers when it runs again." };
      }
      if (told.kind !== "finished") return;
      const { outcome, usage = nothing } = told.turn;
      // Undefined: a tool has said all there was to say.
      const text = told.reply ?? said.join("\n\n");
      if (outcome.kind === "answered" || outcome.kind === "silent") answer = { kind: "answered", text, usage };
      else answer = { kind: outcome.reason === tooManyWaiting ? "busy" : "failed", words: text || unknown };
    },
    get result(): Answer {
      return answer;
    },
  };
}

/**
 * The pieces of an answer for a client that can only add to what it has: what a model says before it uses tools is
 * followed by a blank line, and an answer that was broken off and begun again goes on where it was, if it says the same.
 */
export function createTextFlow(emit: (text: string) => void) {
  /** What was told since the last blank line, and, after a break, how much of it has been said again. */
  let told = "";
  let repeated: string | undefined;

  const add = (text: string): void => {
    if (text === "") return;
    told += text;
    emit(text);
  };
  const gap = (): void => {
    if (told === "") return;
    told = "";
    emit("\n\n");
  };
  const piece = (text: string): void => {
    if (repeated === undefined) return add(text);
    repeated += text;
    if (told.startsWith(repeated)) return;
    const again = repeated;
    repeated = undefined;
    if (again.startsWith(told)) return add(again.slice(told.length));
    gap();
    add(again);
  };

  return {
    hear(event: Told): void {
      if (event.kind === "text") piece(event.text);
      else if (event.kind === "restart") repeated = "";
      else if (event.kind === "tool-call" || event.kind === "progress") {
        gap();
        repeated = undefined;
      }
    },
    /** Whatever of the answer has not been told yet. */
    end(answer: string): void {
      repeated = undefined;
      const rest = answer.trim();
      if (rest === told.trim()) return;
      if (told !== "" && rest.startsWith(told.trimStart())) return add(rest.slice(told.trimStart().length));
      gap();
      add(answer);
    },
  };
}
