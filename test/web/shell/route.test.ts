/** Addresses within the page. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressOf, readRoute } from "../../../web/src/shell/route.js";

describe("an address", () => {
  it("leads back to where it was made, whatever a conversation is called", () => {
    const named = fc.string({ minLength: 1, unit: "binary" }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(named, named, (subject, raw) => {
        const route = { view: "conversations", subject, query: { raw } } as const;
        expect(readRoute(addressOf(route))).toEqual(route);
      }),
    );
  });

  it("that nobody knows leads to the chat", () => {
    for (const hash of ["", "#", "#/", "#/nowhere/at-all"])
      expect(readRoute(hash)).toEqual({ view: "chat", query: {} });
    expect(readRoute("#/messages/%E0%A4%A")).toEqual({ view: "messages", subject: "%E0%A4%A", query: {} });
  });
});
