/** Reads Discord channels in order and without gaps: what was said while we were away comes before what is said now. */
import type {
  APIChatInputApplicationCommandInteraction,
  APIMessage,
  GatewayGuildCreateDispatchData,
  GatewayMessageCreateDispatchData,
} from "discord.js";
import type { Inbound } from "../message.js";
import { reasonOf } from "../util/errors.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import type { ChannelWorld, Link } from "./channel.js";
import { attachmentsOf } from "./discord-attachments.js";
import { idAt, isLater, type Bookmarks, type Place } from "./discord-bookmarks.js";
import { isOwnRefusal } from "./discord-failures.js";
import type { Listener } from "./discord-gateway.js";
import { addressOf, commandText, isOpen, isForUs, parentOf, senderOf, textOf, type Policy } from "./discord-inbound.js";

export type ReaderParts = {
  /** Reads something of Discord. Throws an error with its `status` if there was an answer. */
  readonly ask: (path: `/${string}`, query?: URLSearchParams) => Promise<unknown>;
  /** Tells the person who gave a command, and nobody else, something about it. */
  readonly acknowledge: (interaction: APIChatInputApplicationCommandInteraction, text: string) => Promise<void>;
  /** People who may write to us at any time, by id. */
  readonly people: readonly string[];
  /** The private chat with one of them. */
  readonly privateChat: (person: string) => Promise<unknown>;
  readonly bookmarks: Bookmarks;
  readonly policy: Policy;
  readonly link: Link;
  readonly world: ChannelWorld;
  /** A message could not be stored: reading has to stop before the next one, or this one would be forgotten. */
  readonly failed: (error: unknown) => void;
  /** A message of our own has appeared; its nonce says which. */
  readonly echoed: (nonce: string, id: string) => void;
  /** A message that was just said has been stored, and will be answered. */
  readonly taken: (channel: string, message: string) => void;
};

const pageSize = 100;
/** Between tries at fetching what was missed while Discord's other half is down. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;
const guildPatienceMs = 5000;
/** Whether a channel is a thread is worth so many questions; then it is taken for none, and whoever spoke is answered. */
const mostQuestions = 5;
/** Channels that hold messages themselves; forums hold threads only. */
const messageChannels: readonly number[] = [0, 2, 5, 13];

/** Hears what the gateway tells. */
export type Reader = Listener & {
  /** Resolves when nothing is being handled any more. */
  idle(): Promise<void>;
};

export function createReader(parts: ReaderParts, signal: AbortSignal): Reader {
  const { ask, acknowledge, people, privateChat, bookmarks, policy, link, world, failed, echoed, taken } = parts;
  const lanes = createKeyedMutex();
  /** Where the channels are that somebody may write in. */
  const places = new Map<string, Place>();
  /** Channels of which something may have been missed since. */
  const behind = new Set<string>();
  let me = "";
  let awaySince: string | undefined;

  /** One thing at a time per channel; after a failure nothing at all. */
  const inLane = (channel: string, work: () => Promise<void>): void => {
    void lanes.run(channel, async () => {
      if (signal.aborted) return;
      try {
        await work();
      } catch (error) {
        if (!signal.aborted) failed(error);
      }
    });
  };

  /** A new session: of everything before it we may have missed something. Resolves when it is on disk that we listen. */
  async function begin(user: string): Promise<void> {
    me = user;
    awaySince = bookmarks.newest();
    for (const [channel, { guild, parent }] of bookmarks.all()) {
      behind.add(channel);
      places.set(channel, { guild, parent });
      // The channels of a guild wait until it introduces itself: it says where something was written.
      if (guild === undefined) inLane(channel, () => catchUp(channel));
    }
    void lookIntoSilentGuilds();
    const known = new Set(bookmarks.all().map(([, { person }]) => person));
    for (const person of people) if (!known.has(person)) inLane(`with ${person}`, () => meetPerson(person));
    const now = idAt(Date.parse(world.clock()));
    // On a full disk whoever speaks is still heard, and remembered by this process; but nobody says that all is well.
    while (!(await bookmarks.beginAt(now))) await world.sleep(firstPauseMs, signal);
  }

  /** A guild may take its time to introduce itself, or never do. */
  async function lookIntoSilentGuilds(): Promise<void> {
    await world.sleep(guildPatienceMs, signal).catch(() => {});
    if (!signal.aborted) for (const channel of behind) inLane(channel, () => catchUp(channel));
  }

  /** Discord does not list private chats: one that was opened while we were away has to be asked for by the person. */
  async function meetPerson(person: string): Promise<void> {
    const chat = await askPatiently<PrivateChat>(`private chat with ${person}`, () => privateChat(person));
    // None: somebody we share no server with yet.
    if (chat) inLane(chat.id, () => meetChannel(chat.id, { person }, chat.last_message_id, "0"));
  }

  function meetGuild(guild: GatewayGuildCreateDispatchData): void {
    if (guild.unavailable) return;
    // It may have been away for a while, with all that was said there.
    for (const [channel, { guild: home }] of bookmarks.all()) if (home === guild.id) behind.add(channel);
    const joined = idAt(Date.parse(guild.joined_at));
    const listed = new Set<string>();
    for (const channel of [...(guild.channels ?? []), ...(guild.threads ?? [])]) {
      const place = { guild: guild.id, parent: parentOf(channel) };
      if (place.parent === undefined && !messageChannels.includes(channel.type)) continue;
      places.set(channel.id, place);
      listed.add(channel.id);
      const last = "last_message_id" in channel ? channel.last_message_id : undefined;
      if (isOpen(policy, channel.id, place)) inLane(channel.id, () => meetChannel(channel.id, place, last, joined));
    }
    for (const [channel, { guild: home }] of bookmarks.all()) {
      if (home === guild.id && !listed.has(channel)) inLane(channel, () => catchUp(channel));
    }
  }

  /** `last` is the newest message there; null: there is none. */
  async function meetChannel(channel: string, place: Place, last: LastMessage, joined: string): Promise<void> {
    const known = bookmarks.get(channel);
    if (!known) {
      // At the very first start reading begins with what is said from now on. Later, a channel that nobody has heard of
      // is one that was made while we were away; but what was said before we joined was not said to us.
      const first = last === null ? "0" : (last ?? channel);
      const from = awaySince === undefined ? first : isLater(joined, awaySince) ? joined : awaySince;
      await firstSight(channel, place, from);
      if (awaySince === undefined) return;
      behind.add(channel);
    } else if (!known.heard && typeof last === "string" && !isLater(last, known.last)) {
      behind.delete(channel);
    }
    await catchUp(channel);
  }

  /** On disk before anything of the channel is accepted: the next thing said there may be said while we are away. */
  async function firstSight(channel: string, place: Place, from: string): Promise<void> {
    bookmarks.move(channel, place, from);
    if (!(await bookmarks.save())) throw new Error("a new chat could not be written down");
  }

  /** Fetches and handles what was said since the bookmark, oldest first. */
  async function catchUp(channel: string): Promise<void> {
    while (behind.has(channel)) {
      const bookmark = bookmarks.get(channel);
      const page = bookmark && isOpen(policy, channel, bookmark) ? await pageAfter(channel, bookmark.last) : [];
      for (const message of page) {
        signal.throwIfAborted();
        if (bookmark) await handle(message, bookmark, { missed: true });
      }
      if (page.length < pageSize) behind.delete(channel);
    }
  }

  async function pageAfter(channel: string, last: string): Promise<readonly APIMessage[]> {
    const query = new URLSearchParams({ after: last, limit: String(pageSize) });
    const path = `/channels/${channel}/messages` as const;
    const page = await askPatiently<readonly APIMessage[]>(path, () => ask(path, query));
    if (!page) bookmarks.forget(channel);
    return [...(page ?? [])].sort((one, other) => (isLater(one.id, other.id) ? 1 : -1));
  }

  /** Asks until there is an answer, for one half of Discord may be down while the other talks. Undefined: not for us. */
  async function askPatiently<Answer>(
    what: string,
    question: () => Promise<unknown>,
    most = Number.POSITIVE_INFINITY,
  ): Promise<Answer | undefined> {
    let pauseMs = firstPauseMs;
    for (let asked = 1; ; asked++) {
      try {
        return (await question()) as Answer;
      } catch (error) {
        signal.throwIfAborted();
        if (isOwnRefusal(error) || asked >= most) return undefined;
        world.log.warn(`Discord: ${what} could not be fetched yet: ${reasonOf(error)}`);
        await world.sleep(pauseMs, signal);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  }

  /** Only when the message is stored, or none of our business, does the bookmark move. Returns what was said to us. */
  async function handle(
    message: APIMessage,
    place: Place,
    how: Pick<Inbound, "missed"> = {},
  ): Promise<Inbound | undefined> {
    const heard = understood(message, place);
    if (heard) await link.accept({ ...heard, ...how });
    bookmarks.move(message.channel_id, place, message.id, heard !== undefined);
    return heard;
  }

  /** What is said to us, if it is. A message that nobody understands must not hold up everything after it. */
  function understood(message: APIMessage, place: Place): Inbound | undefined {
    try {
      if (!isForUs(message, place, me, policy)) return undefined;
      const attachments = attachmentsOf(message);
      return {
        id: message.id,
        from: addressOf(message.channel_id, place),
        sender: senderOf(message.author),
        text: textOf(message, me),
        media: [],
        ...(attachments.length > 0 && { attachments }),
        sentAt: Date.parse(message.timestamp),
      };
    } catch (error) {
      world.log.warn(`Discord: message ${message.id} is passed over, it cannot be read: ${reasonOf(error)}`);
      return undefined;
    }
  }

  /** Where in a guild a live message was said. An old thread that wakes up was not introduced. */
  async function placeIn(guild: string, channel: string, told?: Channel): Promise<Place> {
    const known = told ? { guild, parent: parentOf(told) } : places.get(channel);
    if (known) return known;
    const path = `/channels/${channel}` as const;
    const found = await askPatiently<Channel>(path, () => ask(path), mostQuestions);
    const place = { guild, parent: found && parentOf(found) };
    if (found) places.set(channel, place);
    return place;
  }

  function hearMessage(message: GatewayMessageCreateDispatchData): void {
    if (message.author.id === me && message.nonce !== undefined) echoed(String(message.nonce), message.id);
    inLane(message.channel_id, async () => {
      const { id, channel_id: channel, guild_id: guild, author } = message;
      await catchUp(channel);
      const place = guild !== undefined ? await placeIn(guild, channel) : author.id === me ? {} : { person: author.id };
      if (!isOpen(policy, channel, place)) return;
      // A private chat that nobody told us of: what was said there while we were away comes first.
      if ("person" in place && !bookmarks.get(channel)) await meetChannel(channel, place, undefined, "0");
      if (!bookmarks.get(channel)) await firstSight(channel, place, String(BigInt(id) - 1n));
      const heard = await handle(message, place);
      if (heard && link.mayEnter(heard.from, heard.sender)) taken(channel, id);
    });
  }

  function hearCommand(interaction: APIChatInputApplicationCommandInteraction): void {
    const { id, channel_id, guild_id: guild, data } = interaction;
    // Not every server of this protocol sends the channel along.
    const channel = (interaction.channel as Channel | undefined)?.id ?? channel_id;
    const user = interaction.member?.user ?? interaction.user;
    if (!user) return;
    inLane(channel, async () => {
      const place = guild === undefined ? {} : await placeIn(guild, channel, interaction.channel);
      const from = addressOf(channel, place);
      const sender = senderOf(user);
      const isOpenHere = isOpen(policy, channel, place);
      if (isOpenHere) await link.accept({ id, from, sender, text: commandText(interaction), media: [] });
      const answer = !isOpenHere
        ? "I do not listen in this channel."
        : link.mayEnter(from, sender)
          ? `\`/${data.name}\` received.`
          : "I am sorry, I may not talk to you.";
      // Whether somebody sees this sentence changes nothing about what was stored.
      await acknowledge(interaction, answer).catch((error: unknown) =>
        world.log.warn(`Discord: a command could not be acknowledged: ${reasonOf(error)}`),
      );
    });
  }

  return {
    ready: ({ user }) => begin(user.id),
    guild: meetGuild,
    thread: ({ id, guild_id, parent_id }) => places.set(id, { guild: guild_id, parent: parent_id ?? undefined }),
    message: hearMessage,
    command: hearCommand,
    idle: () => lanes.idle(),
  };
}

type Channel = { readonly id: string; readonly type: number; readonly parent_id?: string | null };
type LastMessage = string | null | undefined;
type PrivateChat = { readonly id: string; readonly last_message_id?: LastMessage };
