/** Turns what Discord tells us into what a session understands: who, where, and the text. */
import type { APIChatInputApplicationCommandInteraction, APIMessage, APIUser } from "discord.js";
import type { Address } from "../message.js";
import { commandMenu } from "./command-menu.js";
import type { Place } from "./discord-bookmarks.js";

export type Policy = {
  /** In a guild: answer only when mentioned or replied to, or everything. */
  readonly groupPolicy: "mention" | "open";
  /** Empty: every channel. A thread is where its parent is. */
  readonly allowChannels: readonly string[];
};

/** A plain message and a reply; all others are Discord's own announcements. */
const spokenTypes: readonly number[] = [0, 19];
/** Of a message that is replied to, so much is quoted. */
const quotedMost = 4000;

const threadTypes: readonly number[] = [10, 11, 12];

/** The channel that a thread hangs on; any other channel hangs on none, only on a heading. */
export const parentOf = (channel: { readonly type: number; readonly parent_id?: string | null }): string | undefined =>
  threadTypes.includes(channel.type) ? (channel.parent_id ?? undefined) : undefined;

/** A thread is a session of its own, named after the channel it hangs on. */
export const addressOf = (channel: string, { parent }: Place): Address => ({
  channel: "discord",
  chat: parent === undefined ? channel : `${parent}:thread:${channel}`,
});

/** Where a message to this chat is posted, if it can be one of ours. */
export const channelOf = ({ chat }: Address): string | undefined => /^(?:\d+:thread:)?(\d+)$/.exec(chat)?.[1];

/** Do we listen here at all? */
export const isOpen = ({ allowChannels }: Policy, channel: string, { guild, parent }: Place): boolean =>
  guild === undefined ||
  allowChannels.length === 0 ||
  allowChannels.includes(channel) ||
  (parent !== undefined && allowChannels.includes(parent));

/** Where we listen: is this said by a person, and to us? */
export function isForUs(message: APIMessage, place: Place, me: string, policy: Policy): boolean {
  // A webhook chooses its own name and could call itself the owner.
  if (message.author.bot || message.author.id === me || typeof message.webhook_id === "string") return false;
  if (!spokenTypes.includes(message.type ?? 0)) return false;
  return place.guild === undefined || policy.groupPolicy === "open" || isAddressed(message, me);
}

function isAddressed(message: APIMessage, me: string): boolean {
  return (
    (message.mentions ?? []).some(({ id }) => id === me) ||
    mentionOf(me).test(message.content ?? "") ||
    message.referenced_message?.author?.id === me
  );
}

const mentionOf = (user: string): RegExp => new RegExp(`<@!?${user}>`);

/** The names that `allowFrom` may list. What somebody calls himself on a server is not among them. */
export const senderOf = ({ id, username, discriminator }: APIUser): string[] => [
  id,
  discriminator === undefined || discriminator === "0" || discriminator === ""
    ? username
    : `${username}#${discriminator}`,
];

/** The words of a message without the mention that called us, and in front what it replies to. Its files are not words. */
export function textOf(message: APIMessage, me: string): string {
  const forwarded = message.message_snapshots?.map(({ message: { content } }) => content) ?? [];
  const stickers = message.sticker_items?.map(({ name }) => `[sticker: ${name}]`) ?? [];
  const said = [withoutMention(message.content ?? "", me), ...forwarded, ...stickers]
    .filter((line) => line !== "")
    .join("\n");
  const text = said === "" && !message.attachments?.length ? "[empty message]" : said;
  // A command has to stand alone.
  const lines = text.startsWith("/") ? [text] : [quotation(message), text];
  return lines.filter((line) => line !== "").join("\n");
}

const withoutMention = (content: string, me: string): string =>
  content.replaceAll(new RegExp(`[^\\S\\n]*<@!?${me}>`, "g"), "").trim();

function quotation({ referenced_message: quoted }: APIMessage): string {
  const content = quoted?.content?.slice(0, quotedMost).toWellFormed() ?? "";
  return content === "" ? "" : `[Reply to: ${content}]`;
}

/** `/history 5`: what somebody would have typed instead of choosing the command. */
export function commandText({ data }: APIChatInputApplicationCommandInteraction): string {
  const values = data.options?.flatMap((option) => ("value" in option ? [String(option.value)] : [])) ?? [];
  return [`/${data.name}`, ...values].join(" ");
}

/** The commands as Discord's menu wants them. 4: a whole number. */
export const slashCommands = commandMenu.map(({ name, description, number }) => ({
  name,
  description,
  ...(number && {
    options: [{ type: 4, name: number.name, description: number.description, min_value: 1, max_value: number.most }],
  }),
}));
