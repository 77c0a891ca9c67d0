/** Discord's rate limits: a bucket for each route of a channel and one for everything, told in headers as Discord does. */

export type DiscordLimits = {
  /** For each route of each channel. */
  readonly bucket?: Allowance;
  /** For all requests together. */
  readonly global?: Allowance;
  /** Nothing is said beforehand; the first sign is a 429. */
  readonly silent?: boolean;
};

type Allowance = { readonly requests: number; readonly perMs: number };
type Window = { readonly ends: number; left: number };
export type Headers = Readonly<Record<string, string>>;

/** Thrown instead of doing the work: answered with 429. */
export class RateLimit extends Error {
  readonly retryAfter: number;
  readonly global: boolean;
  readonly headers: Headers;

  constructor(retryAfter: number, global: boolean, headers: Headers = {}) {
    super("rate limit");
    this.retryAfter = retryAfter;
    this.global = global;
    this.headers = {
      ...headers,
      "Retry-After": String(retryAfter),
      "X-RateLimit-Scope": global ? "global" : "user",
      ...(global && { "X-RateLimit-Global": "true" }),
    };
  }
}

export function createLimits({ bucket, global, silent = false }: DiscordLimits) {
  const windows = new Map<string, Window>();
  let refused = 0;

  const windowOf = (key: string, { requests, perMs }: Allowance): Window => {
    const known = windows.get(key);
    if (known && known.ends > Date.now()) return known;
    const fresh = { ends: Date.now() + perMs, left: requests };
    windows.set(key, fresh);
    return fresh;
  };
  const secondsUntil = ({ ends }: Window): number => Math.max(1, ends - Date.now()) / 1000;

  /** Uses up one request. */
  const use = (key: string, allowance: Allowance, isGlobal: boolean, tell: (window: Window) => Headers): Headers => {
    const window = windowOf(key, allowance);
    if (window.left === 0) {
      refused++;
      throw new RateLimit(secondsUntil(window), isGlobal, tell(window));
    }
    window.left--;
    return tell(window);
  };

  return {
    /** How many requests were one too many. A client that listens makes few, and none twice. */
    refused: (): number => refused,
    /** The headers of the answer. */
    takeGlobal(): void {
      if (global) use("everything", global, true, () => ({}));
    },
    take(route: string, channel: string): Headers {
      if (!bucket) return {};
      return use(`${route} ${channel}`, bucket, false, (window) =>
        silent
          ? {}
          : {
              "X-RateLimit-Limit": String(bucket.requests),
              "X-RateLimit-Remaining": String(window.left),
              "X-RateLimit-Reset-After": String(secondsUntil(window)),
              "X-RateLimit-Reset": String(window.ends / 1000),
              "X-RateLimit-Bucket": Buffer.from(route).toString("hex").slice(0, 32),
            },
      );
    },
  };
}
