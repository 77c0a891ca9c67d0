/** The port to a language model: messages in, a stream of events out, every failure sorted. */
import type { ModelMessage, ToolCall } from "../message.js";
import { UserError } from "../util/errors.js";

export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
};

export type ModelRequest = {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** The name of a tool the model has to call; absent: it may call what it likes. */
  readonly mustCall?: string;
};

/** Tokens of one call. `cached` are among `input`. */
export type Usage = { readonly input: number; readonly output: number; readonly cached: number };

export type Reply = {
  readonly text: string | null;
  readonly toolCalls: readonly ToolCall[];
  /** What the model thought aloud, where the API has a field for it. */
  readonly reasoning?: string;
  /** `length`: cut off at the output limit. */
  readonly end: "stop" | "tools" | "length";
  readonly usage: Usage;
};

export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  /** The attempt broke off and another begins: the text so far counts for nothing. */
  | { readonly kind: "restart" }
  /** Always the last event, and only of a reply that is complete. */
  | { readonly kind: "reply"; readonly reply: Reply };

export type Model = {
  /** `provider/model`, for people. */
  readonly name: string;
  /** How many tokens a request and its answer may have together, where known. */
  readonly contextTokens: number;
  /**
   * One call. Ends with a `reply` event or throws a {@link ModelError}; an aborted signal throws its own reason. A stream
   * that stops half-way is an error, not an answer.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
};

/** Why a model could not answer. Each kind is handled differently, and told differently. */
export type ModelFailure = "auth" | "limit" | "too-long" | "content" | "overload" | "network" | "request";

/** What the people in the chat are told. The owner gets the message and the fix. */
const told: Readonly<Record<ModelFailure, string>> = {
  auth: "I cannot reach my language model: it does not accept my key. Please tell the person who runs me.",
  limit: "My language model has reached its usage limit. Please try again later.",
  "too-long": "This conversation has become too long for my language model. `/new` starts a fresh one.",
  content: "My language model declined to answer this.",
  overload: "My language model is overloaded right now. Please try again in a moment.",
  network: "I cannot reach my language model right now. Please try again in a moment.",
  request: "My language model rejected the request. Please tell the person who runs me.",
};

export class ModelError extends UserError {
  override readonly name = "ModelError";
  readonly kind: ModelFailure;
  /** The server asked to wait this long before another try. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelFailure,
    message: string,
    fix: string,
    options: ErrorOptions & { retryAfterMs?: number } = {},
  ) {
    super(message, fix, options);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** One sentence for the chat, without internals. */
  get told(): string {
    return told[this.kind];
  }
}

/** Reads a stream to its end. Whoever shows the text as it comes has to take it back on a restart. */
export async function complete(
  events: AsyncIterable<ModelEvent>,
  onText?: (text: string) => void,
  onRestart?: () => void,
): Promise<Reply> {
  for await (const event of events) {
    if (event.kind === "reply") return event.reply;
    if (event.kind === "restart") onRestart?.();
    else onText?.(event.text);
  }
  throw new ModelError(
    "network",
    "The model's answer broke off.",
    "Try again; if it happens often, look at the network.",
  );
}
