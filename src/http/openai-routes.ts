/**
 * The OpenAI protocol, so that any client of it can talk to the agent. A conversation is kept here, under the name of the
 * `user` (or `session_id`): of the messages in a request only the last one of the user is new, and only that is read.
 */
import { randomBytes } from "node:crypto";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod/mini";
import type { Inbound } from "../message.js";
import type { Usage } from "../providers/provider.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { type Answer, createAnswer, createTextFlow } from "./answer.js";
import { ask, type AskParts } from "./asking.js";
import { chatName } from "./chat-names.js";
import type { Asked, DoorApp, OpenStream } from "./event-stream.js";
import { NoPicture, savePictures, withPictures } from "./pictures.js";

export type OpenAiParts = AskParts & {
  readonly openStream: OpenStream;
  readonly modelName: string;
  /** Where the pictures of this door are kept. */
  readonly mediaOf: (door: string) => string;
  readonly now: () => number;
  readonly log: Log;
};

const maybe = <T extends z.ZodMiniType>(type: T) => z.optional(z.nullable(type));

export const completionRequest = z.looseObject({
  model: maybe(z.string()),
  messages: z.array(z.looseObject({ role: z.string(), content: z.optional(z.unknown()) })),
  stream: maybe(z.boolean()),
  stream_options: maybe(z.looseObject({ include_usage: maybe(z.boolean()) })),
  user: maybe(z.string().check(z.maxLength(1000))),
  session_id: maybe(z.string().check(z.maxLength(1000))),
  n: maybe(z.int()),
});
type Request = z.infer<typeof completionRequest>;

const content = z.union([
  z.string(),
  z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
    ]),
  ),
]);

const usageSchema = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }),
});

export const completion = z.object({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({ role: z.literal("assistant"), content: z.string(), refusal: z.null() }),
      logprobs: z.null(),
      finish_reason: z.literal("stop"),
    }),
  ),
  usage: usageSchema,
});

export const modelEntry = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.literal("nanogate"),
});

export const modelList = z.object({ object: z.literal("list"), data: z.array(modelEntry) });

export const openAiError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.nullable(z.string()),
    code: z.nullable(z.string()),
  }),
});

/** A request that is not answered, in OpenAI's words. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: ContentfulStatusCode;
  readonly body: z.infer<typeof openAiError>;

  constructor(status: ContentfulStatusCode, message: string, kind: Kind) {
    super(message);
    this.status = status;
    this.body = { error: { message, type: kind.type, param: kind.param ?? null, code: kind.code ?? null } };
  }
}
type Kind = { readonly type: string; readonly param?: string | null; readonly code?: string | null };

/** Any client of ours may call the agent by this name. */
const alias = "nanogate";

export function addOpenAiRoutes(app: DoorApp, parts: OpenAiParts): void {
  const { openStream, modelName, mediaOf, now, log } = parts;
  const startedAt = Math.floor(now() / 1000);

  const entryOf = (id: string) => ({ id, object: "model", created: startedAt, owned_by: "nanogate" });

  app.get("/v1/models", (context) => context.json({ object: "list", data: [modelName, alias].map(entryOf) }));

  app.get("/v1/models/:id", (context) => {
    const id = context.req.param("id");
    return id === modelName || id === alias ? context.json(entryOf(id)) : refuse(context, noSuchModel(id, modelName));
  });

  app.post("/v1/chat/completions", (context) =>
    complete(context).catch((error: unknown) => {
      if (error instanceof Refusal) return refuse(context, error);
      log.warn(`POST /v1/chat/completions: ${reasonOf(error)}`, { error });
      return refuse(context, failure({ kind: "failed", words: "Something went wrong here. The log says what." }));
    }),
  );

  const complete = async (context: Asked): Promise<Response> => {
    const request = await requestIn(context, modelName);
    const id = `chatcmpl-${randomBytes(6).toString("hex")}`;
    const question = await questionOf(request, id, mediaOf("api"));
    const head = { id, created: Math.floor(now() / 1000), model: request.model ?? modelName };
    if (request.stream) return streamed(context, request, question, head);

    const answer = createAnswer();
    await ask(parts, question, (told) => answer.hear(told)).over;
    const { result } = answer;
    if (result.kind !== "answered") throw failure(result);
    const message = { role: "assistant", content: result.text, refusal: null };
    return context.json({
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
      usage: usageOf(result.usage),
    });
  };

  const streamed = (
    context: Asked,
    { stream_options: options }: Request,
    question: Inbound,
    head: { readonly id: string; readonly created: number; readonly model: string },
  ): Response =>
    openStream(context, ({ send, end }) => {
      const withUsage = options?.include_usage === true;
      const chunk = (choices: readonly object[], usage?: object): void =>
        send(
          JSON.stringify({
            ...head,
            object: "chat.completion.chunk",
            choices,
            ...(withUsage && { usage: usage ?? null }),
          }),
        );
      const delta = (fields: object, finish: "stop" | null = null): void =>
        chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }]);
      const answer = createAnswer();
      const flow = createTextFlow((text) => delta({ content: text }));
      delta({ role: "assistant", content: "" });
      const { over, leave } = ask(parts, question, (told) => {
        answer.hear(told);
        flow.hear(told);
      });
      const finish = async (): Promise<void> => {
        await over.catch((error: unknown) => log.warn(`${head.id} was not taken: ${reasonOf(error)}`, { error }));
        const { result } = answer;
        if (result.kind === "answered") {
          flow.end(result.text);
          delta({}, "stop");
          if (withUsage) chunk([], usageOf(result.usage));
        } else send(JSON.stringify(failure(result).body));
        send("[DONE]");
        end();
      };
      void finish();
      return leave;
    });
}

const noSuchModel = (asked: string, modelName: string): Refusal =>
  new Refusal(404, `There is no model ${JSON.stringify(asked)} here; ${modelName} answers.`, {
    type: "invalid_request_error",
    param: "model",
    code: "model_not_found",
  });

async function requestIn(context: Asked, modelName: string): Promise<Request> {
  const body: unknown = await context.req.json().catch(() => undefined);
  const parsed = z.safeParse(completionRequest, body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const param = issue?.path.join(".") || null;
    throw invalid(body === undefined ? "The body is not JSON." : `${param ?? "The body"}: ${issue?.message}`, param);
  }
  const { model, n } = parsed.data;
  if (model && model !== modelName && model !== alias) throw noSuchModel(model, modelName);
  if (n && n > 1) throw invalid("There is one answer to a message.", "n", "unsupported_value");
  return parsed.data;
}

/** The last thing the user said. */
async function questionOf(request: Request, id: string, mediaFolder: string): Promise<Inbound> {
  const last = request.messages.findLast(({ role }) => role === "user");
  if (!last) throw invalid("There is no message of the user.", "messages");
  const said = z.safeParse(content, last.content);
  if (!said.success) throw invalid("The user's message is a text, or a list of text and image_url parts.", "messages");
  const pieces = typeof said.data === "string" ? [{ type: "text", text: said.data } as const] : said.data;
  const words = pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])).join("\n\n");
  const urls = pieces.flatMap((piece) => (piece.type === "image_url" ? [piece.image_url.url] : []));
  if (words.trim() === "" && urls.length === 0) throw invalid("The user's message is empty.", "messages");
  const media = await savePictures(mediaFolder, id, urls).catch((error: unknown) => {
    throw error instanceof NoPicture ? invalid(error.message, "messages", "invalid_image") : error;
  });
  const chat = chatName((request.user || request.session_id || "default").toWellFormed());
  return { id, from: { channel: "api", chat }, sender: ["owner"], text: withPictures(words, media), media };
}

const refuse = (context: Asked, { status, body }: Refusal): Response => {
  // The official clients ask again by themselves; what has failed once for good would only cost the same again.
  if (status === 500) context.header("x-should-retry", "false");
  if (status === 429 || status === 503) context.header("retry-after", "5");
  return context.json(body, status);
};

const invalid = (message: string, param: string | null, code: string | null = null): Refusal =>
  new Refusal(400, message, { type: "invalid_request_error", param, code });

/** Clients of OpenAI know more of its paths than there are here. */
export const unknownUrl = (message: string): z.infer<typeof openAiError> =>
  new Refusal(404, message, { type: "invalid_request_error", code: "unknown_url" }).body;

function failure({ kind, words }: Exclude<Answer, { kind: "answered" }>): Refusal {
  if (kind === "busy") return new Refusal(429, words, { type: "requests", code: "rate_limit_exceeded" });
  if (kind === "postponed") return new Refusal(503, words, { type: "server_error", code: "shutting_down" });
  return new Refusal(500, words, { type: "server_error", code: "turn_failed" });
}

const usageOf = ({ input, output, cached }: Usage): z.infer<typeof usageSchema> => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
});
