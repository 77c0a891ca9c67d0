/** Who may come in: whoever has the token, or the cookie that it buys. Where no token is needed, everybody. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export type AuthSettings = {
  /** Any of these will do; none: everybody may come in. */
  readonly tokens: readonly string[];
  readonly now: () => number;
};

export type Auth = {
  /** How somebody comes in; undefined: not at all. */
  readonly entry: (headers: IncomingHttpHeaders) => "open" | "token" | "cookie" | undefined;
  readonly isToken: (text: string) => boolean;
  /** A `Set-Cookie` for somebody who has shown the token; `https` only where the page came that way. */
  readonly cookie: (isSecure: boolean) => string;
};

const cookieName = "nanogate";
const cookieSeconds = 30 * 24 * 3600;
const attributes = "Path=/; HttpOnly; SameSite=Strict";
export const noCookie = `${cookieName}=; ${attributes}; Max-Age=0`;

export function createAuth({ tokens, now }: AuthSettings): Auth {
  const known = tokens.map(digest);
  // Of the token, so that a cookie outlives a restart and dies with the token it was bought with.
  const key = createHmac("sha256", tokens[0] ?? "")
    .update("nanogate's cookies")
    .digest();
  const signed = (text: string): string => createHmac("sha256", key).update(text).digest("base64url");

  /** Every one is compared, and all of it: the time it takes tells nothing. */
  const isToken = (text: string): boolean => {
    const given = digest(text);
    return known.reduce((found, token) => timingSafeEqual(token, given) || found, false);
  };

  const isCookie = (text: string): boolean => {
    const [until = "", nonce = "", seal = ""] = text.split(".");
    const genuine = timingSafeEqual(digest(seal), digest(signed(`${until}.${nonce}`)));
    return genuine && Number(until) > now() / 1000;
  };

  return {
    isToken,
    entry({ authorization = "", cookie = "" }) {
      if (tokens.length === 0) return "open";
      const [, bearer] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
      if (bearer !== undefined) return isToken(bearer) ? "token" : undefined;
      const cookies = cookie.split(";").map((pair) => pair.trim().split("="));
      return cookies.some(([name, value = ""]) => name === cookieName && isCookie(value)) ? "cookie" : undefined;
    },
    cookie(isSecure) {
      const worth = `${Math.floor(now() / 1000) + cookieSeconds}.${randomBytes(9).toString("base64url")}`;
      const secure = isSecure ? "; Secure" : "";
      return `${cookieName}=${worth}.${signed(worth)}; ${attributes}; Max-Age=${cookieSeconds}${secure}`;
    },
  };
}

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
