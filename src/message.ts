/** The words everyone speaks. Imports nothing. */

/** `channel:chat_id`, for instance `telegram:42`; nanobot also has keys without a colon, such as `heartbeat`. */
export type SessionKey = string;

export type ToolCall = {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
};

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
