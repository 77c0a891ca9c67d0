/** A model over the OpenAI protocol for the lab: answers by what it is asked, and goes wrong when told to. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Message = { readonly role: string; readonly content: unknown; readonly tool_calls?: unknown };
export type ModelFault = "429" | "500" | "cut";

export type FakeModel = Awaited<ReturnType<typeof openFakeModel>>;

/**
 * "say 12" is answered with "answer 12"; "do 12" first calls a tool that leaves a mark, then answers. Whatever else the
 * request holds does not matter: the answer depends on the last question only, so that a resumed turn gets the same.
 */
export async function openFakeModel() {
  const faults: ModelFault[] = [];
  const asked: string[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { messages = [] } = JSON.parse(Buffer.concat(parts).toString("utf8") || "{}") as { messages?: Message[] };
    const fault = faults.shift();
    if (fault === "429" || fault === "500") {
      response.writeHead(Number(fault), { "content-type": "application/json", "retry-after-ms": "20" });
      return void response.end(JSON.stringify({ error: { message: "not now" } }));
    }
    const question = [...messages].reverse().find(({ role }) => role === "user");
    // A job's instruction stands in the middle of what the agent is told.
    const wish = /^Scheduled instruction: (say|do) (\w+)$/m;
    const words = String(question?.content);
    const [, verb, number = "?"] = wish.exec(words) ?? /(say|do) (\w+)\s*$/.exec(words) ?? [];
    asked.push(number);
    const done = messages.at(-1)?.role === "tool";
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish: string | null = null): void =>
      void response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    if (verb === "do" && !done) {
      const call = { name: "exec", arguments: JSON.stringify({ command: `echo ${number} >> marks.txt` }) };
      send({ tool_calls: [{ index: 0, id: `call_${number}`, type: "function", function: call }] });
      send({}, "tool_calls");
    } else {
      for (const piece of ["answer ", number]) send({ content: piece });
      if (fault === "cut") return void response.destroy();
      send({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    fail: (...more: ModelFault[]): void => void faults.push(...more),
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
