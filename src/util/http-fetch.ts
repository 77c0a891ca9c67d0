/**
 * Node's fetch takes longer to load than everything else a first answer needs. This one sends plain requests through
 * node:http, which is small, and answers with the same Response; whatever is out of the ordinary it leaves to Node's.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { errorCode } from "./errors.js";

export const httpFetch: typeof fetch = async (input, init = {}) => {
  const { body = null, signal } = init;
  const isPlain = (typeof input === "string" || input instanceof URL) && (body === null || typeof body === "string");
  if (!isPlain) return fetch(input, init);
  signal?.throwIfAborted();
  try {
    const message = await ask(new URL(input), init, body ?? undefined);
    if (!isRedirect(message)) return toResponse(message);
    message.destroy();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new TypeError("fetch failed", { cause: error });
  }
  return fetch(input, init);
};

async function ask(url: URL, init: RequestInit, body: string | undefined): Promise<IncomingMessage> {
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  const options = {
    method: init.method ?? "GET",
    headers: { accept: "*/*", ...Object.fromEntries(new Headers(init.headers)) },
    ...(init.signal && { signal: init.signal }),
  };
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(url, options, resolve);
    sent.on("error", (error) => {
      const isStale = sent.reusedSocket && errorCode(error) === "ECONNRESET";
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
    });
    sent.end(body);
  });
}

/** A connection kept from an earlier request was closed just now, most likely before the server has heard us. */
class StaleConnection extends Error {
  readonly code = "ECONNRESET";
}

/** The same for questions, which may be asked twice: a connection that has gone stale is nobody's trouble. */
export const askingAgain =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    for (;;) {
      try {
        return await fetch(input, init);
      } catch (error) {
        if (!(error instanceof Error && error.cause instanceof StaleConnection)) throw error;
      }
    }
  };

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined;

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const isEmpty = status === 204 || status === 205 || status === 304;
  if (isEmpty) message.resume();
  // Node takes anything that can be iterated for a body; the types know only the browser's.
  const body = message as unknown as ConstructorParameters<typeof Response>[0];
  return new Response(isEmpty ? null : body, { status, statusText, headers });
}
