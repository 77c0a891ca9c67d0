/** A small HTTP server that answers by path; anything else is 404. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type ApiAnswer = { readonly status?: number; readonly body: unknown };

export async function openFakeApi(answer: (path: string, request: IncomingMessage) => ApiAnswer | undefined) {
  const server = createServer((request, response) => {
    const { status = 200, body } = answer(request.url ?? "", request) ?? { status: 404, body: { message: "no" } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
