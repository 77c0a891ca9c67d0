/** The words everyone speaks. Imports nothing. */

/** `channel:chat_id`, for instance `telegram:42`; nanobot also has keys without a colon, such as `heartbeat`. */
export type SessionKey = string;

/** Where somebody speaks and is answered. */
export type Address = { readonly channel: string; readonly chat: string };

export const keyOf = ({ channel, chat }: Address): SessionKey => `${channel}:${chat}`;

/** A message on its way in, as a channel hands it over. */
export type Inbound = {
  /** The platform's own id, unique within the channel: how a redelivery is recognised. */
  readonly id: string;
  /** Where it was said and will be answered. A topic or thread is part of `chat`: `-100:topic:5`, `11:thread:22`. */
  readonly from: Address;
  /** Who said it: ids and names that `allowFrom` may list, the most specific first. */
  readonly sender: readonly string[];
  readonly text: string;
  /** Files that came with it, already saved. */
  readonly media: readonly string[];
  /** Files that came with it and are still with its platform: they are saved when its turn begins. */
  readonly attachments?: readonly Attachment[];
  /** When it was said, by the platform's clock. */
  readonly sentAt?: number;
  /** It was said while nobody listened, and fetched afterwards. */
  readonly missed?: true;
  /** The conversation it belongs to, where that is not the chat it comes from. */
  readonly session?: SessionKey;
  /** Nobody waits for an answer: one that says {@link nothingToSay} is not sent. */
  readonly quiet?: true;
  /** A turn that takes longer than this is stopped. */
  readonly limitMs?: number;
  /** It stands alone: nothing that was said before is shown. */
  readonly stateless?: true;
};

/** A file that is still with its platform. */
export type Attachment = {
  /** What stands for it in the text while it is not here: `[image]`. */
  readonly marker: string;
  /** How its channel finds it: plain JSON, which nobody else reads. */
  readonly reference: unknown;
};

/** The words of a message, and behind them what stands for its files. */
export const withMarkers = (text: string, files: readonly { readonly marker: string }[]): string =>
  [text, ...files.map(({ marker }) => marker)].filter((part) => part !== "").join("\n");

/** A message as people are shown it, wherever its files are. */
export const shownText = ({ text, attachments = [] }: Inbound): string => withMarkers(text, attachments);

/** How the agent says that there is nothing worth telling, when nobody has asked. */
export const nothingToSay = "[SILENT]";

/** One message on its way out: what fits into one message of the platform. */
export type Outbound =
  | {
      readonly kind: "text";
      readonly to: Address;
      readonly text: string;
      /** The platform's id of the message this answers, on the first part of an answer. */
      readonly answers?: string;
      /** The platform's id of a message of ours that this takes the place of. */
      readonly replaces?: string;
    }
  | { readonly kind: "file"; readonly to: Address; readonly path: string; readonly caption: string };

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
