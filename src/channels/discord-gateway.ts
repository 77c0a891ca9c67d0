/** The connection on which Discord tells us what happens, kept up by discord.js. */
import type { SessionInfo, WebSocketManager } from "@discordjs/ws";
import type {
  APIChatInputApplicationCommandInteraction,
  APIGatewayBotInfo,
  APIInteraction,
  GatewayDispatchPayload,
  GatewayGuildCreateDispatchData,
  GatewayMessageCreateDispatchData,
  GatewayReadyDispatchData,
  GatewayThreadCreateDispatchData,
  REST,
} from "discord.js";
import { explainClose, refusedToken } from "./discord-failures.js";
import type * as Library from "./discord-library.js";
import { isGatewayUrl } from "./discord-setup.js";

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
  readonly library: typeof Library;
  readonly token: string;
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

/** What discord.js holds, and does not show. */
type Insides = {
  readonly strategy: { readonly shards: ReadonlyMap<number, { readonly connection: Connection | null }> };
};
type Connection = { addEventListener(event: "error", listener: () => void): void; terminate(): void };

/** A polite farewell may take so long. */
const farewellMs = 500;
/** "We leave, and end our session." */
const goodbye = 1000;
/** Discord will not have us back after these, whatever we try. */
const finalCodes: readonly number[] = [4004, 4010, 4011, 4012, 4013, 4014];

/** Lasts until the signal aborts. */
export async function listen(parts: GatewayParts, signal: AbortSignal): Promise<void> {
  const { library, listener, alive, failed } = parts;
  const manager = createManager(parts, signal);
  manager.on("dispatch", ({ data }) => {
    if (signal.aborted) return;
    alive();
    try {
      tell(listener, data, library);
    } catch (error) {
      failed(error);
    }
  });
  manager.on("heartbeat", alive);
  manager.on("closed", ({ code }) => {
    if (finalCodes.includes(code)) failed(explainClose(code));
  });
  // What cannot be mended is told in another way as well.
  manager.on("error", () => {});
  manager.connect().catch((error: unknown) => failed(isRefusal(error) ? refusedToken(error) : error));
  await aborted(signal);
  const connections = connectionsOf(manager);
  await Promise.race([manager.destroy({ code: goodbye }), farewell()]).catch(() => {});
  for (const connection of connections) cut(connection);
}

function createManager({ library, token, ask, gatewayUrl }: GatewayParts, signal: AbortSignal): WebSocketManager {
  const { GatewayIntentBits: intents, WebSocketManager } = library;
  let session: SessionInfo | null = null;
  // One answer serves a whole login, and every other on this connection.
  let information: Promise<APIGatewayBotInfo> | undefined;
  const askOnce = async (): Promise<APIGatewayBotInfo> => {
    const answer = (await ask("/gateway/bot")) as APIGatewayBotInfo;
    const url = gatewayUrl ?? answer.url;
    // discord.js would stumble over it where nobody catches it.
    if (!isGatewayUrl(url)) throw new Error(`Discord names an address that is none: ${url}`);
    return { ...answer, url };
  };
  return new WebSocketManager({
    token,
    intents: intents.Guilds | intents.GuildMessages | intents.DirectMessages | intents.MessageContent,
    shardCount: 1,
    // All it ever asks for is where to connect.
    rest: { get: () => (information ??= askOnce()) } as unknown as REST,
    // A connection that is about to be dialled again does not hear of the end, and would come back from the dead. Before
    // dialling it asks for its session: after the end it gets no answer.
    retrieveSessionInfo: () => (signal.aborted ? new Promise(() => {}) : session),
    updateSessionInfo: (_, next) => void (session = next),
  });
}

const isRefusal = (error: unknown): boolean => error instanceof Error && "status" in error && error.status === 401;

const connectionsOf = (manager: WebSocketManager): readonly Connection[] =>
  [...(manager as unknown as Insides).strategy.shards.values()].flatMap(({ connection }) => connection ?? []);

/**
 * discord.js says goodbye on a connection that stands, and forgets one that is still being dialled: it would come up
 * afterwards, with nobody to hear or close it, and keep the process.
 */
function cut(connection: Connection): void {
  connection.addEventListener("error", () => {}); // that it was cut
  connection.terminate();
}

function tell(
  listener: Listener,
  event: GatewayDispatchPayload,
  { GatewayDispatchEvents: events }: typeof Library,
): void {
  if (event.t === events.Ready) listener.ready(event.d);
  else if (event.t === events.GuildCreate) listener.guild(event.d);
  else if (event.t === events.ThreadCreate) listener.thread(event.d);
  else if (event.t === events.MessageCreate) listener.message(event.d);
  else if (event.t === events.InteractionCreate && isSlashCommand(event.d)) listener.command(event.d);
}

/** 2: a command, not a button; 1: that was typed, not picked from the menu of a message. */
const isSlashCommand = (interaction: APIInteraction): interaction is APIChatInputApplicationCommandInteraction =>
  kindOf(interaction) === 2 && kindOf(interaction.data) === 1;

const kindOf = (thing: object | undefined): unknown => (thing && "type" in thing ? thing.type : undefined);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const farewell = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, farewellMs).unref());
