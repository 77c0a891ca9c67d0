/** Stored rows and turns in one list: which of them stands at a place. Costs nothing per row. */
import { isOver, type Turn } from "./turns.js";

export type Place = { readonly kind: "row"; readonly row: number } | { readonly kind: "turn"; readonly turn: Turn };

export type Places = { readonly count: number; at(place: number): Place };

export function placesOf(total: number, turns: readonly Turn[]): Places {
  // What is over stands where it ended; what runs stands at the end.
  const over = turns.filter(isOver).map((turn) => ({ turn, at: Math.min(turn.at, total) }));
  const running = turns.filter((turn) => !isOver(turn)).map((turn) => ({ turn, at: total }));
  const extras = [...over, ...running].sort((one, other) => one.at - other.at);
  return {
    count: total + extras.length,
    at(place) {
      let before = 0;
      for (const { turn, at } of extras) {
        if (place < at + before) break;
        if (place === at + before) return { kind: "turn", turn };
        before++;
      }
      return { kind: "row", row: place - before };
    },
  };
}
