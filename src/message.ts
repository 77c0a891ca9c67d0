/** The words everyone speaks. Imports nothing. */

/** `channel:chat_id`, for instance `telegram:42`; nanobot also has keys without a colon, such as `heartbeat`. */
export type SessionKey = string;

/** Where somebody speaks and is answered. */
export type Address = { readonly channel: string; readonly chat: string };

export const keyOf = ({ channel, chat }: Address): SessionKey => `${channel}:${chat}`;

export type ToolCall = {
  readonly id: string;
  readonly type: "function";
  /** `arguments` is JSON text, as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string };
};

export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

/**
 * One line of a session file after the first: nanobot's field names, in the order they are written. A stored row may
 * lack any of them and carry others; whatever is there is carried along.
 */
export type Row = { readonly [field: string]: unknown };

/** What a model is shown of a row: these five fields and nothing else, in this order. */
export type ViewRow = {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
  readonly name?: unknown;
};

/** One message of a request to a model, as the OpenAI protocol has it. */
export type ModelMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly Part[] }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly name: string; readonly content: string };
