/** Discord: messages come over its gateway, or are fetched if they came while we were away; answers go over its REST API. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { APIChatInputApplicationCommandInteraction, APIMessage, RawFile } from "discord.js";
import * as z from "zod/mini";
import type { Address } from "../message.js";
import { errorCode, reasonOf } from "../util/errors.js";
import { maybeText, section, text, textList } from "../util/settings.js";
import { defineChannel, SendFailure, type Channel, type ChannelWorld, type Sending } from "./channel.js";
import { channelOf, slashCommands } from "./discord-inbound.js";

const usualApi = "https://discord.com/api";
/** nanobot writes this into every configuration; it is where discord.js goes anyway. */
const usualGateway = /^wss:\/\/gateway\.discord\.gg\//;
/** No server lets a bot send more than this. */
const largestFile = 100 * 1024 * 1024;
/** Discord frowns on bots that open private chats by the dozen. */
const mostPeople = 10;
/** Own messages that were seen lately, by nonce. */
const echoesKept = 1000;

const settings = section({
  token: text().check(z.minLength(1, "is missing: the bot token from the Discord developer portal")),
  allowFrom: z.prefault(textList(), []),
  groupPolicy: z.prefault(z.enum(["mention", "open"], 'must be "mention" or "open"'), "mention"),
  allowChannels: z.prefault(textList(), []),
  apiRoot: z.prefault(maybeText(), ""),
  gatewayUrl: z.prefault(maybeText(), ""),
});

export const discord = defineChannel({ name: "discord", settings, create });

async function create(given: z.infer<typeof settings>, world: ChannelWorld): Promise<Channel> {
  const { token, allowFrom, groupPolicy, allowChannels } = given;
  const [library, { openBookmarks }, { listen }, { createReader }, { createRest }, { splitForDiscord }] =
    await Promise.all([
      import("discord.js"),
      import("./discord-bookmarks.js"),
      import("./discord-gateway.js"),
      import("./discord-reader.js"),
      import("./discord-rest.js"),
      import("./discord-text.js"),
    ]);
  // discord.js adds the version by itself.
  const apiRoot = (given.apiRoot || usualApi).replace(/(?:\/v\d+)?\/*$/, "");
  const gatewayUrl = given.gatewayUrl === "" || usualGateway.test(given.gatewayUrl) ? undefined : given.gatewayUrl;
  const people = allowFrom.filter((name) => /^\d{15,}$/.test(name)).slice(0, mostPeople);
  const { request, deliver } = createRest(library, apiRoot, token);
  const echoes = new Map<string, string>();
  let commandsKnown = false;

  const registerCommands = (application: string, signal: AbortSignal): void => {
    if (commandsKnown) return;
    commandsKnown = true;
    request("put", `/applications/${application}/commands`, { body: slashCommands }, signal).catch((error: unknown) => {
      commandsKnown = false;
      if (!signal.aborted) world.log.warn(`Discord: the commands could not be registered: ${reasonOf(error)}`);
    });
  };

  const acknowledge = async (
    { id, token }: APIChatInputApplicationCommandInteraction,
    content: string,
    signal: AbortSignal,
  ): Promise<void> => {
    // 4: answer with a message, 64: that only this person sees. What the command comes to is told to all.
    const body = { type: 4, data: { content, flags: 64, allowed_mentions: { parse: [] } } };
    await request("post", `/interactions/${id}/${token}/callback`, { auth: false, body }, signal);
  };

  const echoed = (nonce: string, id: string): void => {
    echoes.set(nonce, id);
    const [oldest] = echoes.keys();
    if (echoes.size > echoesKept && oldest !== undefined) echoes.delete(oldest);
  };

  return {
    async run(link, signal) {
      const stop = new AbortController();
      const end = (): void => stop.abort(signal.reason);
      let failure: { readonly error: unknown } | undefined;
      const failed = (error: unknown): void => {
        if (!stop.signal.aborted) failure = { error };
        stop.abort(error);
      };
      const bookmarks = await openBookmarks(join(world.stateFolder, "discord.json"), world, stop.signal);
      const ask = (path: `/${string}`, query?: URLSearchParams): Promise<unknown> =>
        request("get", path, query ? { query } : {}, stop.signal);
      const reader = createReader(
        {
          ask,
          acknowledge: (interaction, content) => acknowledge(interaction, content, stop.signal),
          people,
          privateChat: (person) =>
            request("post", "/users/@me/channels", { body: { recipient_id: person } }, stop.signal),
          bookmarks,
          policy: { groupPolicy, allowChannels },
          link,
          world,
          failed,
          echoed,
        },
        stop.signal,
      );
      const listener = {
        ...reader,
        ready(session: Parameters<typeof reader.ready>[0]) {
          registerCommands(session.application?.id ?? session.user.id, stop.signal);
          reader.ready(session);
        },
      };
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
      try {
        const alive = (): void => link.alive();
        await listen({ library, token, apiRoot, ask, gatewayUrl, listener, alive, failed }, stop.signal);
      } finally {
        signal.removeEventListener("abort", end);
        // What is being stored is stored to the end, and remembered.
        await reader.idle();
        await bookmarks.save();
      }
      if (failure) throw failure.error;
    },

    async send(message, signal) {
      const nonce = nonceOf(message);
      // The answer to an earlier try was lost, but the message has come by. Discord knows a nonce for minutes only.
      const echo = echoes.get(nonce);
      if (echo !== undefined) return { id: echo };
      const content = message.kind === "text" ? message.text : message.caption;
      const body = { content, nonce, enforce_nonce: true, allowed_mentions: { parse: [] } };
      const files = message.kind === "file" ? [await fileOf(message.path)] : [];
      const path = `/channels/${channelFor(message.to)}/messages` as const;
      const { id } = (await deliver("post", path, { body, files }, signal)) as APIMessage;
      return { id };
    },

    split: (whole) => splitForDiscord(whole),

    async typing(to, signal) {
      await deliver("post", `/channels/${channelFor(to)}/typing`, {}, signal);
    },

    async edit(to, { id }, content, signal) {
      const body = { content, allowed_mentions: { parse: [] } };
      await deliver("patch", `/channels/${channelFor(to)}/messages/${id}`, { body }, signal);
    },
  };
}

/** The same for every try, so that Discord returns the message it already has instead of posting another. */
const nonceOf = ({ intent }: Sending): string => createHash("sha256").update(intent).digest("base64url").slice(0, 25);

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
