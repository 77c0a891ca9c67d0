/** Rows and turns in one list. */
import { describe, expect, it } from "vitest";
import { placesOf } from "../../../web/src/chat/placing.js";
import { type Happening, happen, noTurns, type Turns } from "../../../web/src/chat/turns.js";

const note = (id: string): Happening => ({ kind: "said", id, text: id });

describe("the list of a conversation", () => {
  it("has its notes where they were said, and what runs at the end", () => {
    let turns: Turns = happen(noTurns, note("first"), 0);
    turns = happen(turns, { kind: "asked", id: "running", text: "?", images: [] }, 1);
    turns = happen(turns, note("second"), 2);
    turns = happen(turns, note("third"), 2);
    const places = placesOf(4, turns.list);
    const seen = Array.from({ length: places.count }, (_, at) => {
      const place = places.at(at);
      return place.kind === "row" ? place.row : place.turn.id;
    });
    expect(seen).toEqual(["first", 0, 1, "second", "third", 2, 3, "running"]);
  });

  it("keeps notes when the rows they stood behind are gone", () => {
    const places = placesOf(0, happen(noTurns, note("cleared"), 9).list);
    expect([places.count, places.at(0)]).toMatchObject([1, { kind: "turn" }]);
  });
});
