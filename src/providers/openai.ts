/** OpenAI's chat completions, and everything else that speaks them: one adapter behind the port. */
import type OpenAI from "openai";
import { type Asked, HttpFailure, objectsTo, ProtocolFailure, SilenceFailure, sortFailure } from "./failures.js";
import { createAssembly } from "./openai-reply.js";
import { type Quirk, toWire, type Tuning, yieldTo } from "./openai-request.js";
import type { Model, ModelEvent, ModelRequest, Reply } from "./provider.js";

export type OpenAiOptions = Tuning & {
  /** The provider's name, for people. */
  readonly provider: string;
  readonly baseUrl: string;
  /** Absent for a server on this machine that wants none. */
  readonly apiKey?: string | undefined;
  /** The header that carries the key, where it is not `Authorization`. */
  readonly keyHeader?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly contextTokens: number;
  readonly fetch: typeof fetch;
  /** How long the model may think before its first word. Node's own fetch gives up after five minutes as well. */
  readonly firstMs?: number;
  /** How long it may fall silent after that. */
  readonly idleMs?: number;
  /** After the last word only the count of tokens is awaited, and not for long. */
  readonly countMs?: number;
};

export function createOpenAi(options: OpenAiOptions): Model {
  const {
    provider,
    model,
    baseUrl,
    apiKey,
    headers = {},
    firstMs = 300_000,
    idleMs = 90_000,
    countMs = 5000,
  } = options;
  const asked: Asked = { provider, model, baseUrl, secrets: [apiKey ?? "", ...Object.values(headers)] };
  const quirks = new Set<Quirk>();
  let client: Promise<OpenAI> | undefined;

  /** Sends the request; what the server objects to is left out, and it is asked again. */
  async function send(request: ModelRequest, signal: AbortSignal) {
    client ??= openClient(options);
    const { chat } = await client;
    for (;;) {
      try {
        return await chat.completions.create(toWire(request, options, quirks), { signal }).withResponse();
      } catch (error) {
        const quirk = yieldTo((words) => objectsTo(error, words), request, options, quirks);
        if (quirk === undefined) throw error;
        quirks.add(quirk);
      }
    }
  }

  return {
    name: `${provider}/${model}`,
    contextTokens: options.contextTokens,
    async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted();
      const call = openCall(signal);
      const answer = createAssembly();
      try {
        call.expectWithin(firstMs);
        const chunks = chunksOf(await call.orStop(send(request, call.signal)));
        let spoken = false;
        for (;;) {
          const next = await call.orStop(chunks.next());
          if (next.done) break;
          const { text, said } = answer.add(next.value);
          spoken ||= said;
          // Until the first word even a server that sends empty chunks uses up its time.
          if (answer.finished || spoken) call.expectNothing();
          if (text !== "") yield { kind: "text", text };
          if (answer.finished) call.expectWithin(countMs);
          else if (spoken) call.expectWithin(idleMs);
        }
      } catch (error) {
        signal.throwIfAborted();
        // Whatever breaks behind the last word takes nothing from the answer.
        if (!answer.finished) throw sortFailure(error, asked);
      } finally {
        call.close();
      }
      signal.throwIfAborted(); // the SDK ends an aborted stream as if it were complete
      yield { kind: "reply", reply: replyOf(answer, asked) };
    },
  };
}

function replyOf(answer: ReturnType<typeof createAssembly>, asked: Asked): Reply {
  try {
    return answer.reply();
  } catch (error) {
    throw sortFailure(error, asked);
  }
}

/** What the client itself has to know. */
export type ClientOptions = Pick<
  OpenAiOptions,
  "apiKey" | "keyHeader" | "headers" | "query" | "baseUrl" | "fetch" | "firstMs"
>;

export async function openClient(options: ClientOptions): Promise<OpenAI> {
  const { apiKey, keyHeader, headers, query, baseUrl, fetch, firstMs = 300_000 } = options;
  const { OpenAI } = await import("openai"); // a tenth of a second that only the first call pays
  return new OpenAI({
    apiKey: apiKey || "none", // it insists on one
    baseURL: baseUrl,
    // Left out, these would come from the environment and go to whatever server this is.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    maxRetries: 0, // see retry.ts
    timeout: 2 * firstMs, // our own watch is stricter, and goes on when the SDK's ends
    logLevel: "off", // it would print what the model said
    defaultHeaders: {
      ...((keyHeader || !apiKey) && { Authorization: null }),
      ...(keyHeader && apiKey && { [keyHeader]: apiKey }),
      ...headers,
    },
    ...(query && { defaultQuery: { ...query } }),
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (response.ok) return response;
      throw new HttpFailure(response.status, response.headers, await response.text());
    },
  });
}

/** The chunks of a stream; a server that does not stream gives its whole answer as one. */
async function* chunksOf(answer: { data: AsyncIterable<unknown>; response: Response }): AsyncGenerator {
  const { data, response } = answer;
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("html")) throw new ProtocolFailure("it answered with a web page");
  if (!type.includes("application/json")) {
    yield* data;
    return;
  }
  const body = await response.text();
  const whole: unknown = JSON.parse(body);
  const refused = typeof whole === "object" && whole !== null && "error" in whole && whole.error;
  if (refused) throw new HttpFailure(response.status, response.headers, body);
  yield whole;
}

/** One call's lifetime: it stops when the caller says so, or when the server falls silent. */
function openCall(outer: AbortSignal) {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: NodeJS.Timeout | undefined;
  let interrupt: ((reason: unknown) => void) | undefined;
  const stop = (reason: unknown): void => {
    controller.abort(reason);
    interrupt?.(reason);
  };
  const onAbort = (): void => stop(outer.reason);
  outer.addEventListener("abort", onAbort, { once: true });
  return {
    signal,
    /** The work's result, or at once the reason to stop: neither fetch nor the SDK can be trusted to notice. */
    orStop: <T>(work: Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason as Error);
        interrupt = reject;
        work.then(resolve, reject);
      }),
    expectWithin(ms: number): void {
      clearTimeout(timer);
      timer = setTimeout(() => stop(new SilenceFailure(`nothing was heard for ${ms / 1000} s`)), ms);
    },
    /** While the reader is busy with what he got, the server's silence is not its own. */
    expectNothing: (): void => clearTimeout(timer),
    close(): void {
      clearTimeout(timer);
      outer.removeEventListener("abort", onAbort);
      controller.abort(); // the connection of a reader who left
    },
  };
}
