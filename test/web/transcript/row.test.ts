/** Rows of any version of anything can be read. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  callIdOf,
  callsOf,
  contentOf,
  isSameRow,
  roleOf,
  timeOf,
  withoutPictures,
} from "../../../web/src/transcript/row.js";

describe("a row", () => {
  it("is readable, whatever it holds", () => {
    const fields = ["role", "content", "tool_calls", "tool_call_id", "timestamp"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()), (row) => {
        const { text, images } = contentOf(row);
        expect([typeof text, typeof roleOf(row), Array.isArray(images)]).toEqual(["string", "string", true]);
        for (const call of callsOf(row)) expect(typeof call.function.arguments).toBe("string");
        expect([callIdOf(row), timeOf(row)]).toHaveLength(2);
        expect(isSameRow(row, structuredClone(row))).toBe(true);
      }),
    );
  });

  it("says its text and shows its pictures", () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
      { type: "image_url", image_url: { url: "https://elsewhere.example/a.png" } },
    ];
    expect(contentOf({ role: "user", content })).toEqual({ text: "look", images: ["data:image/png;base64,AA"] });
  });

  it("names its pictures apart from its words", () => {
    expect(withoutPictures("look\n[image: /home/ann/media/a-1.png]")).toEqual({ words: "look", pictures: ["a-1.png"] });
    expect(withoutPictures("[image]")).toEqual({ words: "", pictures: ["picture"] });
    expect(withoutPictures(" as it is ")).toEqual({ words: " as it is ", pictures: [] });
  });
});
