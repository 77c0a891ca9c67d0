/** Telegram: messages are fetched by long polling, answers go out as HTML. */
import * as z from "zod/mini";
import type { Address } from "../message.js";
import { reasonOf, UserError } from "../util/errors.js";
import { flag, isAddress, maybeText, seconds, section, text } from "../util/settings.js";
import { type Channel, type ChannelWorld, defineChannel, type Link } from "./channel.js";
import { commandMenu } from "./command-menu.js";
import type { Group } from "./telegram-albums.js";
import type { Heard } from "./telegram-inbound.js";
import type { Sender } from "./telegram-send.js";
import { rootOf, telegramSetup, usualRoot } from "./telegram-setup.js";

/** An id may be written as a number. One too large for JavaScript has lost digits and would be somebody else's. */
const nameOrId = z.pipe(
  z.transform((value) => (Number.isSafeInteger(value) ? String(value) : value)),
  text(),
);

const settings = section({
  token: z.prefault(maybeText(), ""),
  allowFrom: z.prefault(z.array(nameOrId, "must be a list of ids and user names"), []),
  proxy: z.prefault(maybeText(), ""),
  replyToMessage: z.prefault(flag(), false),
  groupPolicy: z.prefault(z.enum(["mention", "open"], 'must be "mention" or "open"'), "mention"),
  apiRoot: z.prefault(maybeText(), ""),
  reactEmoji: z.prefault(maybeText(), ""),
  // Off unless asked for: every edit counts towards Telegram's limits, and nobody is told when the answer is whole.
  streaming: z.prefault(flag(), false),
  streamEditInterval: z.prefault(seconds(0.1), 0.6),
});

type Settings = z.infer<typeof settings>;

/** The commands as Telegram's menu wants them. */
const commands = commandMenu.map(({ name, description }) => ({ command: name, description }));

/** What Telegram's own servers ask for. Any other (a Bot API server of one's own, the lab) says by a 429 what it minds. */
const usualPace = { perChatMs: 1000, perSecond: 25 };
/** In a group, where little may be said in a minute, what is shown early must not use up what the answer needs. */
const leastMs = ({ chat }: Address): number => (chat.startsWith("-") ? 4000 : 0);
/**
 * How long an answer may take: to a poll that waits by itself, to a message, to a file on a slow line. After an outage in
 * which everything hung, what hangs is given up soon enough that people are answered within 45 seconds.
 */
const answerSeconds = { poll: 33, text: 20, file: 300 };

export const telegram = defineChannel({ name: "telegram", settings, create, setup: telegramSetup });

async function create(given: Settings, world: ChannelWorld): Promise<Channel> {
  const { token, proxy, groupPolicy, replyToMessage, reactEmoji, streaming, streamEditInterval } = given;
  if (token === "") {
    throw new UserError(
      "channels.telegram.token is missing: Telegram cannot be reached without one.",
      "Ask @BotFather on Telegram for a bot (/newbot) and put its token there.",
    );
  }
  const apiRoot = rootOf(given.apiRoot);
  if (!isAddress(apiRoot)) {
    throw new UserError("channels.telegram.apiRoot is no address.", `Write it like "${usualRoot}", or leave it out.`);
  }
  const [{ Api }, limits, { createInboundReader }, { createMedia }, { native, persistently, poll }, agents] =
    await Promise.all([
      import("grammy"),
      import("./telegram-group-limit.js"),
      import("./telegram-inbound.js"),
      import("./telegram-media.js"),
      import("./telegram-poll.js"),
      import("../util/http-agent.js"),
    ]);
  const agent = agents.createAgent(new URL(apiRoot), proxy, "channels.telegram.proxy");
  const client = (timeoutSeconds: number) =>
    new Api(token, { apiRoot, timeoutSeconds, baseFetchConfig: { agent } as object });
  const [polls, api, uploads] = [client(answerSeconds.poll), client(answerSeconds.text), client(answerSeconds.file)];
  const save = createMedia({ api, token, apiRoot, agent, world });
  const isUsual = apiRoot === usualRoot;
  const groups = isUsual ? limits.createGroupLimit(() => performance.now()) : limits.noGroupLimit;
  const makeSender = async (): Promise<Sender> => {
    const { createSender } = await import("./telegram-send.js");
    return createSender({ api, uploads, token, quotes: replyToMessage, groups });
  };
  // Made when there is something to say: what knows Markdown takes its time to load.
  let sender: Promise<Sender> | undefined;
  const saying = (): Promise<Sender> => (sender ??= makeSender());

  /** One update that nobody understands must not hold up everything after it. */
  const readable = (group: Group, read: (group: Group) => Heard | undefined): Heard | undefined => {
    try {
      return read(group);
    } catch (error) {
      world.log.warn(`Telegram: update ${group[0]?.update_id} is passed over, it cannot be read: ${reasonOf(error)}`);
      return undefined;
    }
  };

  const react = ({ chatId, messageId, message }: Heard, link: Link, signal: AbortSignal): void => {
    if (reactEmoji === "" || !link.mayEnter(message.from, message.sender)) return;
    const reaction = [{ type: "emoji", emoji: reactEmoji as "👀" }] as const;
    api
      .setMessageReaction(chatId, messageId, [...reaction], {}, native(signal))
      .catch((error: unknown) => signal.aborted || world.log.warn(`Telegram: no reaction: ${reasonOf(error)}`));
  };

  return {
    async run(link, signal) {
      const parts = { api, polls, token, world, alive: () => link.alive() };
      try {
        const { id, username } = await persistently(parts, () => api.getMe(native(signal)), signal);
        api
          .setMyCommands(commands, {}, native(signal))
          .catch((error: unknown) => signal.aborted || world.log.warn(`Telegram: no command menu: ${reasonOf(error)}`));
        const read = createInboundReader({ id, username }, groupPolicy);
        const take = async (groups: readonly Group[], missed: boolean): Promise<void> => {
          for (const heard of groups.flatMap((group) => readable(group, read) ?? [])) {
            signal.throwIfAborted();
            await link.accept({ ...heard.message, ...(missed && { missed: true }) });
            react(heard, link, signal);
          }
        };
        await poll(parts, take, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
    send: async (...message) => (await saying()).send(...message),
    ...(isUsual && { pace: usualPace }),
    split: async (text) => (await saying()).split(text),
    typing: async (...where) => (await saying()).typing(...where),
    edit: async (...change) => (await saying()).edit(...change),
    save,
    ...(streaming && { streaming: { everyMs: (to) => Math.max(streamEditInterval * 1000, leastMs(to)) } }),
  };
}
