/** OpenAI's Responses as a backend: the server keeps the conversation, and each answer is the handle to the next. */
import type OpenAI from "openai";
import type { Response, ResponseCreateParamsBase, ResponseInput } from "openai/resources/responses/responses";
import { imageParts } from "../agent/images.js";
import { HttpFailure, sortFailure } from "../providers/failures.js";
import { openClient } from "../providers/openai.js";
import type { ModelFailure } from "../providers/provider.js";
import { orAborted } from "../util/abort.js";
import { withOwnSignal } from "../util/own-signal.js";
import type { Backend, BackendCall, BackendEnd } from "./backend.js";

export type ResponsesParts = {
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly timeoutSeconds: number;
  readonly fetch: typeof fetch;
};

const isHandle = (id: string): boolean => /^resp_[A-Za-z0-9_-]{1,200}$/.test(id);

export function createResponses({ model, apiKey, baseUrl, timeoutSeconds, fetch }: ResponsesParts): Backend {
  const name = "openai-responses";
  let client: Promise<OpenAI> | undefined;
  const open = (): Promise<OpenAI> =>
    (client ??= openClient({ apiKey, baseUrl, fetch, firstMs: timeoutSeconds * 1000 }));

  /** The whole response; somebody who watches hears it grow. */
  const ask = async (call: BackendCall, signal: AbortSignal, hear: (text: string) => void): Promise<Response> => {
    const body: ResponseCreateParamsBase = {
      model,
      // Not carried along from the response before.
      instructions: call.system,
      input: await inputOf(call),
      store: call.once !== true,
      ...(call.handle !== undefined && { previous_response_id: call.handle }),
    };
    const { responses } = await open();
    if (!call.on) return responses.create({ ...body, stream: false }, { signal });
    for await (const event of await responses.create({ ...body, stream: true }, { signal })) {
      if (event.type === "response.output_text.delta") hear(event.delta);
      if (event.type === "error") throw Object.assign(new Error(event.message), { error: event });
      if ("response" in event && /\.(?:completed|incomplete|failed)$/.test(event.type)) return event.response;
    }
    signal.throwIfAborted(); // the SDK ends an aborted stream as if it were complete
    throw new Error("the answer broke off");
  };

  return {
    name,
    isHandle,
    async run(call) {
      const { handle, signal, on } = call;
      if (handle !== undefined && !isHandle(handle)) return { kind: "lost", reason: "its id is not one of OpenAI's" };
      let partial = "";
      const hear = (text: string): void => {
        partial += text;
        on?.({ kind: "text", text });
      };
      try {
        const response = await withOwnSignal(signal, timeoutSeconds * 1000, (own) =>
          orAborted(ask(call, own, hear), own),
        );
        return endOf(response, call);
      } catch (error) {
        signal.throwIfAborted();
        if (isTimeout(error)) return { kind: "timed-out", seconds: timeoutSeconds, partial };
        if (handle !== undefined && isLost(error)) return { kind: "lost", reason: "OpenAI does not have it any more" };
        const { kind, message } = sortFailure(error, { provider: name, model, baseUrl, secrets: [apiKey] });
        return { kind: "failed", failure: kind, reason: message, acted: false };
      }
    },
    async forget(handle) {
      if (!isHandle(handle)) throw new Error(`${JSON.stringify(handle)} is not the id of a response`);
      const { responses } = await open();
      await responses.delete(handle).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error;
      });
    },
  };
}

async function inputOf({ prompt, files = [] }: BackendCall): Promise<string | ResponseInput> {
  const pictures = await imageParts(files);
  if (pictures.length === 0) return prompt;
  const images = pictures.flatMap((part) =>
    part.type === "image_url" ? [{ type: "input_image", image_url: part.image_url.url, detail: "auto" } as const] : [],
  );
  return [{ role: "user", content: [...images, { type: "input_text", text: prompt }] }];
}

function endOf(response: Response, { once }: BackendCall): BackendEnd {
  const { id, status, error, usage: tokens } = response;
  if (status === "failed") {
    const reason = error?.message ?? "it failed without a word";
    return { kind: "failed", failure: failures[error?.code ?? ""] ?? "request", reason, acted: false };
  }
  const usage = {
    input: tokens?.input_tokens ?? 0,
    output: tokens?.output_tokens ?? 0,
    cached: tokens?.input_tokens_details?.cached_tokens ?? 0,
  };
  const text = textOf(response);
  if (text.trim() === "") return { kind: "silent", note: nothingSaid, usage, toolsUsed: [] };
  return { kind: "answered", text, ...(!once && { handle: id }), usage, toolsUsed: [] };
}

const failures: Readonly<Record<string, ModelFailure>> = { server_error: "overload", rate_limit_exceeded: "limit" };
const nothingSaid = "My language model came back without an answer. Please ask again.";

/** The SDK adds `output_text` only to what does not come as a stream. */
const textOf = ({ output }: Response): string =>
  output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .flatMap((part) => (part.type === "output_text" ? [part.text] : []))
    .join("");

const causes = (error: unknown): Error[] => (error instanceof Error ? [error, ...causes(error.cause)] : []);

const isTimeout = (error: unknown): boolean => causes(error).some(({ name }) => name === "TimeoutError");

const httpOf = (error: unknown): HttpFailure | undefined =>
  causes(error).find((link): link is HttpFailure => link instanceof HttpFailure);
const statusOf = (error: unknown): number | undefined => httpOf(error)?.status;

/** Said with 400 or 404, depending on why it is not there. */
function isLost(error: unknown): boolean {
  const failure = httpOf(error);
  return (failure?.status === 400 || failure?.status === 404) && /previous_response/i.test(failure.body);
}
