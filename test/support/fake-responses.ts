/** OpenAI's Responses as far as a backend needs them, and strict: what it does not know it refuses. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type ResponseBody = {
  readonly model: string;
  readonly input: string | readonly { readonly role: string; readonly content: readonly Record<string, string>[] }[];
  readonly instructions?: string;
  readonly previous_response_id?: string;
  readonly store: boolean;
  readonly stream?: boolean;
};

type Kept = { readonly before: string | undefined; readonly text: string };

export const responsesKey = "sk-test-0123456789";

export async function openFakeResponses() {
  const requests: ResponseBody[] = [];
  const kept = new Map<string, Kept>();
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));

  const refuse = (response: ServerResponse, status: number, code: string | null, message: string): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } }));
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part as string;
    if (request.headers.authorization !== `Bearer ${responsesKey}`)
      return refuse(response, 401, "invalid_api_key", "Incorrect API key");
    const id = /^\/v1\/responses\/([^/]+)$/.exec(request.url ?? "")?.[1];
    if (request.method === "DELETE" && id !== undefined) {
      if (!kept.delete(id)) return refuse(response, 404, null, `Response with id '${id}' not found.`);
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ id, object: "response", deleted: true }));
      return;
    }
    if (request.method !== "POST" || request.url !== "/v1/responses")
      return refuse(response, 404, null, "no such place");
    const body = JSON.parse(text) as ResponseBody;
    const known = new Set("model input instructions previous_response_id store stream".split(" "));
    const stray = Object.keys(body).find((name) => !known.has(name));
    if (stray !== undefined) return refuse(response, 400, "unknown_parameter", `Unknown parameter: '${stray}'.`);
    const before = body.previous_response_id;
    if (before !== undefined && !kept.has(before)) {
      return refuse(response, 400, "previous_response_not_found", `Previous response with id '${before}' not found.`);
    }
    requests.push(body);
    const said = wordsOf(body.input);
    if (said.includes("[api 529]")) return refuse(response, 503, null, "overloaded");
    if (said.includes("[api too-long]"))
      return refuse(response, 400, "context_length_exceeded", "Your input exceeds the context window");
    if (said.includes("[api silent-hang]")) return;
    const chain: string[] = [];
    for (let at = before; at !== undefined; at = kept.get(at)?.before) chain.unshift(kept.get(at)?.text ?? "");
    const words = said.includes("[stub empty]")
      ? ""
      : `I have heard ${chain.length + 1} prompt(s). The last: ${said.split("\n").at(-1) ?? ""}`;
    const made = `resp_${randomUUID().replaceAll("-", "")}`;
    if (body.store) kept.set(made, { before, text: said });
    const failed = said.includes("[stub failed]");
    const whole = {
      id: made,
      object: "response",
      status: failed ? "failed" : "completed",
      error: failed ? { code: "server_error", message: "The server had an error" } : null,
      model: body.model,
      output: failed
        ? []
        : [
            {
              type: "message",
              id: "m",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: words, annotations: [] }],
            },
          ],
      usage: { input_tokens: 30, input_tokens_details: { cached_tokens: 20 }, output_tokens: 9, total_tokens: 39 },
    };
    if (!body.stream) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (type: string, more: object): void =>
      void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
    send("response.created", { response: { ...whole, status: "in_progress", output: [] } });
    for (const delta of words.match(/[\s\S]{1,10}/g) ?? [])
      send("response.output_text.delta", { delta, item_id: "m", output_index: 0, content_index: 0 });
    if (said.includes("[api hang]")) return;
    if (said.includes("[stub cut]")) return void response.end();
    send(failed ? "response.failed" : "response.completed", { response: whole });
    response.end();
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    /** The responses that the server has. */
    kept,
  };
}

const wordsOf = (input: ResponseBody["input"]): string => {
  const text =
    typeof input === "string"
      ? input
      : input.flatMap(({ content }) => content.map((part) => part["text"] ?? "")).join("");
  return text.slice(text.lastIndexOf("Now respond:\n\n") + 1);
};
