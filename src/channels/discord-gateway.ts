/** The connection on which Discord tells us what happens, kept up by discord.js. */
import type * as DiscordJs from "discord.js";
import type {
  APIChatInputApplicationCommandInteraction,
  APIGatewayBotInfo,
  GatewayDispatchPayload,
  GatewayGuildCreateDispatchData,
  GatewayMessageCreateDispatchData,
  GatewayReadyDispatchData,
  GatewayThreadCreateDispatchData,
  IShardingStrategy,
  WebSocketOptions,
} from "discord.js";
import { errorCode } from "../util/errors.js";
import { explainClose, refusedToken } from "./discord-failures.js";

/** The events that matter here, called in the order in which they come. */
export type Listener = {
  /** A new session: what happened before it is not told. */
  ready(session: GatewayReadyDispatchData): void;
  guild(guild: GatewayGuildCreateDispatchData): void;
  thread(thread: GatewayThreadCreateDispatchData): void;
  message(message: GatewayMessageCreateDispatchData): void;
  command(interaction: APIChatInputApplicationCommandInteraction): void;
};

export type GatewayParts = {
  readonly library: typeof DiscordJs;
  readonly token: string;
  readonly apiRoot: string;
  /** Asks Discord's REST API, and stops asking when the signal aborts. */
  readonly ask: (path: `/${string}`) => Promise<unknown>;
  /** Dialled instead of the address that Discord names. */
  readonly gatewayUrl: string | undefined;
  readonly listener: Listener;
  /** Any sign that the other side is there. */
  readonly alive: () => void;
  /** The connection cannot be kept. Shorter breaks are mended by discord.js and not told. */
  readonly failed: (error: unknown) => void;
};

type Manager = Parameters<NonNullable<WebSocketOptions["buildStrategy"]>>[0];

/** What the manager tells. discord.js hides the names of these events behind another enum of the same name. */
type ManagerEvents = {
  on(event: "dispatch", listener: (payload: { readonly data: GatewayDispatchPayload }) => void): void;
  on(event: "heartbeat", listener: () => void): void;
  on(event: "closed", listener: (payload: { readonly code: number }) => void): void;
};

/** What discord.js holds, and does not show. */
type Shards = {
  readonly shards: ReadonlyMap<number, { readonly connection: Connection | null }>;
};
type Connection = { addEventListener(event: "error", listener: () => void): void; terminate(): void };

/** A polite farewell may take so long. */
const farewellMs = 500;
/** Discord will not have us back after these, whatever we try. */
const finalCodes: readonly number[] = [4004, 4010, 4011, 4012, 4013, 4014];

/** Lasts until the signal aborts. */
export async function listen(parts: GatewayParts, signal: AbortSignal): Promise<void> {
  const { Client, GatewayIntentBits, Options } = parts.library;
  let strategy: IShardingStrategy | undefined;
  const client = new Client({
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    rest: { api: parts.apiRoot, retries: 0 },
    ws: { buildStrategy: (manager) => (strategy = attach(manager, parts, signal)) },
    // Events are read as they come; what discord.js would remember of them only takes up memory.
    makeCache: Options.cacheWithLimits({
      MessageManager: 0,
      UserManager: 0,
      GuildMemberManager: 0,
      ThreadMemberManager: 0,
      GuildEmojiManager: 0,
      GuildStickerManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      VoiceStateManager: 0,
    }),
  });
  client.on("error", parts.failed);
  client.login(parts.token).catch((error: unknown) => {
    parts.failed(errorCode(error) === "TokenInvalid" ? refusedToken(error) : error);
  });
  await aborted(signal);
  const connections = connectionsOf(strategy);
  await Promise.race([client.destroy().catch(() => {}), farewell()]);
  for (const connection of connections) cut(connection);
}

const connectionsOf = (strategy: IShardingStrategy | undefined): readonly Connection[] =>
  [...((strategy as unknown as Shards | undefined)?.shards.values() ?? [])].flatMap(
    ({ connection }) => connection ?? [],
  );

/**
 * discord.js says goodbye on a connection that stands, and forgets one that is still being dialled: it would come up
 * afterwards, with nobody to hear or close it, and keep the process.
 */
function cut(connection: Connection): void {
  connection.addEventListener("error", () => {}); // that it was cut
  connection.terminate();
}

/** Listens to the connection itself: it alone tells of heartbeats and why it was closed. */
function attach(manager: Manager, parts: GatewayParts, signal: AbortSignal): IShardingStrategy {
  const { library, ask, gatewayUrl, listener, alive, failed } = parts;
  const events = manager as unknown as ManagerEvents;
  events.on("dispatch", ({ data }) => {
    if (signal.aborted) return;
    alive();
    try {
      tell(listener, data, library);
    } catch (error) {
      failed(error);
    }
  });
  events.on("heartbeat", alive);
  events.on("closed", ({ code }) => {
    if (finalCodes.includes(code)) failed(explainClose(code));
  });
  // A request of discord.js itself would go on after the end. One answer serves a whole login.
  let information: Promise<APIGatewayBotInfo> | undefined;
  const askOnce = async (): Promise<APIGatewayBotInfo> => {
    const answer = (await ask("/gateway/bot")) as APIGatewayBotInfo;
    return { ...answer, url: gatewayUrl ?? answer.url };
  };
  manager.fetchGatewayInformation = () => (information ??= askOnce());
  // A connection that is about to be dialled again does not hear of the end, and would come back from the dead. Before
  // dialling it asks for its session: after the end it gets no answer.
  const session = manager.options.retrieveSessionInfo.bind(manager.options);
  manager.options.retrieveSessionInfo = (shard) => (signal.aborted ? new Promise(() => {}) : session(shard));
  return new library.SimpleShardingStrategy(manager);
}

function tell(listener: Listener, event: GatewayDispatchPayload, library: typeof DiscordJs): void {
  const { GatewayDispatchEvents: events, InteractionType, ApplicationCommandType } = library;
  if (event.t === events.Ready) listener.ready(event.d);
  else if (event.t === events.GuildCreate) listener.guild(event.d);
  else if (event.t === events.ThreadCreate) listener.thread(event.d);
  else if (event.t === events.MessageCreate) listener.message(event.d);
  else if (event.t === events.InteractionCreate && event.d.type === InteractionType.ApplicationCommand) {
    const { d: interaction } = event;
    if (interaction.data.type === ApplicationCommandType.ChatInput) {
      listener.command(interaction as APIChatInputApplicationCommandInteraction);
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const farewell = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, farewellMs).unref());
