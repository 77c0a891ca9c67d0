/** Who may speak to the HTTP door at all. */
import { describe, expect, it } from "vitest";
import { createGuard, isLoopback } from "../../src/http/guard.js";

const refusal = createGuard({ host: "10.0.0.5", names: ["bot.example.org"], origins: ["https://app.example.org"] });
const code = (headers: Record<string, string>): number | undefined => refusal(headers)?.code;

describe("the guard", () => {
  it.each(["localhost:18790", "127.0.0.1", "[::1]:80", "LOCALHOST", "10.0.0.5:18790", "bot.example.org"])(
    "lets in who asks for %s",
    (host) => expect(code({ host })).toBeUndefined(),
  );

  it.each(["evil.example.org", "localhost.evil.example.org", "evil.example.org:18790", "", "10.0.0.6"])(
    "refuses who asks for %j: a name that was made to point here is no name of ours",
    (host) => expect(code({ host })).toBe(421),
  );

  it("refuses pages of other sites, and lets in those of its own and those it was told of", () => {
    const host = "localhost:18790";
    expect(code({ host, origin: "http://localhost:18790" })).toBeUndefined();
    expect(code({ host, origin: "https://app.example.org" })).toBeUndefined();
    expect(code({ host, origin: "http://localhost:9999" })).toBe(403);
    expect(code({ host, origin: "https://evil.example.org" })).toBe(403);
    expect(code({ host, origin: "null" })).toBe(403);
  });

  it("knows what is this machine", () => {
    expect(["127.0.0.1", "127.8.8.8", "::1", "localhost"].every(isLoopback)).toBe(true);
    expect(
      ["0.0.0.0", "::", "10.0.0.5", "128.0.0.1", "localhost.example.org", "127.example.org"].some(isLoopback),
    ).toBe(false);
  });
});
