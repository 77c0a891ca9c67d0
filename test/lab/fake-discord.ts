/**
 * A Discord of our own for tests and the lab: the REST API and the gateway that discord.js logs in to, on 127.0.0.1. It
 * checks its client strictly, records everything, and fails as it is told.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { createLimits, type DiscordLimits, RateLimit } from "./discord-limits.js";

export type FakeDiscordOptions = {
  readonly token?: string;
  /** What the owner has granted in the portal. */
  readonly grantedIntents?: number;
  readonly heartbeatMs?: number;
  /** For so long a nonce is remembered. */
  readonly nonceWindowMs?: number;
  /** More than this is answered with 429. */
  readonly limits?: DiscordLimits;
};

/**
 * How a request fails. `die` closes the connection without an answer, before or after the work is done; with `page`,
 * somebody on the way answers in the place of Discord.
 */
export type Fault =
  | { readonly kind: "page"; readonly status: number; readonly words?: string }
  | { readonly kind: "status"; readonly status: number; readonly code?: number; readonly errors?: Json }
  | { readonly kind: "rate-limit"; readonly retryAfter: number; readonly global?: boolean }
  | { readonly kind: "hang" }
  | { readonly kind: "die"; readonly when: "before" | "after" };

export type Person = { readonly id: string; readonly username: string; readonly bot?: boolean };

/** One request, in the order of arrival. `route` has `:id` for every number: `POST /channels/:id/messages`. */
export type SeenRequest = {
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly files: readonly { readonly name: string; readonly bytes: Buffer }[];
};

/** A message the bot has posted. */
export type Post = {
  readonly id: string;
  readonly channel: string;
  readonly content: string;
  readonly nonce: string | undefined;
  /** The message it quotes. */
  readonly quotes: string | undefined;
  readonly files: readonly { readonly name: string; readonly bytes: Buffer }[];
};

/** What comes with a message that somebody says. Anything else goes into the message as it is. */
export type Extra = {
  readonly mentions?: readonly Person[];
  /** The message that this one replies to. */
  readonly replyTo?: string;
  readonly type?: number;
  readonly files?: readonly { readonly name: string; readonly bytes: Buffer; readonly claimedSize?: number }[];
  /** Stored, but the gateway does not tell. */
  readonly silent?: boolean;
  readonly fields?: Json;
};

type Json = { readonly [field: string]: unknown };
type Message = Json & { readonly id: string; readonly channel_id: string; content: string };
type Channel = {
  readonly id: string;
  readonly type: number;
  readonly guild?: string;
  readonly parent?: string;
  readonly person?: string;
  readonly messages: Message[];
};
type Session = {
  readonly id: string;
  readonly log: { s: number; t: string; d: unknown }[];
  socket?: WebSocket | undefined;
};

/** Thrown inside a route: the answer to give. */
class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly errors: Json | undefined;

  constructor(status: number, code: number, message: string, errors?: Json) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

const intentsOfContent = 32768;
const epoch = Date.UTC(2015, 0, 1);

export type FakeDiscord = Awaited<ReturnType<typeof startFakeDiscord>>;

export async function startFakeDiscord(options: FakeDiscordOptions = {}) {
  const { token = "fake.discord.token", heartbeatMs = 41_250, nonceWindowMs = 300_000 } = options;
  const grantedIntents = options.grantedIntents ?? 0xffffffff;
  const requests: SeenRequest[] = [];
  const posts: Post[] = [];
  const edits: { readonly id: string; readonly content: string }[] = [];
  const reactions: { readonly message: string; readonly emoji: string }[] = [];
  const acknowledged: { readonly interaction: string; readonly body: Json }[] = [];
  const logins: ("identify" | "resume")[] = [];
  const violations: string[] = [];
  const heartbeats: number[] = [];
  const channels = new Map<string, Channel>();
  const guilds = new Map<string, string>();
  const files = new Map<string, Buffer>();
  /** Paths of files that were asked for, and of those the next ones that never come. */
  const fetched: string[] = [];
  let hanging = 0;
  const nonces = new Map<string, { readonly message: Message; readonly at: number }>();
  const limits = createLimits(options.limits ?? {});
  /** Guilds that Discord has lost for the moment. */
  const away = new Set<string>();
  const faults = new Map<string, Fault[]>();
  const waiting = new Set<() => void>();
  /** Connections that somebody waits on in vain: for an answer, or to be let in. */
  const kept = new Set<Duplex>();
  let commands: unknown = undefined;
  let session: Session | undefined;
  let loginsIgnored = false;
  let acksWithheld = false;
  let gateway: "open" | "closed" | "silent" = "open";
  let lastId = 0n;

  /** Ids as Discord makes them: 19 digits that grow with time. */
  const nextId = (): string => {
    const now = BigInt(Date.now() - epoch) << 22n;
    lastId = now > lastId ? now : lastId + 1n;
    return String(lastId);
  };
  const person = (username: string, extra: Partial<Person> = {}): Person => ({ id: nextId(), username, ...extra });
  const bot: Person = { ...person("nano"), bot: true };
  const user = ({ id, username, bot: isBot = false }: Person): Json => ({
    id,
    username,
    discriminator: "0",
    global_name: username,
    avatar: null,
    bot: isBot,
  });
  const changed = (): void => {
    for (const wake of waiting) wake();
  };
  const keep = (socket: Duplex): void => {
    kept.add(socket);
    const left = (): void => void socket.destroy();
    socket
      .resume()
      .on("end", left)
      .on("error", left)
      .once("close", () => {
        kept.delete(socket);
        changed();
      });
    changed();
  };

  // ── the REST API ────────────────────────────────────────────────────────────────────────────────────────────────────

  const channelOf = (id: string): Channel => {
    const channel = channels.get(id);
    if (!channel) throw new Refusal(404, 10003, "Unknown Channel");
    return channel;
  };

  const readContent = ({ content = "", allowed_mentions: allowed }: Json, files: number): string => {
    if (typeof content !== "string") throw new Refusal(400, 50035, "Invalid Form Body: content");
    if ([...content].length > 2000) throw new Refusal(400, 50035, "Invalid Form Body: content is longer than 2000");
    if (content.trim() === "" && files === 0) throw new Refusal(400, 50006, "Cannot send an empty message");
    if (allowed === undefined) violations.push("a message without allowed_mentions may ping everyone");
    return content;
  };

  /** The message that is quoted, if it is there. */
  const readQuote = (channel: Channel, { message_reference: given, allowed_mentions: allowed }: Json) => {
    if (given === undefined) return undefined;
    const { message_id: id, fail_if_not_exists: strict = true } = given as Json;
    if ((allowed as Json | undefined)?.["replied_user"] !== false) violations.push("a reply pings whom it answers");
    const quoted = channel.messages.find((message) => message.id === id);
    if (quoted || strict === false) return quoted?.id;
    const errors = {
      message_reference: { _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE", message: "Unknown message" }] },
    };
    throw new Refusal(400, 50035, "Invalid Form Body", errors);
  };

  function createMessage(channel: Channel, request: SeenRequest): Message {
    const { nonce, enforce_nonce: enforce } = request.body;
    const content = readContent(request.body, request.files.length);
    if (nonce !== undefined && (typeof nonce !== "string" || nonce.length > 25)) {
      throw new Refusal(400, 50035, "Invalid Form Body: nonce is longer than 25");
    }
    const quotes = readQuote(channel, request.body);
    const known = typeof nonce === "string" && enforce === true ? nonces.get(nonce) : undefined;
    if (known && known.at > Date.now() - nonceWindowMs) return known.message;
    const message = addMessage(channel, bot, content, {
      fields: { ...(nonce !== undefined && { nonce }) },
      files: request.files,
      ...(quotes !== undefined && { replyTo: quotes }),
    });
    if (typeof nonce === "string") nonces.set(nonce, { message, at: Date.now() });
    posts.push({
      id: message.id,
      channel: channel.id,
      content,
      nonce: typeof nonce === "string" ? nonce : undefined,
      quotes,
      files: request.files,
    });
    return message;
  }

  function messagesOf(channel: Channel, query: URLSearchParams): readonly Json[] {
    const limit = Number(query.get("limit") ?? 50);
    if (!(limit >= 1 && limit <= 100)) throw new Refusal(400, 50035, "Invalid Form Body: limit");
    const after = query.get("after");
    const newer = after === null ? channel.messages : channel.messages.filter(({ id }) => BigInt(id) > BigInt(after));
    // Newest first, as Discord answers; `after` gives those that follow it most closely. A nonce is not kept.
    return (after === null ? newer.slice(-limit) : newer.slice(0, limit))
      .toReversed()
      .map((message) => ({ ...message, nonce: undefined }));
  }

  const routes: Readonly<Record<string, (request: SeenRequest, ids: readonly string[]) => unknown>> = {
    "GET /gateway/bot": () => ({
      url: `ws://127.0.0.1:${port()}/gateway`,
      shards: 1,
      session_start_limit: { total: 1000, remaining: 999, reset_after: 1000, max_concurrency: 1 },
    }),
    "GET /channels/:id": (_request, [id = ""]) => describeChannel(channelOf(id)),
    "GET /channels/:id/messages": ({ query }, [id = ""]) => messagesOf(channelOf(id), query),
    "GET /channels/:id/messages/:id": (_request, [id = "", messageId]) => {
      const message = channelOf(id).messages.find((one) => one.id === messageId);
      if (!message) throw new Refusal(404, 10008, "Unknown Message");
      return message;
    },
    "POST /channels/:id/messages": (request, [id = ""]) => createMessage(channelOf(id), request),
    "PATCH /channels/:id/messages/:id": ({ body }, [id = "", messageId]) => {
      const message = channelOf(id).messages.find((one) => one.id === messageId);
      if (!message) throw new Refusal(404, 10008, "Unknown Message");
      if (message["author"] === undefined || (message["author"] as Json)["id"] !== bot.id) {
        throw new Refusal(403, 50005, "Cannot edit a message authored by another user");
      }
      const content = readContent(body, 0);
      message.content = content;
      dispatch("MESSAGE_UPDATE", message);
      edits.push({ id: message.id, content });
      return message;
    },
    "PUT /channels/:id/messages/:id/reactions/:emoji/@me": ({ path }, [id = "", messageId = ""]) => {
      const message = channelOf(id).messages.find((one) => one.id === messageId);
      if (!message) throw new Refusal(404, 10008, "Unknown Message");
      const emoji = decodeURIComponent(/reactions\/([^/]+)/.exec(path)?.[1] ?? "");
      if (!/^(?:\p{Extended_Pictographic}.*|\w+:\d+)$/u.test(emoji)) throw new Refusal(400, 10014, "Unknown Emoji");
      reactions.push({ message: messageId, emoji });
    },
    "POST /channels/:id/typing": (_request, [id = ""]) => void channelOf(id),
    "POST /users/@me/channels": ({ body: { recipient_id: person } }) => {
      if (typeof person !== "string") throw new Refusal(400, 50035, "Invalid Form Body: recipient_id");
      return describeChannel(privateChat(person));
    },
    "PUT /applications/:id/commands": ({ body }) => {
      commands = body;
      return body;
    },
    "POST /interactions/:id/:token/callback": ({ body }, [interaction = ""]) => {
      acknowledged.push({ interaction, body });
    },
  };

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://fake");
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (url.pathname.startsWith("/attachments/")) return sendFile(url.pathname, response);
    const path = url.pathname.replace(/^\/api\/v10/, "");
    const route = `${incoming.method} ${routeOf(path)}`;
    const request: SeenRequest = {
      method: incoming.method ?? "",
      path,
      route,
      query: url.searchParams,
      ...(await bodyOf(Buffer.concat(chunks), incoming.headers["content-type"])),
    };
    requests.push(request);
    const fault = faults.get(route)?.shift();
    changed();
    try {
      if (fault?.kind === "page") {
        const { status, words = "<html>Sorry.</html>" } = fault;
        return void response.writeHead(status, { "content-type": "text/html" }).end(status === 204 ? undefined : words);
      }
      if (fault?.kind === "hang") return keep(incoming.socket);
      if (fault?.kind === "die" && fault.when === "before") return void incoming.socket.destroy();
      if (fault?.kind === "rate-limit") throw new RateLimit(fault.retryAfter, fault.global ?? false);
      if (fault?.kind === "status") {
        throw new Refusal(fault.status, fault.code ?? 0, "told to fail", fault.errors);
      }
      const work = routes[route];
      if (!work || !url.pathname.startsWith("/api/v10/")) {
        violations.push(`no such route: ${route}`);
        throw new Refusal(404, 0, "404: Not Found");
      }
      if (!route.includes("/interactions/") && incoming.headers.authorization !== `Bot ${token}`) {
        throw new Refusal(401, 0, "401: Unauthorized");
      }
      const ids = path.match(/\d{5,}/g) ?? [];
      if (!route.includes("/interactions/")) limits.takeGlobal();
      if (limited.includes(route)) {
        for (const [name, value] of Object.entries(limits.take(route, ids[0] ?? ""))) response.setHeader(name, value);
      }
      const result = work(request, ids);
      if (fault?.kind === "die") return void incoming.socket.destroy();
      reply(response, result === undefined ? 204 : 200, result);
    } catch (error) {
      if (error instanceof RateLimit) {
        for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
        reply(response, 429, {
          message: "You are being rate limited.",
          retry_after: error.retryAfter,
          global: error.global,
        });
      } else if (error instanceof Refusal) {
        reply(response, error.status, { code: error.code, message: error.message, errors: error.errors });
      } else throw error;
    } finally {
      changed();
    }
  }

  function sendFile(path: string, response: ServerResponse): void {
    fetched.push(path);
    changed();
    if (hanging > 0) return void hanging--;
    const bytes = files.get(path);
    response.writeHead(bytes ? 200 : 404).end(bytes);
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      violations.push(`the fake failed: ${String(error)}`);
      response.destroy();
    });
  });

  let connections = 0;
  server.on("connection", (socket) => {
    connections++;
    socket.once("close", () => {
      connections--;
      changed();
    });
  });

  // ── the gateway ─────────────────────────────────────────────────────────────────────────────────────────────────────

  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (gateway === "open") sockets.handleUpgrade(request, socket, head, (ws) => greet(ws));
    else if (gateway === "silent") keep(socket);
    else socket.destroy();
  });

  const send = (socket: WebSocket, payload: Json): void => socket.send(JSON.stringify(payload));

  function greet(socket: WebSocket): void {
    send(socket, { op: 10, d: { heartbeat_interval: heartbeatMs } });
    socket.on("message", (data: Buffer) =>
      hear(socket, JSON.parse(data.toString()) as { op: number; d: Json | number }),
    );
    socket.on("close", (code) => {
      if (session?.socket !== socket) return;
      session.socket = undefined;
      // Who says goodbye does not come back to the same session.
      if (code === 1000 || code === 1001) session = undefined;
      changed();
    });
  }

  function hear(socket: WebSocket, { op, d }: { op: number; d: Json | number }): void {
    if (op === 1) {
      heartbeats.push(Date.now());
      if (!acksWithheld) send(socket, { op: 11 });
      changed();
    } else if (op === 2 || op === 6) {
      logins.push(op === 2 ? "identify" : "resume");
      changed();
      if (loginsIgnored) return;
      if (op === 2) identify(socket, d as Json);
      else resume(socket, d as Json);
    }
  }

  function identify(socket: WebSocket, { token: given, intents }: Json): void {
    if (given !== token) return socket.close(4004, "Authentication failed.");
    if (typeof intents !== "number") return socket.close(4013, "Invalid intent(s).");
    if ((intents & ~grantedIntents) !== 0) return socket.close(4014, "Disallowed intent(s).");
    if ((intents & intentsOfContent) === 0) violations.push("without Message Content, texts arrive empty");
    session = { id: nextId(), log: [], socket };
    dispatch("READY", {
      v: 10,
      user: user(bot),
      guilds: [...guilds.keys()].map((id) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: `ws://127.0.0.1:${port()}/gateway`,
      shard: [0, 1],
      application: { id: bot.id, flags: 0 },
    });
    for (const id of guilds.keys()) if (!away.has(id)) dispatch("GUILD_CREATE", describeGuild(id));
    changed();
  }

  function resume(socket: WebSocket, { token: given, session_id: id, seq }: Json): void {
    if (given !== token) return socket.close(4004, "Authentication failed.");
    if (!session || session.id !== id) return send(socket, { op: 9, d: false });
    session.socket = socket;
    for (const event of session.log) if (event.s > Number(seq)) send(socket, { op: 0, ...event });
    dispatch("RESUMED", {});
    changed();
  }

  /** Tells the client, or keeps it until the client is back. */
  function dispatch(t: string, d: unknown): void {
    if (!session) return;
    const event = { s: session.log.length + 1, t, d };
    session.log.push(event);
    if (session.socket) send(session.socket, { op: 0, ...event });
  }

  // ── what there is ───────────────────────────────────────────────────────────────────────────────────────────────────

  const describeChannel = ({ id, type, guild, parent, messages }: Channel): Json => ({
    id,
    type,
    name: `channel-${id}`,
    last_message_id: messages.at(-1)?.id ?? null,
    ...(guild === undefined ? { recipients: [] } : { guild_id: guild, permission_overwrites: [], position: 0 }),
    ...(parent !== undefined && {
      parent_id: parent,
      owner_id: bot.id,
      thread_metadata: {
        archived: false,
        auto_archive_duration: 60,
        archive_timestamp: new Date().toISOString(),
        locked: false,
      },
    }),
  });

  function describeGuild(id: string): Json {
    const all = [...channels.values()].filter(({ guild }) => guild === id);
    return {
      id,
      name: "house",
      owner_id: bot.id,
      joined_at: guilds.get(id),
      unavailable: false,
      member_count: 2,
      roles: [
        {
          id,
          name: "@everyone",
          permissions: "0",
          position: 0,
          color: 0,
          hoist: false,
          managed: false,
          mentionable: false,
        },
      ],
      channels: all.filter(({ parent }) => parent === undefined).map(describeChannel),
      threads: all.filter(({ parent }) => parent !== undefined).map(describeChannel),
      members: [],
      emojis: [],
      stickers: [],
      features: [],
      presences: [],
      voice_states: [],
      stage_instances: [],
      guild_scheduled_events: [],
      soundboard_sounds: [],
      verification_level: 0,
      default_message_notifications: 0,
      explicit_content_filter: 0,
      mfa_level: 0,
      nsfw_level: 0,
      premium_tier: 0,
      system_channel_flags: 0,
      preferred_locale: "en-US",
    };
  }

  function addChannel(channel: Omit<Channel, "id" | "messages">, event: string | undefined): string {
    const id = nextId();
    const added = { id, messages: [], ...channel };
    channels.set(id, added);
    if (event !== undefined) dispatch(event, { ...describeChannel(added), newly_created: true });
    return id;
  }

  function privateChat(person: string): Channel {
    const known = [...channels.values()].find((channel) => channel.person === person);
    const chat = known ?? { id: nextId(), type: 1, person, messages: [] };
    channels.set(chat.id, chat);
    return chat;
  }

  function addMessage(channel: Channel, author: Person, content: string, extra: Extra): Message {
    const quoted = channel.messages.find(({ id }) => id === extra.replyTo);
    const attachments = (extra.files ?? []).map(({ name, bytes, claimedSize }) => {
      const id = nextId();
      const path = `/attachments/${channel.id}/${id}/${encodeURIComponent(name)}`;
      files.set(path, bytes);
      const url = `http://127.0.0.1:${port()}${path}`;
      return { id, filename: name, size: claimedSize ?? bytes.length, url, proxy_url: url };
    });
    const message: Message = {
      id: nextId(),
      channel_id: channel.id,
      author: user(author),
      content,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      mentions: (extra.mentions ?? []).map(user),
      mention_roles: [],
      attachments,
      embeds: [],
      pinned: false,
      type: extra.type ?? (extra.replyTo === undefined ? 0 : 19),
      ...(extra.replyTo !== undefined && {
        message_reference: { message_id: extra.replyTo, channel_id: channel.id },
        referenced_message: quoted ?? null,
      }),
      ...extra.fields,
    };
    channel.messages.push(message);
    if (!extra.silent && !away.has(channel.guild ?? "")) {
      dispatch("MESSAGE_CREATE", { ...message, ...(channel.guild !== undefined && { guild_id: channel.guild }) });
    }
    changed();
    return message;
  }

  const port = (): number => (server.address() as AddressInfo).port;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    token,
    apiRoot: `http://127.0.0.1:${port()}/api`,
    gatewayUrl: `ws://127.0.0.1:${port()}/gateway`,
    bot,
    /** Every request, post and login so far, in order. */
    requests: requests as readonly SeenRequest[],
    posts: posts as readonly Post[],
    edits: edits as readonly { readonly id: string; readonly content: string }[],
    reactions: reactions as readonly { readonly message: string; readonly emoji: string }[],
    acknowledged: acknowledged as readonly { readonly interaction: string; readonly body: Json }[],
    logins: logins as readonly ("identify" | "resume")[],
    heartbeats: heartbeats as readonly number[],
    /** What a client of the real Discord would get into trouble for. Empty in every good test. */
    violations: violations as readonly string[],
    /** What the bot's messages say by now. */
    standing: (): readonly string[] =>
      posts.map(({ id, content }) => edits.findLast((edit) => edit.id === id)?.content ?? content),
    /** How many requests were one too many. */
    refused: (): number => limits.refused(),
    commands: (): unknown => commands,
    /** How many are open, whatever is spoken on them. */
    connections: (): number => connections,
    isConnected: (): boolean => session?.socket !== undefined,
    fetched: fetched as readonly string[],
    /** The next file that is asked for never comes. */
    hangFile: (): void => void hanging++,
    /** Files have other addresses from now on; the messages know them. */
    renewAddresses(): void {
      for (const { messages } of channels.values()) {
        for (const [at, message] of messages.entries()) {
          const old = (message["attachments"] ?? []) as readonly { readonly url: string }[];
          messages[at] = { ...message, attachments: old.map((file) => ({ ...file, url: `${file.url}.new` })) };
        }
      }
      const renewed = [...files].map(([path, bytes]) => [`${path}.new`, bytes] as const);
      files.clear();
      for (const [path, bytes] of renewed) files.set(path, bytes);
    },
    requestsTo: (route: string): readonly SeenRequest[] => requests.filter((request) => request.route === route),

    person,
    addGuild({ joinedAt = new Date() }: { readonly joinedAt?: Date } = {}): string {
      const id = nextId();
      guilds.set(id, joinedAt.toISOString());
      dispatch("GUILD_CREATE", describeGuild(id));
      return id;
    },
    addChannel: (guild: string, type = 0): string => addChannel({ guild, type }, "CHANNEL_CREATE"),
    /** `silent`: it was there before, but asleep, and so nobody is told. */
    addThread: (parent: string, { silent = false } = {}): string =>
      addChannel({ parent, type: 11, ...guildOf(channelOf(parent)) }, silent ? undefined : "THREAD_CREATE"),
    /** A private chat. Discord does not announce it; the first message does. */
    addPrivateChat: (somebody: Person = person("somebody")): string => privateChat(somebody.id).id,
    removeChannel: (id: string): boolean => channels.delete(id),

    /** Somebody says something; the id of the message. */
    say: (channel: string, author: Person, text: string, extra: Extra = {}): string =>
      addMessage(channelOf(channel), author, text, extra).id,
    /** Somebody chooses a slash command; the id of the interaction. */
    command(
      channelId: string,
      author: Person,
      name: string,
      values: Readonly<Record<string, number | string>> = {},
    ): string {
      const channel = channelOf(channelId);
      const id = nextId();
      const given = Object.entries(values).map(([key, value]) => ({ name: key, type: 4, value }));
      dispatch("INTERACTION_CREATE", {
        id,
        application_id: bot.id,
        type: 2,
        token: `token-${id}`,
        version: 1,
        channel_id: channelId,
        channel: describeChannel(channel),
        data: { id: nextId(), name, type: 1, options: given },
        entitlements: [],
        authorizing_integration_owners: {},
        attachment_size_limit: 10_000_000,
        locale: "en-US",
        ...(channel.guild === undefined
          ? { user: user(author) }
          : {
              guild_id: channel.guild,
              member: {
                user: user(author),
                roles: [],
                joined_at: new Date().toISOString(),
                permissions: "0",
                flags: 0,
              },
            }),
      });
      return id;
    },

    /** The next requests to this route (`POST /channels/:id/messages`) fail so, one after the other. */
    fail(route: string, ...how: readonly Fault[]): void {
      faults.set(route, [...(faults.get(route) ?? []), ...how]);
    },
    /** The gateway closes the connection; without a code it just breaks. The session can be resumed. */
    dropGateway(code?: number): void {
      if (code === undefined) session?.socket?.terminate();
      else session?.socket?.close(code);
      if (session) session.socket = undefined;
    },
    /** A part of Discord is ill: of this guild nothing is heard. */
    loseGuild(guild: string): void {
      away.add(guild);
      dispatch("GUILD_DELETE", { id: guild, unavailable: true });
    },
    /** It is back; what was said meanwhile is not told. */
    returnGuild(guild: string): void {
      away.delete(guild);
      dispatch("GUILD_CREATE", describeGuild(guild));
    },
    /** "Please reconnect" (op 7). */
    requestReconnect(): void {
      if (session?.socket) send(session.socket, { op: 7, d: null });
    },
    /** The session is over (op 9): what happens until the next login is not told to anyone. */
    invalidateSession(): void {
      const socket = session?.socket;
      session = undefined;
      if (socket) send(socket, { op: 9, d: false });
    },
    withholdAcks(withheld = true): void {
      acksWithheld = withheld;
    },
    /** Whoever logs in gets no answer; heartbeats do. */
    ignoreLogins(ignored = true): void {
      loginsIgnored = ignored;
    },
    /** Tells the bot anything at all. */
    dispatch,
    /** Nobody can connect to the gateway, and nobody stays. */
    setGatewayOpen(open: boolean): void {
      gateway = open ? "open" : "closed";
      if (!open) for (const socket of sockets.clients) socket.terminate();
    },
    /** Whoever dials the gateway from now on is neither let in nor turned away. */
    silenceGateway(): void {
      gateway = "silent";
    },
    /** How many wait on a connection for an answer, or to be let in, that will not come. */
    keptWaiting: (): number => kept.size,
    /** Waits until something that can be seen here is true. */
    async until(check: () => boolean, what = "what was waited for", patienceMs = 15_000): Promise<void> {
      const late = Date.now() + patienceMs;
      while (!check()) {
        if (Date.now() > late) throw new Error(`${what} did not happen`);
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            clearTimeout(timer);
            resolve();
          };
          const timer = setTimeout(wake, 20);
          waiting.add(wake);
        });
      }
    },
    async close(): Promise<void> {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Discord tells how much is left of these. */
const limited: readonly string[] = ["POST /channels/:id/messages", "PATCH /channels/:id/messages/:id"];

const guildOf = ({ guild }: Channel): { readonly guild?: string } => (guild === undefined ? {} : { guild });

const routeOf = (path: string): string =>
  path
    .replace(/^\/interactions\/\d+\/[^/]+/, "/interactions/:id/:token")
    .replace(/(?<=\/reactions\/)[^/]+/, ":emoji")
    .replaceAll(/\/\d+(?=\/|$)/g, "/:id");

function reply(response: ServerResponse, status: number, body: unknown): void {
  if (body === undefined) response.writeHead(status).end();
  else response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

/** JSON, or a form with JSON and files. */
async function bodyOf(bytes: Buffer, type = ""): Promise<Pick<SeenRequest, "body" | "files">> {
  if (!type.startsWith("multipart/form-data")) {
    return { body: bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Json), files: [] };
  }
  const form = await new Response(new Uint8Array(bytes), { headers: { "Content-Type": type } }).formData();
  const files: { name: string; bytes: Buffer }[] = [];
  for (const value of form.values()) {
    if (typeof value !== "string") files.push({ name: value.name, bytes: Buffer.from(await value.arrayBuffer()) });
  }
  const json = form.get("payload_json");
  return { body: typeof json === "string" ? (JSON.parse(json) as Json) : {}, files };
}
