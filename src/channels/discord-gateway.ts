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
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { explainClose, refusedToken } from "./discord-failures.js";
import type * as Library from "./discord-library.js";
import { isGatewayUrl } from "./discord-setup.js";

/** The events that matter here, called in the order in which they come. */
export type Listener = {
  /** A new session: what happened before it is not told. Resolves when nothing that is said from now on can be missed. */
  ready(session: GatewayReadyDispatchData): Promise<void>;
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
  readonly log: Log;
  /** Any sign that we would be told what is said: of a connection on which Discord has let us in. */
  readonly alive: () => void;
  /** The connection cannot be kept. Shorter breaks are mended by discord.js and not told. */
  readonly failed: (error: unknown) => void;
};

/** What discord.js holds, and does not show. */
type Insides = {
  readonly strategy: { readonly shards: ReadonlyMap<number, { readonly connection: Connection | null }> };
};
type Connection = { addEventListener(event: "error", listener: () => void): void; terminate(): void };

/** discord.js tries by itself for so long, without waiting much in between. Then it is an outage. */
const loginMs = 20_000;
/** So long may Discord take for a first word, before another connection is tried. */
const firstWordMs = 10_000;
/** A polite farewell may take so long. */
const farewellMs = 500;
/** "We leave, and end our session." */
const goodbye = 1000;
/** Discord will not have us back after these, whatever we try. */
const finalCodes: readonly number[] = [4004, 4010, 4011, 4012, 4013, 4014];

/** Lasts until the signal aborts. */
export async function listen(parts: GatewayParts, signal: AbortSignal): Promise<void> {
  const { library, listener, log, alive, failed } = parts;
  const { GatewayDispatchEvents: events } = library;
  const manager = createManager(parts, signal);
  let isIn = false;
  const enter = (): void => {
    isIn = true;
    login.cancel();
    alive();
  };
  /** Who is connected is not let in yet: a login that nobody answers is answered heartbeats all the same. */
  const wait = (): void => {
    isIn = false;
    login.begin();
  };
  const login = createDeadline(loginMs, () => failed(new Error(`Discord has not let us in for ${loginMs / 1000} s`)));
  manager.on("dispatch", ({ data }) => {
    if (signal.aborted) return;
    if (data.t === events.Ready) listener.ready(data.d).then(enter, failed);
    else if (data.t === events.Resumed) enter();
    else if (isIn) alive();
    try {
      tell(listener, data, library);
    } catch (error) {
      // What nobody understands must not hold up everything after it.
      log.warn(`Discord: what it tells is passed over (${data.t}), for it cannot be read: ${reasonOf(error)}`);
    }
  });
  manager.on("heartbeat", () => isIn && alive());
  manager.on("hello", wait);
  manager.on("closed", ({ code }) => {
    if (finalCodes.includes(code)) failed(explainClose(code));
    else wait();
  });
  login.begin();
  // What cannot be mended is told in another way as well.
  manager.on("error", () => {});
  manager.connect().catch((error: unknown) => failed(isRefusal(error) ? refusedToken(error) : error));
  await aborted(signal);
  login.cancel();
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
    const answer = (await ask("/gateway/bot").catch(unlessKnown)) as Partial<APIGatewayBotInfo>;
    const url = gatewayUrl ?? answer.url;
    // discord.js would stumble over it where nobody catches it.
    if (url === undefined || !isGatewayUrl(url)) throw new Error(`Discord names an address that is none: ${url}`);
    return { ...usualInformation, ...answer, url };
  };
  /** A gateway of one's own need not be named by anybody. */
  const unlessKnown = (error: unknown): object => {
    if (gatewayUrl !== undefined && statusOf(error) === 404) return {};
    throw error;
  };
  return new WebSocketManager({
    token,
    intents: intents.Guilds | intents.GuildMessages | intents.DirectMessages | intents.MessageContent,
    shardCount: 1,
    handshakeTimeout: firstWordMs,
    helloTimeout: firstWordMs,
    // All it ever asks for is where to connect.
    rest: { get: () => (information ??= askOnce()) } as unknown as REST,
    // A connection that is about to be dialled again does not hear of the end, and would come back from the dead. Before
    // dialling it asks for its session: after the end it gets no answer.
    retrieveSessionInfo: () => (signal.aborted ? new Promise(() => {}) : session),
    updateSessionInfo: (_, next) => void (session = next),
  });
}

/** What discord.js needs to know, and a gateway of one's own may not tell. */
const usualInformation = {
  shards: 1,
  session_start_limit: { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 },
};

const statusOf = (error: unknown): unknown => (error instanceof Error && "status" in error ? error.status : undefined);

const isRefusal = (error: unknown): boolean => statusOf(error) === 401;

/** From `begin` on there is so much time until `cancel`; to begin again while it runs changes nothing. */
function createDeadline(ms: number, passed: () => void): { begin(): void; cancel(): void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    begin: () => void (timer ??= setTimeout(passed, ms)),
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

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
  if (event.t === events.GuildCreate) listener.guild(event.d);
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
