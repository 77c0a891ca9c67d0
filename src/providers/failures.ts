/** Sorts whatever goes wrong between us and a model server into a {@link ModelError}, without ever repeating a secret. */
import { reasonOf } from "../util/errors.js";
import { ModelError, type ModelFailure } from "./provider.js";
import { camel } from "./registry.js";

/** Who was asked. */
export type Asked = {
  /** As people know it: `openrouter`. */
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
  /** Keys and header values that must not appear in any message. */
  readonly secrets: readonly string[];
};

const timing: ReadonlySet<string> = new Set(["retry-after", "retry-after-ms", "date"]);

/** An answer that is not a success, with its body as it came: the SDK keeps only the one shape that OpenAI uses. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;

  constructor(status: number, headers: Headers, body: string) {
    super(`HTTP ${status}`);
    this.status = status;
    this.headers = new Headers([...headers].filter(([name]) => timing.has(name))); // the others may hold cookies
    this.body = body.slice(0, 20_000);
  }
}

/** The server answered, but not with what the protocol promises. */
export class ProtocolFailure extends Error {
  override readonly name = "ProtocolFailure";
}

/** An answer that began and did not end. */
export class BrokenOffFailure extends Error {
  override readonly name = "BrokenOffFailure";
}

/** Nothing was heard for too long. */
export class SilenceFailure extends Error {
  override readonly name = "SilenceFailure";
}

/** The model's own reason for stopping, where it means that there is no answer. */
export class FinishFailure extends Error {
  override readonly name = "FinishFailure";
  readonly kind: ModelFailure;

  constructor(kind: ModelFailure, reason: string) {
    super(`finish_reason ${reason}`);
    this.kind = kind;
  }
}

export function sortFailure(error: unknown, asked: Asked): ModelError {
  if (error instanceof ModelError) return error;
  const hide = redactor(asked.secrets);
  const facts = factsOf(error);
  const kind = kindOf(facts);
  const retryAfterMs = kind === "overload" ? retryAfter(facts) : undefined;
  return new ModelError(kind, hide(describe(facts, asked)), fixes[kind](facts, asked), {
    cause: withoutSecrets(error, hide),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Whether the server objects to the request as it was put, in words that match. */
export function objectsTo(error: unknown, words: RegExp): boolean {
  const { status, said } = factsOf(error);
  return status !== undefined && status >= 400 && status < 500 && words.test(said);
}

type Facts = {
  readonly error: unknown;
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The server's `code` and `type`, in lower case. */
  readonly labels: string;
  /** The server's own words. */
  readonly said: string;
  /** Every error on the way down, outermost first. */
  readonly chain: readonly Error[];
};

function factsOf(error: unknown): Facts {
  const chain = causes(error);
  const http = chain.find((link) => link instanceof HttpFailure);
  if (http) {
    const body = bodyFacts(http.body);
    const status = http.status >= 400 ? http.status : body.status; // OpenRouter reports errors with a 200
    return { error, status, headers: http.headers, chain, said: body.said, labels: body.labels };
  }
  // What the SDK throws for an error inside a stream: no status of its own, the server's error object in `error`.
  const reported = chain.find((link) => "error" in link && typeof link.error === "object" && link.error !== null);
  if (reported && "error" in reported) {
    const body = bodyFacts(JSON.stringify({ error: reported.error }));
    const own = "status" in reported && typeof reported.status === "number" ? reported.status : undefined;
    return { error, status: own ?? body.status, headers: undefined, chain, said: body.said, labels: body.labels };
  }
  return { error, status: undefined, headers: undefined, chain, labels: "", said: "" };
}

function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let link = error; link instanceof Error && chain.length < 8; link = link.cause) chain.push(link);
  return chain;
}

/**
 * Servers agree on nothing but JSON: `{error: {message, type, code}}`, `{error: "…"}`, `[{error}]`, `{message}`,
 * `{detail}`; a proxy in between answers with a page.
 */
function bodyFacts(body: string): { status: number | undefined; labels: string; said: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return { status: undefined, labels: "", said: body.startsWith("<") ? pageTitle(body) : body };
  }
  const outer = fields(Array.isArray(parsed) ? parsed[0] : parsed);
  const inner = typeof outer["error"] === "string" ? { message: outer["error"] } : fields(outer["error"] ?? outer);
  const said = [inner["message"], inner["detail"], inner["metadata"], inner["details"]]
    .filter((part) => part !== undefined && part !== null)
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ");
  const code = inner["code"] ?? outer["code"];
  const labels = [code, inner["type"], inner["status"]].filter((part) => part !== undefined && part !== null);
  const status = Number(code);
  return {
    status: status >= 400 && status < 600 ? status : undefined,
    labels: labels.map(String).join(" ").toLowerCase(),
    said: said || body,
  };
}

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const pageTitle = (html: string): string => /<title>([^<]*)<\/title>/i.exec(html)?.[1]?.trim() ?? "a web page";

const tooLong = new RegExp(
  [
    "context_length_exceeded|exceed_context_size|model_context_window_exceeded|string_above_max_length", // labels
    "maximum (?:context|prompt|model) length", // OpenAI, DeepSeek, vLLM, OpenRouter, Mistral, xAI
    "prompt is too long|exceed context limit|input is too long", // Anthropic, Bedrock
    "input token count.{0,40}exceeds the maximum", // Gemini
    "exceeds? the (?:available )?context (?:size|length|window)", // llama.cpp, Ollama
    "exceeded max context length|context length of only|context window exceeds", // Ollama, LM Studio, MiniMax
    "exceeded model token limit|prompt exceeds max length|range of input length should be", // Moonshot, Zhipu, Qwen
    "reduce the length of the (?:messages|input|prompt)|request too large for|too many (?:input )?tokens", // OpenAI, Groq
  ].join("|"),
  "i",
);

const declined = new RegExp(
  [
    "content_policy|content_filter|content management policy|responsibleai", // OpenAI, Azure
    "content exists risk|data_?inspection|inappropriate content", // DeepSeek, Qwen
    "(?:input|prompt|request|content) (?:was|has been|is) (?:flagged|blocked)|prohibited content|safety system", // OpenRouter, Gemini, OpenAI
    "\\b1301\\b", // Zhipu's code for it
  ].join("|"),
  "i",
);

const unpaid = new RegExp(
  [
    "insufficient[ _](?:quota|balance|credits?|funds)|billing_(?:hard_limit|not_active)|exceeded_current_quota",
    "exceeded your current quota|credit balance is too low|requires more credits|out of credits",
    "(?:key|spend|usage|monthly|budget) limit (?:exceeded|reached)|payment required|account (?:is )?(?:suspended|in arrears)",
  ].join("|"),
  "i",
);

/** Google says "exceeded your current quota" for a full minute too, and then says when to come back. */
const comeBack = /retry ?delay|(?:retry|try again) in/i;

const badKey = /api[ _]key (?:not valid|not found|expired|is invalid)|api_key_invalid|invalid[ _]api[ _]key/i;

function kindOf({ error, status, labels, said, chain }: Facts): ModelFailure {
  if (error instanceof FinishFailure) return error.kind;
  const words = `${labels} ${said}`;
  if (status === undefined && words === " ") return kindWithoutAnswer(chain);
  if (status === 413 || tooLong.test(words)) return "too-long";
  if (declined.test(words)) return "content";
  if (status === 402 || (unpaid.test(words) && !comeBack.test(said))) return "limit";
  if (status === 401 || status === 403 || badKey.test(words)) return "auth";
  if (status !== undefined)
    return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
      ? "overload"
      : "request";
  if (/authentication|permission/.test(labels)) return "auth";
  if (/invalid_request|not_found/.test(labels)) return "request";
  return "overload"; // an error in the middle of a stream: the server gave up on this one, not on us
}

const networkCode =
  /^(?:E(?:CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|PROTO|ADDRNOTAVAIL)|UND_ERR_\w+)$/;
const networkWords = /terminated|fetch failed|socket|network|connection error|timed out|aborted|premature close/i;

function kindWithoutAnswer(chain: readonly Error[]): ModelFailure {
  const known = chain.some(
    (link) =>
      link instanceof ProtocolFailure ||
      link instanceof BrokenOffFailure ||
      link instanceof SilenceFailure ||
      link instanceof SyntaxError || // what should have been JSON was not
      networkCode.test(codeOf(link)) ||
      networkWords.test(link.message),
  );
  if (chain.some(isBadHeader)) return "auth";
  return known ? "network" : "request";
}

const codeOf = (link: Error): string => ("code" in link && typeof link.code === "string" ? link.code : "");

/** A key with a line break or a curly quote in it cannot even be sent. */
const isBadHeader = (link: Error): boolean =>
  /invalid header value|ByteString|invalid character in header/i.test(link.message);

function describe(facts: Facts, { provider, model, baseUrl }: Asked): string {
  const { error, status, said, chain } = facts;
  const answered = said.replaceAll(/\s+/g, " ").trim().slice(0, 300);
  if (status !== undefined) return `${provider} answered ${status}${answered ? `: ${answered}` : "."}`;
  if (answered) return `${provider} broke off its answer: ${answered}`;
  if (error instanceof FinishFailure) return `${provider} ended the answer of ${model} with ${error.message}.`;
  if (chain.some(isBadHeader)) return `The key for ${provider} contains a character that cannot be sent.`;
  const innermost = chain.findLast((link) => codeOf(link) !== "") ?? chain.at(-1);
  const code = innermost ? codeOf(innermost) : "";
  const detail = hints[code] ?? (innermost ? [code, innermost.message].filter(Boolean).join(" ") : reasonOf(error));
  return `${provider} at ${hostOf(baseUrl)}: ${detail}`;
}

const hints: Readonly<Record<string, string>> = {
  ENOTFOUND: "there is no machine of that name (ENOTFOUND)",
  EAI_AGAIN: "the name could not be looked up (EAI_AGAIN)",
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  ECONNRESET: "the connection was cut (ECONNRESET)",
};

/** Never the whole URL: some people put a key into it. */
export function hostOf(baseUrl: string): string {
  try {
    return new URL(baseUrl).host;
  } catch {
    return "an unusable address";
  }
}

const fixes: Readonly<Record<ModelFailure, (facts: Facts, asked: Asked) => string>> = {
  auth: (_, { provider, model }) => `Check providers.${camel(provider)}.apiKey, and that this key may use ${model}.`,
  limit: (_, { provider }) =>
    `Look at the balance and the limits of your ${provider} account, or configure another model.`,
  "too-long": () => "Start anew with /new, or lower agents.defaults.contextWindowTokens to what the model really has.",
  content: () => "Put it in other words, or configure another model.",
  overload: () => "Try again in a while; if it happens often, configure another model.",
  network: ({ chain }, { provider }) =>
    chain.some((link) => link instanceof ProtocolFailure || link instanceof SyntaxError)
      ? `Check providers.${camel(provider)}.apiBase: it usually ends in /v1.`
      : `Check the network, and providers.${camel(provider)}.apiBase if you have set it.`,
  request: ({ status }, { provider, model }) =>
    status === 404
      ? `Check agents.defaults.model (${model}) and providers.${camel(provider)}.apiBase.`
      : `Check agents.defaults.model (${model}) and its settings; if they are right, please report this.`,
};

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function retryAfter({ headers, said }: Facts): number | undefined {
  const millis = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (millis >= 0) return millis;
  const header = headers?.get("retry-after") ?? "";
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(header)) return Number(header) * 1000;
  // A date is meant by the server's clock, so it is compared with the server's clock.
  const wait = Date.parse(header) - Date.parse(headers?.get("date") ?? "");
  if (Number.isFinite(wait)) return Math.max(0, wait);
  const told = /(?:retry ?delay"?:\s*"|(?:retry|try again) in )((?:\d+(?:\.\d+)?\s?(?:ms|s|m|h))+)/i.exec(said)?.[1];
  if (told === undefined) return undefined;
  const parts = told.matchAll(/(\d+(?:\.\d+)?)\s?(ms|s|m|h)/gi);
  return Math.ceil(
    [...parts].reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[(unit ?? "").toLowerCase()] ?? 0), 0),
  );
}

/** Anything that looks like a key goes too: servers like to quote the one they refuse. */
const keyLike = /\b(?:sk|pk|rk|gsk|xai|AIza|hf|nvapi)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|(?<=bearer )\S{8,}/gi;

function redactor(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= 8); // "ollama" and "none" are no secrets
  return (text) => known.reduce((safe, secret) => safe.replaceAll(secret, "[key]"), text).replaceAll(keyLike, "[key]");
}

/** The original error where it is harmless; otherwise its words alone, cleaned. */
function withoutSecrets(error: unknown, hide: (text: string) => string): unknown {
  const texts = causes(error).map((link) => `${link.message} ${link instanceof HttpFailure ? link.body : ""}`);
  return texts.every((text) => hide(text) === text) ? error : new Error(hide(texts.join(": ").slice(0, 1000)));
}
