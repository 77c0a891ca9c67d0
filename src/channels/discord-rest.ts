/** Requests to Discord's REST API: paced by discord.js, cancelled when told to, never repeated behind anyone's back. */
import type { RequestData, RESTOptions } from "discord.js";
import { withOwnSignal } from "../util/own-signal.js";
import { sortFailure } from "./discord-failures.js";
import type * as Library from "./discord-library.js";

/** discord.js waits out a rate limit up to this; a longer one is for delivery to plan with. */
const patienceMs = 1000;
/** A large file may take its time; waiting for the first word of an answer is cut off by discord.js much earlier. */
const requestMs = { words: 20_000, files: 120_000 };
/** For a rate limit that does not say how long; discord.js would try again at once, and again. */
const unnamedLimitSeconds = "5";

type Request = (
  method: "get" | "post" | "put" | "patch",
  path: `/${string}`,
  options: RequestData,
  signal: AbortSignal,
) => Promise<unknown>;

export type DiscordRest = {
  readonly request: Request;
  /** The same for what goes out: an error says whether the message was taken. */
  readonly deliver: Request;
};

export type RestParts = {
  readonly api: string;
  readonly token: string;
  /** So many requests in all. */
  readonly perSecond: number;
  readonly fetch: typeof fetch;
};

export function createRest(library: typeof Library, { api, token, perSecond, fetch }: RestParts): DiscordRest {
  // Retrying is delivery's business: it knows what was sent, and for how long to try.
  const rejectOnRateLimit = ({ retryAfter }: { readonly retryAfter: number }): boolean => retryAfter > patienceMs;
  // The types are those of a fetch that discord.js brings along; what it hands over and wants back is plain.
  const makeRequest = politely(fetch) as unknown as NonNullable<RESTOptions["makeRequest"]>;
  const options = { api, retries: 0, rejectOnRateLimit, globalRequestsPerSecond: perSecond, makeRequest };
  const rest = new library.REST(options).setToken(token);

  const request: Request = async (method, path, options, signal) => {
    try {
      // discord.js never takes its listener off a signal.
      const patience = options.files?.length ? requestMs.files : requestMs.words;
      return await withOwnSignal(signal, patience, (own) => rest[method](path, { ...options, signal: own }));
    } finally {
      // After a refusal discord.js forgets the token; yet it may have been a passing fault.
      rest.setToken(token);
    }
  };

  return {
    request,
    async deliver(...args) {
      try {
        return await request(...args);
      } catch (error) {
        throw sortFailure(error, library);
      }
    },
  };
}

/** discord.js reads nothing of a 429 or a 5xx but the headers: the rest would keep its connection open, and may say more. */
const politely =
  (fetch: RestParts["fetch"]): RestParts["fetch"] =>
  async (...request) => {
    const answer = await fetch(...request);
    if (answer.status !== 429 && answer.status < 500) return answer;
    const body = await answer.text();
    if (answer.status === 429) {
      const { retry_after, global } = limitIn(body);
      if (!answer.headers.has("Retry-After")) answer.headers.set("Retry-After", retry_after);
      if (global) answer.headers.set("X-RateLimit-Global", "true");
    }
    return answer;
  };

/** What a 429 says of itself. */
function limitIn(body: string): { readonly retry_after: string; readonly global: boolean } {
  try {
    const { retry_after: wait, global } = JSON.parse(body) as { retry_after?: unknown; global?: unknown };
    const isTime = typeof wait === "number" && Number.isFinite(wait) && wait >= 0;
    return { retry_after: isTime ? String(wait) : unnamedLimitSeconds, global: global === true };
  } catch {
    return { retry_after: unnamedLimitSeconds, global: false };
  }
}
