/** Events out of a stream that is cut anywhere. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseReader, heardFrom } from "../../../web/src/api/sse.js";

const event = fc.record({ kind: fc.constant("text"), text: fc.string({ unit: "binary" }) });
const newline = fc.constantFrom("\n", "\r\n");

describe("a stream of events", () => {
  it("is understood wherever it is cut, also in the middle of a character", async () => {
    const cuts = fc.array(fc.nat(4000), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(event), newline, cuts, async (events, end, places) => {
        const text = events.map((one) => `: still here${end}${end}data: ${JSON.stringify(one)}${end}${end}`).join("");
        const bytes = new TextEncoder().encode(text);
        const sorted = [0, ...places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
        const stream = new ReadableStream<Uint8Array>({
          start(control) {
            sorted.slice(1).forEach((to, at) => control.enqueue(bytes.slice(sorted[at], to)));
            control.close();
          },
        });
        const heard: unknown[] = [];
        let breaths = 0;
        for await (const one of heardFrom(stream)) {
          if (one.kind === "event") heard.push(one.event);
          else breaths++;
        }
        expect(heard).toEqual(JSON.parse(JSON.stringify(events)));
        expect(breaths).toBe(events.length);
      }),
    );
  });

  it("keeps an unfinished event to itself", () => {
    const read = createSseReader();
    expect(read('data: {"a":1}\n')).toEqual([]);
    expect(read("\n")).toEqual([{ kind: "event", event: { a: 1 } }]);
  });

  it("is hung up on by whoever has heard enough", async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      start: (control) => control.enqueue(new TextEncoder().encode("data: 1\n\ndata: 2\n\n")),
      cancel: () => void (isCancelled = true),
    });
    for await (const one of heardFrom(stream)) {
      expect(one).toEqual({ kind: "event", event: 1 });
      break;
    }
    expect(isCancelled).toBe(true);
  });
});
