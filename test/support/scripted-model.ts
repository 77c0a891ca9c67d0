/** A model that answers from a script. */
import type { ModelMessage, ToolCall } from "../../src/message.js";
import { type Model, ModelError, type ModelRequest, type Reply } from "../../src/providers/provider.js";

/** An answer that comes in pieces; where there is a promise, the rest waits for it. */
export type Pieces = Partial<Reply> & { readonly pieces: readonly (string | Promise<unknown>)[] };

export type Line =
  | Pieces
  | Partial<Reply>
  | Error
  | ((request: ModelRequest, signal: AbortSignal) => Promise<Partial<Reply>>);

export function scriptedModel(lines: readonly Line[]) {
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: "test/scripted",
    contextTokens: 100_000,
    async *stream(request, signal) {
      signal.throwIfAborted();
      const line = lines[Math.min(requests.length, lines.length - 1)];
      requests.push(structuredClone(request));
      if (line === undefined) throw new ModelError("request", "the script is over", "write more");
      if (line instanceof Error) throw line;
      const pieces = "pieces" in line ? line.pieces : [];
      for (const piece of pieces) {
        if (typeof piece === "string") yield { kind: "text", text: piece };
        else await piece;
      }
      const said = pieces.filter((piece) => typeof piece === "string").join("");
      const part =
        typeof line === "function" ? await line(request, signal) : "pieces" in line ? { text: said, ...line } : line;
      const reply = {
        text: null,
        toolCalls: [],
        end: "stop",
        usage: { input: 10, output: 5, cached: 0 },
        ...part,
      } as Reply;
      if (reply.text !== null && reply.text !== "" && pieces.length === 0) yield { kind: "text", text: reply.text };
      yield { kind: "reply", reply };
    },
  };
  return { model, requests };
}

export const call = (name: string, args: unknown, id = `call_${name}`): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
});

/** What a message says, if it says it in words only. */
export const textOf = (message: ModelMessage | undefined): string =>
  typeof message?.content === "string" ? message.content : "";
