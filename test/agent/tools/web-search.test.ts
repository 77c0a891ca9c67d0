/** web_search over each engine, against a local stand-in. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SearchSettings, webSearchTool } from "../../../src/agent/tools/web-search.js";
import { call } from "./bench-of-tools.js";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const search = (settings: SearchSettings, input: object): Promise<string> => call(webSearchTool(settings), input);

describe("a search", () => {
  it("over Brave sends the key and shows the results", async () => {
    const seen: string[] = [];
    const baseUrl = await serve(({ url, headers }, response) => {
      seen.push(`${url} ${String(headers["x-subscription-token"])}`);
      const results = [
        { title: "<strong>One</strong> &amp; only", url: "https://one.example", description: "first\n hit" },
        { title: "Two", url: "https://two.example" },
      ];
      response.end(JSON.stringify({ web: { results } }));
    });
    expect(await search({ apiKey: "key", baseUrl }, { query: "a b&c", count: "2" })).toBe(
      "Results for: a b&c\n\n1. One & only\n   https://one.example\n   first hit\n2. Two\n   https://two.example",
    );
    expect(seen).toEqual(["/res/v1/web/search?q=a+b%26c&count=2 key"]);
  });

  it("over SearXNG asks for JSON and keeps to the count", async () => {
    const baseUrl = await serve(({ url }, response) => {
      const results = Array.from({ length: 20 }, (_, n) => ({
        title: `T${n}`,
        url: `https://${n}.example`,
        content: url,
      }));
      response.end(JSON.stringify({ results }));
    });
    const result = await search({ provider: "searxng", baseUrl: `${baseUrl}/` }, { query: "q", count: 3 });
    expect(result).toContain("/search?q=q&format=json");
    expect(result).toContain("3. T2");
    expect(result).not.toContain("4. ");
  });

  it("over DuckDuckGo needs no key", async () => {
    const baseUrl = await serve((_, response) =>
      response.end(
        '<div class="result"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa&amp;rut=x">' +
          'One <b>hit</b></a><a class="result__snippet" href="x">about <b>it</b></a></div>' +
          '<a class="result__a" href="https://two.example/">Two</a>',
      ),
    );
    expect(await search({ baseUrl }, { query: "q" })).toBe(
      "Results for: q\n\n1. One hit\n   https://one.example/a\n   about it\n2. Two\n   https://two.example/",
    );
  });

  it("without results says so", async () => {
    const baseUrl = await serve((_, response) => response.end("{}"));
    expect(await search({ apiKey: "key", baseUrl }, { query: "q" })).toBe("No results for: q");
  });

  it("names the setting that is missing", async () => {
    expect(await search({ provider: "brave" }, { query: "q" })).toContain("tools.web.search.apiKey");
    expect(await search({ provider: "searxng" }, { query: "q" })).toContain("tools.web.search.baseUrl");
  });

  it("tells what went wrong, and never the key", async () => {
    const refused = await serve((_, response) => void response.writeHead(429, "Too Many Requests").end());
    const broken = await serve((_, response) => response.end("<html>"));
    const moved = await serve((_, response) => void response.writeHead(302, { location: refused }).end());
    for (const [baseUrl, reason] of [
      [refused, "answered 429 Too Many Requests"],
      [broken, "Error executing web_search"],
      [moved, "cannot be reached"],
      ["http://127.0.0.1:1", "cannot be reached"],
    ] as const) {
      const result = await search({ apiKey: "top-secret", baseUrl }, { query: "q" });
      expect(result).toContain(reason);
      expect(result).not.toContain("top-secret");
    }
  });

  it("takes one to ten results, and a query", async () => {
    expect(await search({}, { query: "q", count: 11 })).toContain("Invalid parameters");
    expect(await search({}, { query: "q", count: 0 })).toContain("Invalid parameters");
    expect(await search({}, { query: "" })).toContain("Invalid parameters");
  });

  it("does not wait for ever, and not at all once stopped", async () => {
    const baseUrl = await serve(() => {});
    expect(await search({ apiKey: "k", baseUrl, timeoutMs: 200 }, { query: "q" })).toContain("timeout");
    const stop = new AbortController();
    const running = call(webSearchTool({ apiKey: "k", baseUrl }), { query: "q" }, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  });
});
