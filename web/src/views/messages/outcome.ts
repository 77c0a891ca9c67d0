/** How a message ended, in a word and a colour. */
import type { Outcome } from "../../../../src/http/api.js";
import type { Tone } from "../../ui/parts.js";

export const outcomeWord = (outcome: Outcome["kind"] | undefined): string =>
  outcome === undefined ? "open" : outcome === "dead" ? "put aside" : outcome;

export const outcomeTone = (outcome: Outcome["kind"] | undefined): Tone =>
  outcome === undefined
    ? "accent"
    : outcome === "answered"
      ? "good"
      : outcome === "silent"
        ? "calm"
        : outcome === "failed"
          ? "warn"
          : "bad";
