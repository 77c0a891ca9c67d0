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

  it("lets in who asks for the very address the request came to, and for no other", () => {
    const at = (host: string, here: string): number | undefined => refusal({ host }, here)?.code;
    expect(at("192.168.1.5:18790", "192.168.1.5")).toBeUndefined();
    expect(at("192.168.1.5", "::ffff:192.168.1.5")).toBeUndefined();
    expect(at("[fe80::1]:80", "fe80::1")).toBeUndefined();
    expect(at("192.168.1.6", "192.168.1.5")).toBe(421);
    expect(at("", "")).toBe(421);
  });

  it("refuses pictures and scripts that a page of another site wants to have, and follows a link from there", () => {
    const host = "localhost:18790";
    for (const site of ["cross-site", "same-site"]) {
      expect(code({ host, "sec-fetch-site": site, "sec-fetch-mode": "no-cors" })).toBe(403);
      expect(code({ host, "sec-fetch-site": site, "sec-fetch-mode": "navigate" })).toBeUndefined();
    }
    expect(code({ host, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" })).toBeUndefined();
    expect(code({ host, "sec-fetch-site": "none", "sec-fetch-mode": "navigate" })).toBeUndefined();
    const form = {
      host,
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      origin: "https://evil.example.org",
    };
    expect(code(form)).toBe(403);
    const known = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", origin: "https://app.example.org" };
    expect(code(known)).toBeUndefined();
  });

  it("knows what is this machine", () => {
    expect(["127.0.0.1", "127.8.8.8", "::1", "localhost"].every(isLoopback)).toBe(true);
    expect(
      ["0.0.0.0", "::", "10.0.0.5", "128.0.0.1", "localhost.example.org", "127.example.org"].some(isLoopback),
    ).toBe(false);
  });
});
