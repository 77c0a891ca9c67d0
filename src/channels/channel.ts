/** The port of a channel: how messages of a platform come in and go out. A channel is one file and one line in index.ts. */
import * as z from "zod/mini";
import type { Address, Attachment, Inbound, Outbound } from "../message.js";
import type { Fetch } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import type { World } from "../world.js";

/** What a running channel is given. */
export type Link = {
  /**
   * Stores the message and queues it, or recognises it as a repeat. Never waits for the turn. Only when it resolves may
   * the platform be told that the message has arrived.
   */
  accept(message: Inbound): Promise<void>;
  /** Proof of life: the platform has just answered us. A channel without any for a while counts as deaf. */
  alive(): void;
  /** May this sender speak here? Asked before anybody is shown that he was heard. */
  mayEnter(from: Address, sender: readonly string[]): boolean;
};

/** What the platform calls the message it has taken. */
export type Receipt = { readonly id: string };

/** What became of a file: what stands for it in the text, and its path if it is here. */
export type Saved = { readonly marker: string; readonly path?: string };

/** A message to be sent, with what is needed to send it once. */
export type Sending = Outbound & {
  /** The same for every try at the same message: what a platform can recognise a repeat by. */
  readonly intent: string;
  /** An earlier try may have arrived. A platform that cannot tell repeats apart says so in the message. */
  readonly mayRepeat: boolean;
};

export type Channel = {
  /** Receives until the signal aborts. Ends or throws when the connection cannot be kept; it is then run again. */
  run(link: Link, signal: AbortSignal): Promise<void>;
  /** Throws a {@link SendFailure} when the message was not taken; any other error means that nobody knows. */
  send(message: Sending, signal: AbortSignal): Promise<Receipt>;
  /** Cuts a text into parts that each fit into one message, without tearing anything that belongs together. */
  split(text: string): readonly string[] | Promise<readonly string[]>;
  /** How fast the platform wants to be spoken to: so long between two messages of a chat, so many a second in all. */
  readonly pace?: { readonly perChatMs: number; readonly perSecond: number };
  /** Shows that somebody is writing; lasts a few seconds. */
  typing?(to: Address, signal: AbortSignal): Promise<void>;
  /** Answers appear while they are being written, by a message that is edited so often. Needs `edit`. */
  readonly streaming?: { everyMs(to: Address): number };
  /** Puts a text in the place of one that was sent. Throws as `send` does. */
  edit?(to: Address, receipt: Receipt, text: string, signal: AbortSignal): Promise<void>;
  /**
   * Saves a file that came with a message, or finds it saved. What cannot be had is said in the marker; throws only if
   * the signal aborts. Asked within the turn, so that nobody but its chat waits for a slow file.
   */
  save?(file: Attachment, signal: AbortSignal): Promise<Saved>;
  /** Whoever is here sees turns as they happen: how far they are need not be sent. */
  readonly isWatched?: true;
};

/** Why a message was not taken: `later` may work, `never` will not. */
export class SendFailure extends Error {
  override readonly name = "SendFailure";
  readonly when: "later" | "never";
  readonly afterMs: number | undefined;

  constructor(when: "later" | "never", message: string, options: ErrorOptions & { readonly afterMs?: number } = {}) {
    super(message, options);
    this.when = when;
    this.afterMs = options.afterMs;
  }
}

export type ChannelWorld = World & {
  /** Where a channel may keep the files that come with messages. */
  readonly mediaFolder: string;
  /** Where it may remember something across restarts. */
  readonly stateFolder: string;
};

export type ChannelKind = {
  readonly name: string;
  /** What can be set, apart from whether it is on. */
  readonly settings: z.ZodMiniType;
  /** Checks the settings and builds the channel; nothing is dialled yet. Heavy libraries are loaded here, not before. */
  open(settings: unknown, world: ChannelWorld): Promise<Channel>;
  /** Absent: its settings are written by hand. */
  readonly setup?: ChannelSetup;
};

/** What `nanogate init` asks for and `nanogate doctor` tries: a bot's token, and who may speak to it. */
export type ChannelSetup = {
  /** The platform, as people write it. */
  readonly title: string;
  /** What the token is and where it comes from. */
  readonly token: string;
  /** What `allowFrom` lists, and how one finds it. */
  readonly people: string;
  /** What `apiRoot` may name. */
  readonly server: string;
  /** Whose token it is. Throws a UserError that says what to do; costs nothing. */
  readonly check: (bot: BotAccess, fetch: Fetch) => Promise<BotIdentity>;
  /** Who writes to the bot next in private: the owner, if asked to. What was written stays for the gateway. */
  readonly firstSender?: (bot: BotAccess, fetch: Fetch, signal: AbortSignal) => Promise<Person | undefined>;
};

/** The platform's own server unless `apiRoot` says another. */
export type BotAccess = { readonly token: string; readonly apiRoot: string };
/** `lacks`: what the owner still has to grant it. */
export type BotIdentity = { readonly name: string; readonly lacks?: string };
export type Person = { readonly id: string; readonly name: string };

type Definition<Schema extends z.ZodMiniType> = {
  readonly name: string;
  readonly settings: Schema;
  readonly create: (settings: z.infer<Schema>, world: ChannelWorld) => Channel | Promise<Channel>;
  readonly setup?: ChannelSetup;
};

export function defineChannel<Schema extends z.ZodMiniType>({
  name,
  settings,
  create,
  setup,
}: Definition<Schema>): ChannelKind {
  return {
    name,
    settings,
    ...(setup && { setup }),
    async open(raw, world) {
      const parsed = z.safeParse(settings, raw);
      if (!parsed.success) throw wrongSettings(name, parsed.error.issues);
      return create(parsed.data, world);
    },
  };
}

/** What is wrong in a channel's settings, each with its path in the configuration. */
function wrongSettings(name: string, issues: readonly { path: readonly PropertyKey[]; message: string }[]): UserError {
  const problems = issues.map(({ path, message }) => `channels.${[name, ...path.map(String)].join(".")}: ${message}`);
  return new UserError(problems.join("\n    "), "Correct it in config.json.");
}
