/**
 * The one HTTP server, and the order in which a request is looked at: is it meant for us, may this page speak here, is
 * it about health, who sends it, is it too large. Only then is the rest of the door, with all it needs, loaded.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { Health } from "../gateway/health.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Auth } from "./auth.js";
import { createBodies, mostBytes } from "./body.js";
import { answerCors } from "./cors.js";
import { createGuard, type GuardSettings } from "./guard.js";

export type HttpParts = {
  readonly health: Pick<Health, "answer">;
  readonly guard: GuardSettings;
  readonly auth: Auth;
  readonly openDoor: () => Promise<RequestListener>;
  readonly log: Log;
  /** So many may be connected at the same time. */
  readonly maxConnections?: number;
};

export type HttpServer = { readonly port: number; readonly close: () => Promise<void> };

/** Enough for a page in a thousand browsers, and few enough to leave files for the rest of the program. */
const manyConnections = 4096;
/** What all requests together may hold in memory while they come in. */
const bytesInAll = 200 * 1024 * 1024;
/** Open streams get so long for their last words. */
const lastWordsMs = 500;

const headers = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export async function listen({ host, port }: { host: string; port: number }, parts: HttpParts): Promise<HttpServer> {
  const { health, auth, log } = parts;
  const refusal = createGuard(parts.guard);
  const readBody = createBodies({ inAll: bytesInAll });
  let door: Promise<RequestListener> | undefined;

  /** `proceed`: a client that asks before it sends a large body is told to go on. */
  const respond = async (request: IncomingMessage, response: ServerResponse, proceed: () => void): Promise<void> => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const refused = refusal(request.headers, request.socket.localAddress);
    if (refused) return refuse(response, refused.code, path, refused.error);
    if (answerCors(request, response, parts.guard.origins)) return;

    const entry = isOpen(request.method, path) ? "open" : auth.entry(request.headers);
    if (entry === undefined) {
      response.setHeader("www-authenticate", "Bearer");
      return refuse(response, 401, path, "Show the token of this gateway: Authorization: Bearer …");
    }
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (entry === "cookie" && !isReading && !isJson(request)) {
      return refuse(response, 403, path, "Send content-type: application/json.");
    }
    const known = isReading ? await health.answer(path) : undefined;
    if (known) return end(response, known.code, known.type, known.body);
    if (!isReading) {
      if (Number(request.headers["content-length"] ?? 0) <= mostBytes(path)) proceed();
      const body = await readBody(request, mostBytes(path));
      // What is still to come is read and forgotten, or the client would never hear the answer.
      if (body === "too large") return refuse(response, 413, path, tooLarge(path));
      if (body === "too many")
        return refuse(response, 503, path, "Too much is coming in at once. Try again in a moment.");
      // Where the adapter of the door looks for it.
      Object.assign(request, { rawBody: body });
    }
    door ??= parts.openDoor().catch((error: unknown) => {
      door = undefined;
      throw error;
    });
    (await door)(request, response);
  };

  const handle = (request: IncomingMessage, response: ServerResponse, proceed = (): void => {}): void => {
    respond(request, response, proceed).catch((error: unknown) => {
      // Whoever has gone in the middle of his own question is not answered.
      if (request.destroyed && !request.complete) {
        response.destroy();
        return;
      }
      log.warn(`${request.method} ${request.url}: ${reasonOf(error)}`, { error });
      if (response.headersSent) response.destroy();
      else refuse(response, 500, "", "Something went wrong here. The log says what.");
    });
  };

  const server = createServer((request, response) => handle(request, response));
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) =>
    handle(request, response, () => response.writeContinue()),
  );
  server.maxConnections = parts.maxConnections ?? manyConnections;
  // A slow client may take its time to read, not to ask.
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
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

/** What tells nothing: whether it lives, the way in, and the files of the page, which are the same everywhere. */
function isOpen(method: string | undefined, path: string): boolean {
  if (method === "POST") return path === "/api/login";
  return (
    (method === "GET" || method === "HEAD") &&
    (["/healthz", "/readyz", "/"].includes(path) ||
      /^\/(?:assets\/)?[\w-]+(?:\.[\w-]+)*\.(?:css|html|ico|js|png|svg|webmanifest|woff2)$/.test(path))
  );
}

/** What no form of another site can send. */
const isJson = ({ headers: { "content-type": type = "" } }: IncomingMessage): boolean =>
  /^application\/json\b/i.test(type);

const tooLarge = (path: string): string => `At most ${mostBytes(path) / 1024 / 1024} MB can be sent here.`;

/** In words; to clients of OpenAI in theirs. */
function refuse(response: ServerResponse, code: number, path: string, message: string): void {
  const type = code === 401 ? "invalid_api_key" : null;
  const error = path.startsWith("/v1/") ? { message, type: "invalid_request_error", param: null, code: type } : message;
  end(response, code, "application/json", JSON.stringify({ error }));
}

function end(response: ServerResponse, code: number, type: string, body: string): void {
  response.writeHead(code, { "content-type": type }).end(response.req.method === "HEAD" ? "" : body);
}
