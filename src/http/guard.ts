/**
 * Who may speak to the HTTP door at all. A page of another site that a browser here has open must not: it can send
 * requests to this machine, but it cannot choose its Origin, and a name that was made to point here is no name of ours.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";

export type GuardSettings = {
  /** The address the door listens on. */
  readonly host: string;
  /** Names it is known by besides, such as that of a reverse proxy. */
  readonly names: readonly string[];
  /** Pages of these origins may speak to it, too. */
  readonly origins: readonly string[];
};

export type Refusal = { readonly code: 403 | 421; readonly error: string };

const loopback = ["localhost", "127.0.0.1", "::1"];

export const isLoopback = (host: string): boolean =>
  loopback.includes(host) || (isIPv4(host) && host.startsWith("127."));

export function createGuard({ host, names, origins }: GuardSettings) {
  const known = new Set([...loopback, host, ...names].map((name) => name.toLowerCase()));

  /** `here`: the address of this machine that the request came to. By that number it may be called. */
  return function refusal(headers: IncomingHttpHeaders, here = ""): Refusal | undefined {
    const asked = headers.host ?? "";
    const name = nameOf(asked);
    if (!known.has(name) && (name === "" || name !== here.replace(/^::ffff:/, ""))) {
      return { code: 421, error: `This is not ${asked}. Add the name to gateway.names if it is meant to be.` };
    }
    const { origin } = headers;
    const isOwn = origin === undefined || origin === `http://${asked}` || origin === `https://${asked}`;
    if (origin !== undefined && (isOwn || origins.includes(origin))) return undefined;
    // A browser does not say where a picture or a script is wanted, but it does say that it is another site.
    const { "sec-fetch-site": site, "sec-fetch-mode": mode } = headers;
    const isForeign = (site === "cross-site" || site === "same-site") && mode !== "navigate";
    if (isOwn && !isForeign) return undefined;
    return {
      code: 403,
      error: `Pages of ${origin ?? "other sites"} may not speak to this. Add them to gateway.origins if they should.`,
    };
  };
}

/** `localhost:18790` and `[::1]:18790` without their ports. */
function nameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return (bracketed ?? host.replace(/:\d+$/, "")).toLowerCase();
}
