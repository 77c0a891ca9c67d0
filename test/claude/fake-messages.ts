/**
 * A model's server as far as the claude command needs one: `POST /v1/messages`, answered as a stream. What it should do
 * stands in the message, in the same words that the stub understands.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Block = { readonly type: string; readonly text?: string; readonly content?: unknown };
type Message = { readonly role: string; readonly content: string | readonly Block[] };
type Request = { readonly model: string; readonly messages: readonly Message[]; readonly tools?: readonly unknown[] };

export type Asked = {
  readonly session: string;
  /** What people said, without what the command adds. */
  readonly prompts: readonly string[];
  /** The bytes of the whole conversation in it, theirs and its own. */
  readonly bytes: number;
  /** Those of them that the request before in the same conversation did not begin with. */
  readonly newBytes: number;
};

export async function openFakeMessages() {
  const asked: Asked[] = [];
  const seen = new Map<string, string[]>();
  let slow: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => void (body += text));
    request.on("end", () => {
      if (!request.url?.startsWith("/v1/messages") || request.method !== "POST") {
        response.writeHead(404).end();
        return;
      }
      const session = String(request.headers["x-claude-code-session-id"] ?? "");
      const parsed = JSON.parse(body) as Request;
      // Small calls on the side (titles, summaries of commands) bring no tools.
      if (parsed.tools && parsed.tools.length > 0) note(session, parsed);
      void answer(parsed, response);
    });
  });

  const note = (session: string, { messages }: Request): void => {
    const conversation = messages
      .filter(({ role }) => role !== "system")
      .map(({ role, content }) => `${role}: ${JSON.stringify(blocksOf(content).filter(isSaid), withoutMarks)}`);
    const before = seen.get(session) ?? [];
    seen.set(session, conversation);
    const length = (texts: readonly string[]): number => Buffer.byteLength(texts.join(""));
    const isKnown = before.every((message, at) => conversation[at] === message);
    asked.push({
      session,
      prompts: promptsOf(messages),
      bytes: length(conversation),
      newBytes: length(isKnown ? conversation.slice(before.length) : conversation),
    });
  };

  const answer = async ({ model, messages }: Request, response: ServerResponse): Promise<void> => {
    const prompts = promptsOf(messages);
    const last = prompts.at(-1) ?? "";
    const current = last.slice(last.lastIndexOf("Now respond:\n\n") + 1);
    const resumed = messages.some(({ role }) => role === "assistant");
    const wants = (what: string): boolean =>
      current.includes(`[api ${what}]`) || current.includes(`[api:${resumed ? "resume" : "fresh"} ${what}]`);
    const results = messages.slice(messages.findLastIndex(isPrompt)).flatMap(({ content }) => blocksOf(content));
    const found = results.findLast(({ type }) => type === "tool_result");
    const file = /\[api read ([^\]]+)\]/.exec(current)?.[1];
    if (wants("529")) return refuse(response, 529, "overloaded_error", "Overloaded");
    if (wants("401")) return refuse(response, 401, "authentication_error", "invalid x-api-key");
    if (wants("too-long")) {
      return refuse(response, 400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum");
    }
    const send = begin(response, model);
    if (wants("hang")) return send.text(0, ["Let me ", "think"]);
    if (wants("loop") || ((wants("tool") || file !== undefined) && !found)) {
      send.text(0, ["Let me look."]);
      send.tool(1, "Read", { file_path: file ?? "note.txt" });
      return send.end("tool_use");
    }
    if (file !== undefined) {
      send.text(0, ["It says: ", JSON.stringify(found?.content)]);
      return send.end("end_turn");
    }
    if (wants("slow")) {
      // Until two of them are here, or nobody else comes.
      await new Promise<void>((resolve) => {
        slow.push(resolve);
        setTimeout(resolve, 5000);
        if (slow.length < 2) return;
        for (const go of slow) go();
        slow = [];
      });
    }
    const line = current.split("\n").findLast((text) => text.trim() !== "") ?? "";
    send.text(0, [`I have heard ${prompts.length} prompt(s). `, "The last: ", line]);
    send.end("end_turn");
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The conversations as they were sent, request by request. */
    asked: (): readonly Asked[] => asked,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

const blocksOf = (content: Message["content"]): readonly Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Where the cache should end is marked anew with every request. */
const withoutMarks = (name: string, value: unknown): unknown => (name === "cache_control" ? undefined : value);

/** The command puts reminders of its own between what people say. */
const isSaid = ({ type, text = "" }: Block): boolean =>
  type !== "text" || !text.trimStart().startsWith("<system-reminder>");

const isPrompt = ({ role, content }: Message): boolean =>
  role === "user" && blocksOf(content).some((block) => block.type === "text" && isSaid(block));

const promptsOf = (messages: readonly Message[]): string[] =>
  messages
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) => blocksOf(content))
    .filter((block) => block.type === "text" && isSaid(block))
    .map(({ text = "" }) => text.replace(/\n$/, ""));

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ type: "error", error: { type, message } }));
}

function begin(response: ServerResponse, model: string) {
  const send = (type: string, more: object): void =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 3 };
  const id = `msg_${Math.random().toString(36).slice(2)}`;
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  send("message_start", { message });
  const block = (index: number, start: object, deltas: readonly object[]): void => {
    send("content_block_start", { index, content_block: start });
    for (const delta of deltas) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  };
  return {
    text: (index: number, pieces: readonly string[]): void =>
      block(
        index,
        { type: "text", text: "" },
        pieces.map((text) => ({ type: "text_delta", text })),
      ),
    tool: (index: number, name: string, input: object): void =>
      block(index, { type: "tool_use", id: `toolu_${Math.random().toString(36).slice(2)}`, name, input: {} }, [
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ]),
    end(reason: string): void {
      send("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 5 } });
      send("message_stop", {});
      response.end();
    },
  };
}
