/** A model that says one word at a time, when it is told to: so that a test can look at the middle of an answer. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { gate } from "../../support/gate.js";

export type Script = {
  /** The pieces of the answer. After each piece that ends with `…` it waits to be told to go on. */
  readonly say?: readonly string[];
  /** Refuses to answer at all. */
  readonly refuse?: string;
  readonly call?: { readonly name: string; readonly input: object };
};

type Request = { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };

export async function openPacedModel() {
  const scripts: Script[] = [];
  const asked: Request[] = [];
  let going = gate();

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    asked.push(JSON.parse(Buffer.concat(parts).toString("utf8")) as Request);
    const { say = [], call, refuse } = scripts.shift() ?? { say: [`answer ${asked.length}`] };
    if (refuse !== undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ error: { message: refuse } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish: string | null = null): void =>
      void response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    for (const piece of say) {
      send({ content: piece });
      if (piece.endsWith("…")) await going.wait;
    }
    if (call) {
      const called = { name: call.name, arguments: JSON.stringify(call.input) };
      send({ tool_calls: [{ index: 0, id: `call_${asked.length}`, type: "function", function: called }] });
    }
    send({}, call ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  };

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    going.open();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    script: (...more: Script[]): void => void scripts.push(...more),
    /** Whoever waits goes on. */
    goOn(): void {
      going.open();
      going = gate();
    },
  };
}
