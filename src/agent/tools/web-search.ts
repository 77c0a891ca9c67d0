/** The tool that searches the web, over the engine the owner has chosen. */
import * as z from "zod/mini";
import { reasonOf } from "../../util/errors.js";
import { decodeEntities } from "./html-text.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

export type SearchResult = { readonly title: string; readonly url: string; readonly description: string };

/** A search engine. Throws when it does not answer; no result is an empty list. */
export type SearchEngine = (query: string, count: number, signal: AbortSignal) => Promise<readonly SearchResult[]>;

export type SearchSettings = {
  /** Absent: Brave if there is a key, else DuckDuckGo. */
  readonly provider?: "brave" | "searxng" | "duckduckgo";
  readonly apiKey?: string;
  readonly baseUrl?: string;
  readonly maxResults?: number;
  readonly timeoutMs?: number;
};

export function webSearchTool(settings: SearchSettings): Tool {
  const { maxResults = 5, timeoutMs = 10_000 } = settings;
  return defineTool({
    name: "web_search",
    description: "Search the web. Returns titles, URLs, and snippets.",
    input: z.object({
      query: z.string().check(z.minLength(1), z.maxLength(1000), z.describe("Search query")),
      count: z.optional(z.int().check(z.gte(1), z.lte(10), z.describe(`Results (default ${maxResults})`))),
    }),
    async run({ query, count = maxResults }, { signal }) {
      const found = await engineFor(settings)(query, count, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
      if (found.length === 0) return `No results for: ${query}`;
      const lines = found.slice(0, count).map(({ title, url, description }, at) => {
        const snippet = plain(description, 500);
        return `${at + 1}. ${plain(title, 200)}\n   ${plain(url, 1000)}${snippet === "" ? "" : `\n   ${snippet}`}`;
      });
      return `Results for: ${query}\n\n${lines.join("\n")}`;
    },
  });
}

function engineFor({ provider, apiKey = "", baseUrl = "" }: SearchSettings): SearchEngine {
  const chosen = provider ?? (apiKey === "" ? "duckduckgo" : "brave");
  if (chosen === "duckduckgo") return duckduckgo(baseUrl || "https://html.duckduckgo.com");
  if (chosen === "brave") {
    if (apiKey !== "") return brave(apiKey, baseUrl || "https://api.search.brave.com");
    throw new ToolError("Brave Search API key not configured. The owner has to set tools.web.search.apiKey.");
  }
  if (baseUrl !== "") return searxng(baseUrl);
  throw new ToolError("SearXNG address not configured. The owner has to set tools.web.search.baseUrl.");
}

const answer = z.object({
  title: z.optional(z.string()),
  url: z.string(),
  description: z.optional(z.nullable(z.string())),
  content: z.optional(z.nullable(z.string())),
});
const braveAnswer = z.object({ web: z.optional(z.object({ results: z.array(answer) })) });
const searxngAnswer = z.object({ results: z.array(answer) });

/** Brave says `description`, SearXNG `content`. */
const resultOf = ({ title, url, description, content }: z.infer<typeof answer>): SearchResult => ({
  title: title ?? url,
  url,
  description: description ?? content ?? "",
});

const brave =
  (key: string, base: string): SearchEngine =>
  async (query, count, signal) => {
    const url = withQuery(base, "/res/v1/web/search", { q: query, count: String(count) });
    const text = await fetchText(url, { accept: "application/json", "x-subscription-token": key }, signal);
    const { web } = z.parse(braveAnswer, JSON.parse(text));
    return (web?.results ?? []).map(resultOf);
  };

const searxng =
  (base: string): SearchEngine =>
  async (query, _count, signal) => {
    const url = withQuery(base, "/search", { q: query, format: "json" });
    const { results } = z.parse(
      searxngAnswer,
      JSON.parse(await fetchText(url, { accept: "application/json" }, signal)),
    );
    return results.map(resultOf);
  };

/** The page for browsers without scripts; it names each result in a link of class `result__a`. */
const duckduckgo =
  (base: string): SearchEngine =>
  async (query, _count, signal) => {
    const page = await fetchText(withQuery(base, "/html/", { q: query }), { accept: "text/html" }, signal);
    if (/class="anomaly/.test(page))
      throw new ToolError("DuckDuckGo refuses automatic searches from this machine now.");
    return page
      .split(/class="[^"]*\bresult__a\b/)
      .slice(1)
      .flatMap((piece) => {
        const href = /^[^>]{0,2000}?href="([^"]{1,2000})"/.exec(piece)?.[1];
        const title = /^[^>]{0,2000}>([^]{0,1000}?)<\/a>/.exec(piece)?.[1];
        const description = /class="[^"]*\bresult__snippet\b[^>]{0,2000}>([^]{0,4000}?)<\/a>/.exec(piece)?.[1] ?? "";
        return href === undefined || title === undefined ? [] : [{ title, url: unwrapped(href), description }];
      });
  };

/** Results lead through `/l/?uddg=<the address>`. */
function unwrapped(href: string): string {
  const link = decodeEntities(href);
  if (!URL.canParse(link, "https://duckduckgo.com")) return link;
  const url = new URL(link, "https://duckduckgo.com");
  return url.searchParams.get("uddg") ?? url.href;
}

function withQuery(base: string, path: string, query: Readonly<Record<string, string>>): string {
  return `${base.replace(/\/+$/, "")}${path}?${new URLSearchParams(query).toString()}`;
}

const mostBytes = 2_000_000;

/** The engine is the owner's choice, so any address is fine; its answer is still a stranger's. */
async function fetchText(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string> {
  // No redirects: the key would travel along.
  const request = { headers: { "user-agent": "nanogate", ...headers }, signal, redirect: "error" } as const;
  const response = await fetch(url, request).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new ToolError(`The search engine cannot be reached: ${reasonOf(cause)}`, { cause: error });
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new ToolError(`The search engine answered ${response.status} ${response.statusText}`.trimEnd());
  }
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > mostBytes) throw new ToolError("The search engine's answer is too large.");
  }
  return text + decoder.decode();
}

/** One line without markup. */
function plain(html: string, most: number): string {
  const text = decodeEntities(html.slice(0, 10 * most).replaceAll(/<[^>]{0,500}>/g, ""));
  return text.replaceAll(/\s+/g, " ").trim().slice(0, most).toWellFormed();
}
