/** From what Telegram reports to an Inbound: who speaks where, is the bot meant, and what is said. */
import type { Message, MessageEntity, Update, User } from "grammy/types";
import { LRUCache } from "lru-cache";
import type { Inbound } from "../message.js";
import type { Group } from "./telegram-albums.js";
import { attachmentOf, filesOf, type TelegramFile } from "./telegram-media.js";

export type Me = Pick<User, "id"> & { readonly username: string };
export type GroupPolicy = "mention" | "open";

/** A message, and how Telegram knows it. Its files are only named: nothing is fetched here. */
export type Heard = { readonly message: Inbound; readonly messageId: number; readonly chatId: number };

/**
 * An edit soon after a message is a correction of what was asked, and becomes a message of its own, marked as edited: the
 * answer to the first wording may be out already. A later one is somebody tidying up, who does not want an answer.
 */
const editWindowSeconds = 15 * 60;
const quoteMost = 4000;
const textsKept = 500;

/** What a group of updates says to the bot, if it does. */
export function createInboundReader(me: Me, policy: GroupPolicy): (group: Group) => Heard | undefined {
  /** Telegram reports an "edit" for a link preview too: then the words are those already known. */
  const known = new LRUCache<string, string>({ max: textsKept });

  return function read(group) {
    const messages = group.flatMap(({ message, edited_message: edited }: Update) => message ?? edited ?? []);
    const [first] = messages;
    const sender = first && senderOf(first);
    if (!first || !sender) return undefined;
    const texts = messages.map((message) => [wordsOf(message), message] as const);
    // `/new@otherbot` is none of our business, whatever else we hear in the group.
    if (texts.some(([text]) => isForOther(text, me))) return undefined;
    if (policy !== "open" && first.chat.type !== "private" && !messages.some((message) => isMeant(message, me))) {
      return undefined;
    }
    const place = `${first.chat.id}/${first.message_id}`;
    const said = texts
      .map(([text, message]) => commandOf(first.chat.type === "private" ? text : withoutMention(text, message, me)))
      .filter((text) => text !== "")
      .join("\n");
    const own = messages.flatMap(filesOf);
    const edited = group[0]?.edited_message !== undefined;
    if (edited && (!isCorrection(first) || said === "" || known.get(place) === said)) return undefined;
    known.set(place, said);
    const other = messages.map(otherContent).filter((text) => text !== "");
    const text = [said, ...other].filter((part) => part !== "").join("\n");
    const mentioned = wordsOf(first) !== "";
    // A service message ("Ann joined") says nothing; a bare mention does.
    if (text === "" && own.length === 0 && !mentioned) return undefined;
    const isCommand = text.startsWith("/");
    const replied = isCommand ? undefined : first.reply_to_message;
    const files = unique([...(replied ? filesOf(replied) : []), ...own]);
    const words = [isCommand ? "" : quoteOf(first), edited && !isCommand ? `(edited) ${text}` : text]
      .filter((part) => part !== "")
      .join("\n");
    const message: Inbound = {
      id: edited ? `${place}/${first.edit_date ?? 0}` : place,
      from: { channel: "telegram", chat: chatOf(first) },
      sender,
      text: words === "" && files.length === 0 ? "[empty message]" : words,
      media: [],
      ...(files.length > 0 && { attachments: files.map(attachmentOf) }),
      sentAt: (first.edit_date ?? first.date) * 1000,
    };
    return { message, messageId: first.message_id, chatId: first.chat.id };
  };
}

/** The message that an id of {@link Heard} names, if it does. */
export function messageIn(id: string): { readonly chat: number; readonly message: number } | undefined {
  const [, chat, message] = /^(-?\d+)\/(\d+)(?:\/\d+)?$/.exec(id) ?? [];
  return message === undefined ? undefined : { chat: Number(chat), message: Number(message) };
}

const isCorrection = ({ date, edit_date: edit = 0 }: Message): boolean => edit - date <= editWindowSeconds;

const wordsOf = ({ text, caption }: Message): string => text ?? caption ?? "";
const entitiesOf = ({ entities, caption_entities }: Message): readonly MessageEntity[] =>
  entities ?? caption_entities ?? [];

/** nanobot's names: a topic is a conversation of its own, in a group and, for bots that have them, in a private chat. */
function chatOf({ chat, message_thread_id: thread, is_topic_message: inTopic }: Message): string {
  const isTopic = thread !== undefined && (chat.type !== "private" || inTopic === true);
  return isTopic ? `${chat.id}:topic:${thread}` : String(chat.id);
}

/** Somebody who speaks as a channel or as "the group" is that, not the stand-in that Telegram shares among all of them. */
function senderOf({ from, sender_chat: group }: Message): readonly string[] | undefined {
  const who = group ?? from;
  // Bots that answer each other never end.
  if (!who || (!group && from?.is_bot)) return undefined;
  const id = String(who.id);
  const name = "username" in who ? who.username : undefined;
  return name === undefined || name === "" ? [id] : [id, name, `${id}|${name}`];
}

// Is the bot meant? -------------------------------------------------------------------------------------------------

function isMeant(message: Message, me: Me): boolean {
  const text = wordsOf(message);
  const reply = message.reply_to_message;
  // Every message of a topic "replies" to its opening, which the bot may have made.
  if (reply?.from?.id === me.id && !reply.forum_topic_created) return true;
  return handle(me).test(text) || mentions(message, me).length > 0;
}

/** The bot's name as a word of its own, not a part of an address. */
const handle = ({ username }: Me): RegExp =>
  new RegExp(`(?<![\\w@])@${username}(?!\\w)|(?<=^/\\w+)@${username}\\b`, "gi");

/** Mentions that carry the account instead of its name. */
const mentions = (message: Message, me: Me): readonly MessageEntity[] =>
  entitiesOf(message).filter((entity) => entity.type === "text_mention" && entity.user.id === me.id);

function withoutMention(text: string, message: Message, me: Me): string {
  const bare = [...mentions(message, me)]
    .sort((one, other) => other.offset - one.offset)
    .reduce((rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length), text);
  const without = bare.replaceAll(handle(me), "").replaceAll(/(?<=\w) (?=[,.!?;:](?:\s|$))/g, "");
  if (without === text) return text;
  return without
    .replaceAll(/(?<=\S)[^\S\n]{2,}(?=\S)/g, " ")
    .replace(/^[\s,:]+/, "")
    .trim();
}

const addressed = /^\/(\w+)@(\w+)/;

function isForOther(text: string, me: Me): boolean {
  const [, , name = me.username] = addressed.exec(text) ?? [];
  return name.toLowerCase() !== me.username.toLowerCase();
}

/** `/new@bot` is `/new`. `/start` is what Telegram says for whoever opens the bot: they want to know what it can do. */
function commandOf(text: string): string {
  const command = text.replace(addressed, "/$1");
  return /^\/start(?:\s|$)/.test(command) ? "/help" : command;
}

// What else there is ------------------------------------------------------------------------------------------------

/** The words replied to, or the part of them that was picked. */
function quoteOf({ reply_to_message: reply, quote }: Message): string {
  const text = quote?.text ?? (reply ? wordsOf(reply) : "");
  return text === ""
    ? ""
    : `[Reply to: ${text
        .slice(0, quoteMost)
        .toWellFormed()
        .replace(/\uFFFD$/, "")}]`;
}

function otherContent({ sticker, location, venue, contact, poll, dice }: Message): string {
  if (sticker) return `[sticker: ${sticker.emoji ?? sticker.set_name ?? "?"}]`;
  if (venue) return `[location: ${venue.location.latitude}, ${venue.location.longitude} ${venue.title}]`;
  if (location) return `[location: ${location.latitude}, ${location.longitude}]`;
  if (contact) return `[contact: ${contact.first_name} ${contact.phone_number}]`;
  if (poll) return `[poll: ${poll.question} (${poll.options.map((option) => option.text).join(" / ")})]`;
  return dice ? `[dice: ${dice.emoji} ${dice.value}]` : "";
}

const unique = (files: readonly TelegramFile[]): readonly TelegramFile[] => [
  ...new Map(files.map((file) => [file.uniqueId, file])).values(),
];
