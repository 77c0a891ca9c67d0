/** Discord: messages come over its gateway, or are fetched if they came while we were away; answers go over its REST API. */
import { join } from "node:path";
import type { APIChatInputApplicationCommandInteraction } from "discord.js";
import * as z from "zod/mini";
import { reasonOf, UserError } from "../util/errors.js";
import { flag, maybeText, seconds, section, textList } from "../util/settings.js";
import { defineChannel, type Channel, type ChannelWorld } from "./channel.js";
import type { Marks } from "./discord-bookmarks.js";
import { slashCommands } from "./discord-inbound.js";
import { apiOf, discordSetup, isGatewayUrl, usualApi } from "./discord-setup.js";

/** nanobot writes this into every configuration; it is where discord.js goes anyway. */
const usualGateway = /^wss:\/\/gateway\.discord\.gg\//;
/** Discord frowns on bots that open private chats by the dozen. */
const mostPeople = 10;

const settings = section({
  token: z.prefault(
    maybeText().check(z.minLength(1, "is missing: the bot token from the Discord developer portal")),
    "",
  ),
  allowFrom: z.prefault(textList(), []),
  groupPolicy: z.prefault(z.enum(["mention", "open"], 'must be "mention" or "open"'), "mention"),
  allowChannels: z.prefault(textList(), []),
  replyToMessage: z.prefault(flag(), false),
  reactEmoji: z.prefault(maybeText(), ""),
  // Off unless asked for: an answer takes many requests then, and nobody is told when it is whole.
  streaming: z.prefault(flag(), false),
  streamEditInterval: z.prefault(seconds(0.1), 0.8),
  proxy: z.prefault(maybeText(), ""),
  apiRoot: z.prefault(maybeText(), ""),
  gatewayUrl: z.prefault(maybeText(), ""),
});

export const discord = defineChannel({ name: "discord", settings, create, setup: discordSetup });

async function create(given: z.infer<typeof settings>, world: ChannelWorld): Promise<Channel> {
  const { token, allowFrom, groupPolicy, allowChannels, streaming, streamEditInterval } = given;
  if (given.proxy !== "") {
    world.log.warn("channels.discord.proxy has no effect: Discord is reached directly.");
  }
  const [
    library,
    { createAttachments },
    { openBookmarks },
    { listen },
    { createReader },
    rest,
    { createSender },
    words,
  ] = await Promise.all([
    import("./discord-library.js"),
    import("./discord-attachments.js"),
    import("./discord-bookmarks.js"),
    import("./discord-gateway.js"),
    import("./discord-reader.js"),
    import("./discord-rest.js"),
    import("./discord-send.js"),
    import("./discord-text.js"),
  ]);
  // discord.js adds the version by itself.
  const apiRoot = apiOf(given.apiRoot);
  const gatewayUrl = given.gatewayUrl === "" || usualGateway.test(given.gatewayUrl) ? undefined : given.gatewayUrl;
  if (gatewayUrl !== undefined && !isGatewayUrl(gatewayUrl)) {
    throw new UserError(
      "channels.discord.gatewayUrl is no address.",
      'Write it like "wss://example.org", or leave it out.',
    );
  }
  const people = allowFrom.filter((name) => /^\d{15,}$/.test(name)).slice(0, mostPeople);
  // What Discord's own servers ask for. Any other says by a 429 what it minds.
  const perSecond = apiRoot === usualApi ? 50 : Number.POSITIVE_INFINITY;
  const { request, deliver } = rest.createRest(library, { api: apiRoot, token, perSecond, fetch: world.fetch });
  const { send, edit, typing, echoed } = createSender({ deliver, quotes: given.replyToMessage });
  const save = createAttachments({
    world,
    look: (channel, message, signal) => request("get", `/channels/${channel}/messages/${message}`, {}, signal),
  });
  let commandsKnown = false;
  /** Nobody lists private chats: one that could not be written down must not be forgotten. */
  let unsaved: Marks | undefined;

  const registerCommands = (application: string, signal: AbortSignal): void => {
    if (commandsKnown) return;
    commandsKnown = true;
    request("put", `/applications/${application}/commands`, { body: slashCommands }, signal).catch((error: unknown) => {
      commandsKnown = false;
      if (!signal.aborted) world.log.warn(`Discord: the commands could not be registered: ${reasonOf(error)}`);
    });
  };

  const react = (channel: string, message: string, signal: AbortSignal): void => {
    if (given.reactEmoji === "") return;
    const path =
      `/channels/${channel}/messages/${message}/reactions/${encodeURIComponent(given.reactEmoji)}/@me` as const;
    request("put", path, {}, signal).catch((error: unknown) => {
      if (!signal.aborted) world.log.warn(`Discord: no reaction: ${reasonOf(error)}`);
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

  return {
    async run(link, signal) {
      const stop = new AbortController();
      const end = (): void => stop.abort(signal.reason);
      let failure: { readonly error: unknown } | undefined;
      const failed = (error: unknown): void => {
        if (!stop.signal.aborted) failure = { error };
        stop.abort(error);
      };
      const bookmarks = await openBookmarks(join(world.stateFolder, "discord.json"), world, stop.signal, unsaved);
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
          taken: (channel, message) => react(channel, message, stop.signal),
        },
        stop.signal,
      );
      const listener = {
        ...reader,
        ready(session: Parameters<typeof reader.ready>[0]) {
          registerCommands(session.application?.id ?? session.user.id, stop.signal);
          return reader.ready(session);
        },
      };
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
      try {
        const alive = (): void => link.alive();
        const { log } = world;
        await listen({ library, token, ask, gatewayUrl, listener, log, alive, failed }, stop.signal);
      } finally {
        signal.removeEventListener("abort", end);
        // What is being stored is stored to the end, and remembered.
        await reader.idle();
        unsaved = (await bookmarks.save()) ? undefined : bookmarks.state();
      }
      if (failure) throw failure.error;
    },

    send,
    split: (whole) => words.splitForDiscord(whole),
    typing,
    edit,
    save,
    ...(streaming && { streaming: { everyMs: () => streamEditInterval * 1000 } }),
  };
}
