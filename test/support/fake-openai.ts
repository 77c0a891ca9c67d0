/** A model server on a real socket: as strict as OpenAI about what it is sent, and as bad as any about what it answers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Fields = Readonly<Record<string, unknown>>;
export type Heard = { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: Fields };
/** One answer of the server. */
export type Answer = (response: ServerResponse, heard: Heard) => void;

export async function openFakeOpenAi(...answers: Answer[]) {
  const heard: Heard[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const one = { path: request.url ?? "", headers: request.headers, body: await readJson(request) };
    heard.push(one);
    const objection = objectionTo(one.body);
    const answer = objection ? fails(400, { message: objection, type: "invalid_request_error" }) : answers.shift();
    (answer ?? fails(500, { message: "nothing more is scripted" }))(response, one);
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    heard,
    next: (...more: Answer[]): void => void answers.push(...more),
  };
}

async function readJson(request: IncomingMessage): Promise<Fields> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString("utf8") || "{}") as Fields;
}

// What it says ------------------------------------------------------------------------------------------------------

export const delta = (fields: Fields, finish: string | null = null): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});

export const bill = (input: number, output: number, more: Fields = {}): Fields => ({
  choices: [],
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...more },
});

export const fragment = (
  index: number | undefined,
  fields: { id?: string; name?: string; args?: unknown },
): Fields => ({
  tool_calls: [
    {
      ...(index !== undefined && { index }),
      ...(fields.id !== undefined && { id: fields.id, type: "function" }),
      function: {
        ...(fields.name !== undefined && { name: fields.name }),
        ...(fields.args !== undefined && { arguments: fields.args }),
      },
    },
  ],
});

type Ending = "done" | "close" | "cut" | "stall";

/** Streams chunks and then ends: properly, without [DONE], by cutting the line, or not at all. */
export const streams =
  (chunks: readonly Fields[], ending: Ending = "done"): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (ending === "stall") return;
    if (ending === "done") response.write("data: [DONE]\n\n");
    // The bytes have to be out before the line goes, or the reader would see a refused request.
    if (ending === "cut") response.write(": \n\n", () => setImmediate(() => response.destroy()));
    else response.end();
  };

export const says = (...words: string[]): Answer =>
  streams([
    delta({ role: "assistant", content: "" }),
    ...words.map((content) => delta({ content })),
    delta({}, "stop"),
    bill(11, 7),
  ]);

export const fails =
  (status: number, error: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ error }));
  };

export const answers =
  (status: number, type: string, body: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": type, ...headers });
    response.end(body);
  };

/** Takes the request and never says a word. */
export const silent: Answer = () => {};

export const hangsUp: Answer = (response) => void response.destroy();

// What it takes -----------------------------------------------------------------------------------------------------

const known = new Set(
  "model messages stream stream_options max_tokens max_completion_tokens temperature reasoning_effort tools tool_choice".split(
    " ",
  ),
);
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls"],
  tool: ["role", "content", "tool_call_id", "name"],
};

/** The first thing OpenAI would refuse, or undefined. */
function objectionTo(body: Fields): string | undefined {
  const {
    model,
    messages,
    tools = [],
    tool_choice,
  } = body as { model?: unknown; messages?: Fields[]; tools?: Fields[]; tool_choice?: unknown };
  const stray = Object.keys(body).find((name) => !known.has(name));
  if (stray !== undefined) return `Unrecognized request argument supplied: ${stray}`;
  if (typeof model !== "string" || model === "") return "you must provide a model parameter";
  if (!Array.isArray(messages) || messages.length === 0) return "[] is too short - 'messages'";
  if (tool_choice !== undefined && tools.length === 0)
    return "'tool_choice' is only allowed when 'tools' are specified.";
  return messages.map(objectionToMessage).find(Boolean) ?? objectionToPairs(messages);
}

function objectionToMessage(message: Fields, at: number): string | undefined {
  const allowed = messageFields[String(message["role"])];
  if (!allowed) return `Invalid value: '${String(message["role"])}' at messages[${at}].role`;
  const stray = Object.keys(message).find((name) => !allowed.includes(name));
  if (stray !== undefined) return `Additional properties are not allowed ('${stray}' was unexpected) - messages[${at}]`;
  const { content, tool_calls } = message;
  if (content === null && !tool_calls)
    return `Invalid value for 'content': expected a string, got null. - messages[${at}]`;
  if (content === "" || (Array.isArray(content) && content.length === 0))
    return `messages[${at}]: content must not be empty`;
  if (content !== null && typeof content !== "string" && !Array.isArray(content))
    return `Invalid type for 'messages[${at}].content'`;
  if (Array.isArray(tool_calls) && tool_calls.length === 0) return `[] is too short - 'messages[${at}].tool_calls'`;
  return undefined;
}

function objectionToPairs(messages: readonly Fields[]): string | undefined {
  let open = new Set<string>();
  for (const [at, { role, tool_calls, tool_call_id }] of messages.entries()) {
    if (role === "tool") {
      if (!open.delete(String(tool_call_id)))
        return `messages[${at}] with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
      continue;
    }
    if (open.size > 0)
      return `An assistant message with 'tool_calls' must be followed by tool messages. Missing: ${[...open].join(", ")}`;
    const ids = Array.isArray(tool_calls) ? tool_calls.map((call: { id: string }) => call.id) : [];
    const long = ids.find((id) => id.length > 40);
    if (long !== undefined) return `Invalid 'messages[${at}].tool_calls[0].id': string too long.`;
    open = new Set(ids);
  }
  return open.size > 0 ? `tool_call_ids did not have response messages: ${[...open].join(", ")}` : undefined;
}
