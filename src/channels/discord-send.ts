/** Messages on their way to Discord: each is posted once, however often it is tried. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { APIMessage, RawFile } from "discord.js";
import type { Address } from "../message.js";
import { errorCode } from "../util/errors.js";
import { type Channel, SendFailure, type Sending } from "./channel.js";
import { refusesQuote } from "./discord-failures.js";
import { channelOf } from "./discord-inbound.js";
import type { DiscordRest } from "./discord-rest.js";
import { messageLimit, splitForDiscord } from "./discord-text.js";

/** No server lets a bot send more than this. */
const largestFile = 100 * 1024 * 1024;
/** Own messages that were seen lately, by nonce. */
const echoesKept = 1000;
/** What is said must not ping anyone: a model repeats what it reads. */
const pingsNobody = { allowed_mentions: { parse: [], replied_user: false } };

export type SenderParts = {
  readonly deliver: DiscordRest["deliver"];
  /** An answer shows which message it answers. */
  readonly quotes: boolean;
};

export type Sender = Pick<Channel, "send"> &
  Required<Pick<Channel, "typing" | "edit">> & {
    /** A message of our own has appeared; its nonce says which. */
    readonly echoed: (nonce: string, id: string) => void;
  };

export function createSender({ deliver, quotes }: SenderParts): Sender {
  const echoes = new Map<string, string>();

  return {
    echoed(nonce, id) {
      echoes.set(nonce, id);
      const [oldest] = echoes.keys();
      if (echoes.size > echoesKept && oldest !== undefined) echoes.delete(oldest);
    },

    async send(message, signal) {
      const nonce = nonceOf(message);
      // The answer to an earlier try was lost, but the message has come by. Discord knows a nonce for minutes only.
      const echo = echoes.get(nonce);
      if (echo !== undefined) return { id: echo };
      const path = `/channels/${channelFor(message.to)}/messages` as const;
      const files = message.kind === "file" ? [await fileOf(message.path)] : [];
      const body = { content: wordsOf(message), nonce, enforce_nonce: true, ...pingsNobody };
      const quote = quotes ? quoteOf(message) : undefined;
      const post = async (more: object): Promise<{ readonly id: string }> => {
        const { id } = (await deliver(
          "post",
          path,
          { body: { ...body, ...more }, files },
          signal,
        )) as Partial<APIMessage>;
        // Somebody on the way has answered. Whether Discord has it, the next try learns by the nonce.
        if (typeof id !== "string") throw new Error("Discord answered without a message");
        return { id };
      };
      if (!quote) return post({});
      try {
        return await post(quote);
      } catch (error) {
        if (!refusesQuote(error)) throw error;
        return post({});
      }
    },

    async edit(to, { id }, content, signal) {
      if (!isId(id)) throw new SendFailure("never", `"${id}" is no message of Discord.`);
      const path = `/channels/${channelFor(to)}/messages/${id}` as const;
      await deliver("patch", path, { body: { content, ...pingsNobody } }, signal);
    },

    async typing(to, signal) {
      await deliver("post", `/channels/${channelFor(to)}/typing`, {}, signal);
    },
  };
}

/** The same for every try, so that Discord returns the message it already has instead of posting another. */
const nonceOf = ({ intent }: Sending): string => createHash("sha256").update(intent).digest("base64url").slice(0, 25);

const isId = (id: string): boolean => /^\d+$/.test(id);

/**
 * The message that is answered. One that is gone, or was no message but a command chosen from the menu, is not quoted by
 * Discord; an id of our own making names none.
 */
function quoteOf(message: Sending): object | undefined {
  const id = message.kind === "text" ? message.answers : undefined;
  if (id === undefined || !isId(id)) return undefined;
  return { message_reference: { message_id: id, fail_if_not_exists: false } };
}

/** A caption goes with its file or not at all, so what is too long of it is cut. */
function wordsOf(message: Sending): string {
  if (message.kind === "text") return message.text;
  const [first = "", ...rest] = splitForDiscord(message.caption, messageLimit - 2);
  return rest.length === 0 ? first : `${first}\n…`;
}

function channelFor(to: Address): string {
  const channel = channelOf(to);
  if (channel === undefined) throw new SendFailure("never", `"${to.chat}" is no Discord channel.`);
  return channel;
}

async function fileOf(path: string): Promise<RawFile> {
  try {
    const { size } = await stat(path);
    if (size > largestFile) throw new SendFailure("never", `${basename(path)} is too large for Discord.`);
    return { name: basename(path), data: await readFile(path), contentType: "application/octet-stream" };
  } catch (error) {
    if (!["ENOENT", "EISDIR", "EACCES"].includes(errorCode(error) ?? "")) throw error;
    throw new SendFailure("never", `${basename(path)} cannot be read.`, { cause: error });
  }
}
