/** What is sent to a server that speaks OpenAI's chat completions: our request in its words, and nothing else. */
import { createHash } from "node:crypto";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ModelMessage } from "../message.js";
import type { ModelRequest } from "./provider.js";

export type Tuning = {
  /** The model's name as the server knows it. */
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly reasoningEffort?: string | undefined;
  /** Mark the parts of a request that Claude should keep in its cache. */
  readonly cacheMarks?: boolean;
};

/** What a server or a model turned out not to take. Found out by its objection, then remembered. */
export type Quirk =
  | "free-choice"
  | "no-usage"
  | "no-temperature"
  | "completion-tokens"
  | "max-tokens"
  | "no-limit"
  | "no-images";

/** In the order in which they are looked for: the first one that fits and is new is tried. */
const objections: readonly { readonly quirk: Quirk; readonly words: RegExp }[] = [
  { quirk: "no-usage", words: /stream_options|include_usage/i },
  { quirk: "completion-tokens", words: /max_completion_tokens['"`]? instead/i },
  {
    quirk: "no-limit",
    words: /max_(?:completion_)?tokens.{0,60}(?:too (?:large|high|big)|at most|valid range|less than)/i,
  },
  { quirk: "max-tokens", words: /max_completion_tokens/i },
  { quirk: "no-temperature", words: /temperature/i },
  {
    quirk: "no-images",
    words: /image.{0,80}(?:not support|unsupported)|(?:not support|unsupported).{0,80}image|image_url/i,
  },
  { quirk: "free-choice", words: /tool[ _]?choice|does not support|should be \["none", "auto"\]/i },
];

/** Models that think before they speak: they take no temperature and count their thoughts as output. */
const thinkingModel = /(?:^|\/)(?:gpt-[5-9]|o[1-9])(?![a-z])/i;

export function toWire(
  request: ModelRequest,
  tuning: Tuning,
  quirks: ReadonlySet<Quirk>,
): ChatCompletionCreateParamsStreaming {
  const { model, maxTokens, temperature, reasoningEffort } = tuning;
  const thinking = thinkingModel.test(model);
  const counter =
    (thinking || quirks.has("completion-tokens")) && !quirks.has("max-tokens") ? "max_completion_tokens" : "max_tokens";
  const body = {
    model,
    messages: wireMessages(request.messages, model, quirks.has("no-images")),
    stream: true,
    ...(!quirks.has("no-usage") && { stream_options: { include_usage: true } }),
    ...(maxTokens !== undefined && !quirks.has("no-limit") && { [counter]: Math.max(1, maxTokens) }),
    ...(temperature !== undefined && !thinking && !quirks.has("no-temperature") && { temperature }),
    ...(reasoningEffort && { reasoning_effort: reasoningEffort }),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters: plain(parameters) },
      })),
      tool_choice:
        request.mustCall === undefined || quirks.has("free-choice")
          ? "auto"
          : { type: "function", function: { name: request.mustCall } },
    }),
  };
  if (tuning.cacheMarks) markForCache(body.messages);
  // The SDK's types know one server; the messages of a stored conversation may hold anything that JSON can.
  return body as unknown as ChatCompletionCreateParamsStreaming;
}

/** What to leave out after an objection: the first thing it can mean that would make the request another one. */
export function yieldTo(
  objectsTo: (words: RegExp) => boolean,
  request: ModelRequest,
  tuning: Tuning,
  quirks: ReadonlySet<Quirk>,
): Quirk | undefined {
  const bodyWith = (known: ReadonlySet<Quirk>): string => JSON.stringify(toWire(request, tuning, known));
  const fitting = objections.filter(({ quirk, words }) => !quirks.has(quirk) && objectsTo(words));
  return fitting.find(({ quirk }) => bodyWith(new Set([...quirks, quirk])) !== bodyWith(quirks))?.quirk;
}

type WireMessage = {
  role: string;
  content: string | null | readonly object[];
  tool_calls?: readonly object[];
  tool_call_id?: string;
  name?: string;
};

/** Each message is built anew from the fields of the protocol, so that nothing of ours can leave with it. */
function wireMessages(messages: readonly ModelMessage[], model: string, withoutImages: boolean): WireMessage[] {
  const id = (raw: unknown): string => wireId(text(raw), model);
  return messages.map((message): WireMessage => {
    const { role } = message;
    const calls = role === "assistant" && message.tool_calls?.length ? message.tool_calls : undefined;
    // Some servers refuse an empty message, so it says that it is one.
    const content = wireContent(message.content, withoutImages) ?? (calls ? null : "(empty)");
    if (role === "tool") return { role, content, tool_call_id: id(message.tool_call_id), name: text(message.name) };
    if (!calls) return { role, content };
    return {
      role,
      content,
      tool_calls: calls.map((call) => ({
        id: id(call.id),
        type: "function",
        function: { name: text(call.function.name), arguments: text(call.function.arguments) },
        ...(needsSignature.test(model) && unsigned),
      })),
    };
  });
}

/** Gemini 3 refuses calls without the signature of the thought behind them; these words tell it that there is none. */
const needsSignature = /gemini-[3-9]/i;
const unsigned = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };

function wireContent(content: unknown, withoutImages: boolean): string | readonly object[] | undefined {
  if (!Array.isArray(content)) return text(content) || undefined;
  const parts = content.map((part) => wirePart(part, withoutImages)).filter((part) => part !== undefined);
  return parts.length > 0 ? parts : undefined;
}

function wirePart(part: unknown, withoutImages: boolean): object | undefined {
  if (isImage(part)) {
    const url = text(part.image_url.url);
    return withoutImages ? { type: "text", text: "[image]" } : { type: "image_url", image_url: { url } };
  }
  const words = typeof part === "object" && part !== null && "text" in part ? text(part.text) : text(part);
  return words === "" ? undefined : { type: "text", text: words };
}

const isImage = (part: unknown): part is { image_url: { url: unknown } } =>
  typeof part === "object" &&
  part !== null &&
  "image_url" in part &&
  typeof part.image_url === "object" &&
  part.image_url !== null;

/** Whatever a stored row holds as text: half a surrogate pair would make many servers refuse the whole request. */
function text(value: unknown): string {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || value === undefined) return "";
  return (JSON.stringify(plain(value)) ?? "").toWellFormed();
}

/** Integers beyond 2^53 are BigInts, which JSON cannot print; as text they keep every digit. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Number) return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

const nineOnly = /(?:mi[sx]tral|ministral|codestral|devstral|magistral|pixtral)/i;

/** A call's id as the server takes it; the same for the call and for its result. Most take anything up to 40 characters. */
function wireId(id: string, model: string): string {
  if (nineOnly.test(model)) return /^[a-zA-Z0-9]{9}$/.test(id) ? id : digest(id).slice(0, 9);
  return id.length > 40 ? digest(id) : id;
}

const digest = (id: string): string => createHash("sha1").update(id).digest("hex");

/** Claude keeps what lies before a mark: the tools and the system message, and the conversation up to the last but one. */
function markForCache(messages: WireMessage[]): void {
  const marked = new Set([
    messages.findIndex(({ role }) => role === "system"),
    messages.length >= 3 ? messages.length - 2 : -1,
  ]);
  for (const at of marked) {
    const message = messages[at];
    if (!message || typeof message.content !== "string") continue;
    message.content = [{ type: "text", text: message.content, cache_control: { type: "ephemeral" } }];
  }
}
