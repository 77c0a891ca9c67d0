/**
 * The one HTTP server. Health is answered at once; the rest of the door, with all it needs, is loaded by the first who
 * knocks.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { Health } from "../gateway/health.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { createGuard, type GuardSettings } from "./guard.js";

export type HttpParts = {
  readonly health: Pick<Health, "answer">;
  readonly guard: GuardSettings;
  readonly openDoor: () => Promise<RequestListener>;
  readonly log: Log;
};

export type HttpServer = { readonly port: number; readonly close: () => Promise<void> };

export async function listen({ host, port }: { host: string; port: number }, parts: HttpParts): Promise<HttpServer> {
  const refusal = createGuard(parts.guard);
  let door: Promise<RequestListener> | undefined;

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refused = refusal(request.headers);
    if (refused) return json(response, refused.code, { error: refused.error });
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const known = request.method === "GET" ? await parts.health.answer(path) : undefined;
    if (known) return end(response, known.code, known.type, known.body);
    door ??= parts.openDoor();
    (await door)(request, response);
  };

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      parts.log.warn(`${request.method} ${request.url}: ${reasonOf(error)}`, { error });
      if (response.headersSent) response.destroy();
      else json(response, 500, { error: "Something went wrong here. The log says what." });
    });
  });
  // A slow client may take its time to read, not to ask.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), lastWordsMs).unref();
      }),
  };
}

/** Open streams get so long for their last words. */
const lastWordsMs = 500;

const json = (response: ServerResponse, code: number, value: unknown): void =>
  end(response, code, "application/json", JSON.stringify(value));

function end(response: ServerResponse, code: number, type: string, body: string): void {
  response
    .writeHead(code, { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff" })
    .end(body);
}
