/** Pages of other sites that the owner has named may speak to the door; their browsers have to be told so. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Says so, if it is so. True: the browser only wanted to know, and nothing more is to be done. */
export function answerCors(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  const { origin } = request.headers;
  const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
  response.setHeader("vary", "origin");
  if (origin === undefined || !origins.includes(origin)) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "retry-after, x-should-retry");
  if (!isPreflight) return false;
  const headers = request.headers["access-control-request-headers"];
  response.setHeader("access-control-allow-methods", "GET, POST, DELETE");
  if (headers !== undefined) response.setHeader("access-control-allow-headers", headers);
  response.setHeader("access-control-max-age", "600");
  response.writeHead(204).end();
  return true;
}
