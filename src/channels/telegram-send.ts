/** Messages on their way to Telegram: as HTML, as plain text if that is refused, with what a refusal means. */
import { type Api, GrammyError, InputFile } from "grammy";
import { LRUCache } from "lru-cache";
import type { Address } from "../message.js";
import { type Channel, type Receipt, SendFailure, type Sending } from "./channel.js";
import { refusedWith, sortFailure } from "./telegram-failures.js";
import type { GroupLimit } from "./telegram-group-limit.js";
import { messageIn } from "./telegram-inbound.js";
import { native } from "./telegram-poll.js";
import { splitMarkdown } from "./telegram-split.js";
import { escapeHtml, htmlOf, runsOf, visibleText } from "./telegram-text.js";
import { type FileKind, kindOf, type Mode, senders } from "./telegram-upload.js";

/** Telegram cannot recognise a repeat, so the reader is told. */
export const repeatLabel = "↻ (maybe repeated) ";
const textMost = 4096;
/** Room for the label, should a part have to be sent again. */
const partMost = textMost - repeatLabel.length;
const captionMost = 1024;
const migrationsKept = 1000;

export type SenderParts = {
  readonly api: Api;
  /** For files, which take longer. */
  readonly uploads: Api;
  readonly token: string;
  /** An answer shows which message it answers. */
  readonly quotes: boolean;
  readonly groups: GroupLimit;
};

export type Sender = Required<Pick<Channel, "send" | "split" | "typing" | "edit">>;

/** A chat, and a topic in it, as Telegram's methods want them. */
type Place = { readonly chat: number | string; readonly thread?: number };
type TextSending = Extract<Sending, { kind: "text" }>;
type Written = { readonly html: string; readonly plain: string };

export function createSender({ api, uploads, token, quotes, groups }: SenderParts): Sender {
  /** Groups that became supergroups have another id since. */
  const moved = new LRUCache<string, number>({ max: migrationsKept });

  /** One message; what stands in its way but not in the way of the words is stepped around. */
  const patiently = async <T>(to: Address, signal: AbortSignal, call: (place: Place) => Promise<T>): Promise<T> => {
    if (signal.aborted) throw new SendFailure("later", "The gateway is stopping.");
    const { chat, thread } = placeOf(to);
    const target = moved.get(String(chat)) ?? chat;
    groups.take(target);
    try {
      return await inTopicOrChat(target, thread, call);
    } catch (error) {
      const newChat = error instanceof GrammyError ? error.parameters.migrate_to_chat_id : undefined;
      if (newChat === undefined) throw sortFailure(error, token);
      moved.set(String(chat), newChat);
    }
    try {
      return await inTopicOrChat(moved.get(String(chat)) ?? chat, thread, call);
    } catch (error) {
      throw sortFailure(error, token);
    }
  };

  const sendText = async (message: TextSending, signal: AbortSignal): Promise<Receipt> => {
    const { to, text, mayRepeat } = message;
    const { html, plain } = written(text, mayRepeat, textMost);
    const quote = quotes ? quoteOf(message) : {};
    const sent = await patiently(to, signal, ({ chat, thread }) =>
      asHtmlOrPlain(html, plain, (words, mode) =>
        quotingOrNot(quote, (shown) =>
          api.sendMessage(chat, words, { ...inTopic(thread), ...shown, ...mode }, native(signal)),
        ),
      ),
    );
    return { id: String(sent.message_id) };
  };

  const sendFile = async (
    to: Address,
    path: string,
    { html, plain }: Written,
    signal: AbortSignal,
  ): Promise<Receipt> => {
    const kind = await kindOf(path);
    const upload = (as: FileKind, { chat, thread }: Place) =>
      asHtmlOrPlain(html, plain, (caption, mode) => {
        const options = { ...inTopic(thread), ...(caption !== "" && { caption, ...mode }) };
        return senders[as](uploads, chat, new InputFile(path), options, native(signal));
      });
    const sent = await patiently(to, signal, async (place) => {
      try {
        return await upload(kind, place);
      } catch (error) {
        // Too thin a picture, too odd a sound: as a document everything goes.
        if (kind === "document" || !refusedWith(error, /photo|image|voice|audio|video|wrong file|file type/i))
          throw error;
        return upload("document", place);
      }
    });
    return { id: String(sent.message_id) };
  };

  return {
    send: (message, signal) =>
      message.kind === "text"
        ? sendText(message, signal)
        : sendFile(message.to, message.path, written(message.caption, message.mayRepeat, captionMost), signal),

    split: (text) => splitMarkdown(text, partMost),

    async typing(to, signal) {
      const { chat, thread } = placeOf(to);
      // It is a courtesy: nothing waits for it and nobody misses it.
      const options = thread === undefined ? {} : { message_thread_id: thread };
      await api.sendChatAction(moved.get(String(chat)) ?? chat, "typing", options, native(signal)).catch(() => {});
    },

    async edit(to, { id }, text, signal) {
      const { html, plain } = written(text, false, textMost);
      await patiently(to, signal, async ({ chat }) => {
        try {
          await asHtmlOrPlain(html, plain, (words, mode) =>
            api.editMessageText(chat, Number(id), words, mode, native(signal)),
          );
        } catch (error) {
          if (!refusedWith(error, /message is not modified/i)) throw error;
        }
      });
    },
  };
}

function placeOf({ chat }: Address): Place {
  const [, id, thread] = /^(-?\d+|@\w+)(?::topic:(\d+))?$/.exec(chat) ?? [];
  if (id === undefined) throw new SendFailure("never", `"${chat}" is no chat of Telegram.`);
  return { chat: id.startsWith("@") ? id : Number(id), ...(thread !== undefined && { thread: Number(thread) }) };
}

/** The first topic of a forum, "General", is number 1 when it speaks and none when it is spoken to. */
const inTopic = (thread: number | undefined) =>
  thread === undefined || thread === 1 ? {} : { message_thread_id: thread };

type Quote = {
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: true };
};

/** Only a message of this chat can be quoted; an id of our own making names none. */
function quoteOf({ to, answers = "" }: TextSending): Quote {
  const said = messageIn(answers);
  if (said === undefined || said.chat !== placeOf(to).chat) return {};
  return { reply_parameters: { message_id: said.message, allow_sending_without_reply: true } };
}

/** What is quoted may be gone, with its topic even; then the words go alone. */
async function quotingOrNot<T>(quote: Quote, call: (quote: Quote) => Promise<T>): Promise<T> {
  try {
    return await call(quote);
  } catch (error) {
    if (!quote.reply_parameters || !refusedWith(error, /repl(?:y|ied)/i)) throw error;
    return call({});
  }
}

/** In a plain group a chain of replies has a thread number too, which Telegram does not take back. */
async function inTopicOrChat<T>(
  chat: Place["chat"],
  thread: number | undefined,
  call: (place: Place) => Promise<T>,
): Promise<T> {
  if (thread === undefined) return call({ chat });
  try {
    return await call({ chat, thread });
  } catch (error) {
    if (!refusedWith(error, /message thread not found/i)) throw error;
    return call({ chat });
  }
}

/** Only a refusal of the markup is answered by plain text; after any other failure the message may have arrived. */
async function asHtmlOrPlain<T>(
  html: string,
  plain: string,
  call: (words: string, mode: Mode) => Promise<T>,
): Promise<T> {
  try {
    return await call(html, { parse_mode: "HTML" });
  } catch (error) {
    if (!refusedWith(error, /can't parse|entit|unsupported start tag/i)) throw error;
    return call(plain, {});
  }
}

function written(markdown: string, mayRepeat: boolean, most: number): Written {
  const label = mayRepeat ? repeatLabel : "";
  const room = most - label.length;
  const fits = visibleText(runsOf(markdown)).length <= room;
  const source = fits ? markdown : `${splitMarkdown(markdown, room - 3)[0] ?? ""}\n\n…`;
  const runs = runsOf(source);
  const shown = visibleText(runs);
  // Markup around nothing shows nothing, and Telegram takes no empty message.
  const html = shown === "" ? escapeHtml(source.trim()) : htmlOf(runs);
  return { html: label + html, plain: label + (source.length <= room ? source : shown) };
}
