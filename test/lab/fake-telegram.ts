/** Telegram's Bot API on a real socket, with real long polling: strict about what it is sent, and as bad as the real one on its worst day. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseTelegramHtml } from "./telegram-html.js";

type Fields = Readonly<Record<string, unknown>>;

/** A chat that the bot is in. Private unless its id is negative. */
export type FakeChat = {
  readonly id: number;
  readonly type?: "private" | "group" | "supergroup";
  /** Topics that messages may be sent to. */
  readonly topics?: readonly number[];
  /** The person blocked the bot, or the group put it out: with these words. */
  readonly blocked?: string;
  /** The group has become this supergroup. */
  readonly movedTo?: number;
};

/** What goes wrong with one call. */
export type Fault =
  | { readonly kind: "refuse"; readonly code: number; readonly description: string; readonly parameters?: Fields }
  /** A page of some proxy in between instead of an answer. */
  | { readonly kind: "page"; readonly code: number }
  /** Nothing is done and nothing is ever said. */
  | { readonly kind: "hang" }
  /** It is done, but nobody is told. */
  | { readonly kind: "hang after" }
  /** The connection ends before anything is done. */
  | { readonly kind: "die" }
  /** It is done, then the connection ends: the unknown outcome. */
  | { readonly kind: "die after" };

export const tooMany = (seconds: number): Fault => ({
  kind: "refuse",
  code: 429,
  description: `Too Many Requests: retry after ${seconds}`,
  parameters: { retry_after: seconds },
});
export const refuse = (code: number, description: string, parameters?: Fields): Fault => ({
  kind: "refuse",
  code,
  description,
  ...(parameters && { parameters }),
});

export type Upload = { readonly name: string; readonly bytes: Buffer };
/** A request, as it came. */
export type Call = { readonly method: string; readonly payload: Fields; readonly files: ReadonlyMap<string, Upload> };
/** A message that stands in a chat now. `text` is what a reader sees, `source` what was sent. */
export type Sent = {
  readonly id: number;
  readonly method: string;
  readonly chat: number;
  readonly thread: number | undefined;
  readonly text: string;
  readonly source: string;
  readonly html: boolean;
  readonly file: Upload | undefined;
  /** The message it quotes. */
  readonly quotes: number | undefined;
  readonly edits: readonly string[];
};

export type FakeTelegramOptions = {
  readonly token?: string;
  readonly username?: string;
  readonly port?: number;
  readonly chats?: readonly FakeChat[];
  /** As Telegram: what is more than this is one too many. Edits count as messages do. */
  readonly limits?: {
    /** Between two messages of a chat. */
    readonly perChatMs?: number;
    /** In a group, in any minute. */
    readonly perGroupMinute?: number;
    /** In all chats together. */
    readonly perSecond?: number;
  };
  /** The clock of these limits. */
  readonly now?: () => number;
};

type Answer = { readonly code: number; readonly body: Fields };
type Poller = { readonly response: ServerResponse; readonly limit: number; readonly end: () => void };

const good = (result: unknown): Answer => ({ code: 200, body: { ok: true, result } });
const bad = (code: number, description: string, parameters?: Fields): Answer => ({
  code,
  body: { ok: false, error_code: code, description, ...(parameters && { parameters }) },
});
const badRequest = (words: string): Answer => bad(400, `Bad Request: ${words}`);

const fileField: Readonly<Record<string, string>> = {
  sendPhoto: "photo",
  sendDocument: "document",
  sendVoice: "voice",
  sendAudio: "audio",
  sendVideo: "video",
  sendAnimation: "animation",
};

export type FakeTelegram = Awaited<ReturnType<typeof openFakeTelegram>>;

export async function openFakeTelegram(options: FakeTelegramOptions = {}) {
  const { token = "42:fake-token", username = "NanoBot", limits = {}, now = Date.now } = options;
  const bot = { id: 42, is_bot: true, first_name: "Nano", username };
  const chats = new Map((options.chats ?? []).map((chat) => [chat.id, chat]));
  const calls: Call[] = [];
  const sent: Sent[] = [];
  const faults = new Map<string, Fault[]>();
  const files = new Map<string, Buffer>();
  /** When something was taken, by what it counts for. */
  const taken = new Map<string, readonly number[]>();
  /** Messages that people have sent, as `chat/id`. */
  const said = new Set<string>();
  const watchers = new Set<() => void>();
  let updates: Fields[] = [];
  let allowed: readonly string[] | undefined;
  let poller: Poller | undefined;
  let confirmed = 0;
  let lastUpdate = 1000;
  let lastMessage = 100;

  const changed = (): void => {
    for (const look of watchers) look();
  };

  // Receiving -------------------------------------------------------------------------------------------------------

  const waiting = (): readonly Fields[] =>
    updates.filter((update) => !allowed || allowed.some((kind) => update[kind] !== undefined));

  const answerPoller = (): void => {
    if (!poller || waiting().length === 0) return;
    const { response, limit, end } = poller;
    end();
    reply(response, good(waiting().slice(0, limit)));
  };

  const push = (update: Fields): number => {
    lastUpdate += 1;
    updates.push({ update_id: lastUpdate, ...update });
    answerPoller();
    return lastUpdate;
  };

  const getUpdates = (payload: Fields, response: ServerResponse): Answer | undefined => {
    const { offset = 0, limit = 100, timeout = 0, allowed_updates: kinds } = payload;
    if (typeof offset !== "number" || offset < 0) return badRequest("this fake wants an offset of 0 or more");
    if (typeof limit !== "number" || limit < 1 || limit > 100) return badRequest("limit is out of range");
    if (typeof timeout !== "number" || timeout < 0 || timeout > 50) return badRequest("timeout is out of range");
    if (Array.isArray(kinds)) allowed = kinds.map(String);
    if (poller) {
      const { response: other, end } = poller;
      end();
      const words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
      reply(other, bad(409, words));
    }
    updates = updates.filter((update) => Number(update["update_id"]) >= offset);
    confirmed = Math.max(confirmed, offset);
    if (waiting().length > 0 || timeout === 0) return good(waiting().slice(0, limit));
    const timer = setTimeout(() => {
      end();
      reply(response, good([]));
    }, timeout * 1000);
    const end = (): void => {
      clearTimeout(timer);
      poller = undefined;
      response.off("close", gone);
    };
    // A program that was killed polls no more, and is nobody's rival.
    const gone = (): void => end();
    response.on("close", gone);
    poller = { response, limit, end };
    return undefined;
  };

  // Sending ---------------------------------------------------------------------------------------------------------

  const chatObjection = ({ chat_id: id, message_thread_id: thread }: Fields): Answer | undefined => {
    if (typeof id !== "number" && !/^-?\d+$/.test(String(id))) return badRequest("chat_id is wrong");
    const chat = chats.get(Number(id));
    if (!chat) return badRequest("chat not found");
    if (chat.blocked !== undefined) return bad(403, `Forbidden: ${chat.blocked}`);
    if (chat.movedTo !== undefined) {
      const words = "Bad Request: group chat was upgraded to a supergroup chat";
      return bad(400, words, { migrate_to_chat_id: chat.movedTo });
    }
    if (thread !== undefined && !chat.topics?.includes(Number(thread))) return badRequest("message thread not found");
    return undefined;
  };

  /** The words as a reader sees them, or what is wrong with them. */
  const readWords = (source: string, { parse_mode: mode }: Fields, most: number): Answer | string => {
    if (!source.isWellFormed()) return badRequest("strings must be encoded in UTF-8");
    if (mode !== undefined && mode !== "HTML") return badRequest("unsupported parse_mode");
    const parsed = mode === "HTML" ? parseTelegramHtml(source) : ({ ok: true, text: source } as const);
    if (!parsed.ok) return badRequest(parsed.error);
    const text = parsed.text.trim();
    if (text.length > most) return badRequest(most === 4096 ? "message is too long" : "message caption is too long");
    return text;
  };

  /** Takes a place under every limit there is, or says how long there is none. */
  const tooFast = (chat: number): Answer | undefined => {
    const { perChatMs = 0, perGroupMinute = Infinity, perSecond = Infinity } = limits;
    const windows = [
      { key: "all", most: perSecond, ms: 1000 },
      { key: `chat ${chat}`, most: perChatMs > 0 ? 1 : Infinity, ms: perChatMs },
      { key: `group ${chat}`, most: chat < 0 ? perGroupMinute : Infinity, ms: 60_000 },
    ].map((one) => ({ ...one, times: (taken.get(one.key) ?? []).filter((at) => at > now() - one.ms) }));
    const full = windows.filter(({ times, most }) => times.length >= most);
    if (full.length > 0) {
      const seconds = Math.max(...full.map(({ times, ms }) => Math.ceil(((times[0] ?? now()) + ms - now()) / 1000)));
      return bad(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
    }
    for (const { key, times } of windows) taken.set(key, [...times, now()]);
    return undefined;
  };

  /** The message that is quoted, undefined for none; or what is wrong with it. */
  const readQuote = (payload: Fields): Answer | number | undefined => {
    if (payload["reply_to_message_id"] !== undefined) return badRequest("this fake wants reply_parameters");
    const given = payload["reply_parameters"];
    if (given === undefined) return undefined;
    const { message_id: id, allow_sending_without_reply: tolerant } = given as Fields;
    if (typeof id !== "number") return badRequest("can't parse reply parameters JSON object");
    const chat = Number(payload["chat_id"]);
    if (said.has(`${chat}/${id}`) || sent.some((message) => message.chat === chat && message.id === id)) return id;
    return tolerant === true ? undefined : badRequest("message to be replied not found");
  };

  const send = ({ method, payload, files: uploads }: Call): Answer => {
    const field = fileField[method];
    const source = textOf(payload[field === undefined ? "text" : "caption"]);
    const objection = chatObjection(payload);
    if (objection) return objection;
    const text = readWords(source, payload, field === undefined ? 4096 : 1024);
    if (typeof text !== "string") return text;
    if (field === undefined && text === "") return badRequest("message text is empty");
    const file = field === undefined ? undefined : uploads.get(String(payload[field]).replace("attach://", ""));
    if (field !== undefined && (!file || file.bytes.length === 0)) return badRequest("file must be non-empty");
    const quotes = readQuote(payload);
    if (typeof quotes === "object") return quotes;
    const chat = Number(payload["chat_id"]);
    const wait = tooFast(chat);
    if (wait) return wait;
    lastMessage += 1;
    const thread = payload["message_thread_id"] === undefined ? undefined : Number(payload["message_thread_id"]);
    const html = payload["parse_mode"] === "HTML";
    sent.push({ id: lastMessage, method, chat, thread, text, source, html, file, quotes, edits: [] });
    return good({ message_id: lastMessage, date: unixNow(), chat: chatFields(chat), from: bot, text });
  };

  const editText = (payload: Fields): Answer => {
    if (payload["message_thread_id"] !== undefined) return badRequest("an edit has no topic");
    const objection = chatObjection(payload);
    if (objection) return objection;
    const chat = Number(payload["chat_id"]);
    if (typeof payload["message_id"] !== "number") return badRequest("message identifier is not specified");
    if (said.has(`${chat}/${payload["message_id"]}`)) return badRequest("message can't be edited");
    const at = sent.findIndex((one) => one.id === payload["message_id"] && one.chat === chat);
    const message = sent[at];
    if (!message) return badRequest("message to edit not found");
    if (message.file) return badRequest("there is no text in the message to edit");
    const source = textOf(payload["text"]);
    const text = readWords(source, payload, 4096);
    if (typeof text !== "string") return text;
    if (text === "") return badRequest("message text is empty");
    const html = payload["parse_mode"] === "HTML";
    // What a reader would see: the same words in bold are another message.
    if (text === message.text && looksOf(source, html) === looksOf(message.source, message.html)) {
      return badRequest("message is not modified: specified new message content is exactly the same");
    }
    const wait = tooFast(chat);
    if (wait) return wait;
    sent[at] = { ...message, text, source, html, edits: [...message.edits, message.text] };
    return good({ message_id: message.id, date: unixNow(), chat: chatFields(message.chat), text });
  };

  const setCommands = ({ commands }: Fields): Answer => {
    const fine = (one: unknown): boolean => {
      const { command, description } = one as { command?: unknown; description?: unknown };
      return /^[a-z0-9_]{1,32}$/.test(String(command)) && /^.{1,256}$/.test(String(description));
    };
    return Array.isArray(commands) && commands.every(fine) ? good(true) : badRequest("BOT_COMMAND_INVALID");
  };

  const getFile = ({ file_id: id }: Fields): Answer => {
    const bytes = files.get(String(id));
    if (!bytes) return badRequest("wrong file_id or the file is temporarily unavailable");
    if (bytes.length > 20 * 1024 * 1024) return badRequest("file is too big");
    return good({
      file_id: id,
      file_unique_id: `u${String(id)}`,
      file_size: bytes.length,
      file_path: `files/${String(id)}`,
    });
  };

  const run = (call: Call, response: ServerResponse): Answer | undefined => {
    const { method, payload } = call;
    if (method === "getUpdates") return getUpdates(payload, response);
    if (method === "getMe") return good(bot);
    if (method === "sendMessage" || method in fileField) return send(call);
    if (method === "editMessageText") return editText(payload);
    if (method === "sendChatAction" || method === "setMessageReaction") return chatObjection(payload) ?? good(true);
    if (method === "setMyCommands") return setCommands(payload);
    if (method === "getFile") return getFile(payload);
    return bad(404, `Not Found: this fake has no method ${method}`);
  };

  // The wire --------------------------------------------------------------------------------------------------------

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, isFile, given, rest = ""] = /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(request.url ?? "") ?? [];
    const body = await readBody(request);
    if (given !== token) return reply(response, bad(401, "Unauthorized"));
    const call: Call = { method: isFile ? "file" : rest, ...body };
    calls.push(call);
    changed();
    const fault = faults.get(call.method)?.shift();
    if (fault?.kind === "hang") return;
    if (fault?.kind === "die") return void response.destroy();
    if (fault?.kind === "refuse") return reply(response, bad(fault.code, fault.description, fault.parameters));
    if (fault?.kind === "page") {
      response.writeHead(fault.code, { "content-type": "text/html" });
      return void response.end("<html><h1>Bad Gateway</h1></html>");
    }
    if (isFile) {
      const bytes = files.get(rest.replace("files/", ""));
      response.writeHead(bytes ? 200 : 404);
      return void response.end(bytes);
    }
    const answer = run(call, response);
    changed();
    if (!answer || fault?.kind === "hang after") return;
    if (fault?.kind === "die after") return void response.destroy();
    reply(response, answer);
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => reply(response, bad(500, String(error))));
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");

  const chatFields = (id: number): Fields => {
    const type = chats.get(id)?.type ?? (id < 0 ? "supergroup" : "private");
    return {
      id,
      type,
      ...(type !== "private" && { title: "A group" }),
      ...(type === "private" && { first_name: "Ann" }),
    };
  };

  return {
    /** For `channels.telegram.apiRoot`. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    bot,
    /** All calls, polls included. */
    calls,
    /** What stands in the chats. */
    sent,
    /** Updates that are not forgotten yet. */
    pending: (): readonly Fields[] => updates,
    /** The highest offset asked for: all before it is forgotten. */
    confirmed: (): number => confirmed,
    /** Calls of one method. */
    callsOf: (method: string): readonly Fields[] =>
      calls.filter((call) => call.method === method).map(({ payload }) => payload),
    /** Queues an update; its number. */
    push,
    /** Somebody says something; the message as the bot will see it. */
    say(chat: number, text: string, extra: Fields = {}): Fields {
      if (!chats.has(chat)) chats.set(chat, { id: chat });
      const thread = extra["message_thread_id"];
      const known = chats.get(chat);
      if (typeof thread === "number" && known) {
        chats.set(chat, { ...known, topics: [...(known.topics ?? []), thread] });
      }
      lastMessage += 1;
      const message = {
        message_id: lastMessage,
        date: unixNow(),
        chat: chatFields(chat),
        from: { id: chat < 0 ? 7 : chat, is_bot: false, first_name: "Ann", username: "ann" },
        ...(text !== "" && { text }),
        ...extra,
      };
      said.add(`${chat}/${message.message_id}`);
      push({ message });
      return message;
    },
    /** The next calls of the method go wrong, one fault each. */
    fail: (method: string, ...more: readonly Fault[]): void =>
      void faults.set(method, [...(faults.get(method) ?? []), ...more]),
    /** The bot is in this chat. */
    chat: (chat: FakeChat): void => void chats.set(chat.id, chat),
    /** A file that can be fetched by this id. */
    file: (id: string, bytes: Buffer): void => void files.set(id, bytes),
    /** Resolves when this holds; looked at after every call. */
    until: (holds: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!holds()) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    /** A poll is being held open. */
    isPolled: (): boolean => poller !== undefined,
    async close(): Promise<void> {
      poller?.end();
      server.closeAllConnections();
      server.close();
      await once(server, "close").catch(() => {});
    },
  };
}

const looksOf = (source: string, html: boolean): string => {
  const parsed = html ? parseTelegramHtml(source) : undefined;
  return parsed?.ok ? parsed.tags.join() : "";
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const unixNow = (): number => Math.floor(Date.now() / 1000);

function reply(response: ServerResponse, { code, body }: Answer): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

async function readBody(request: IncomingMessage): Promise<Omit<Call, "method">> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const [, boundary] = /multipart\/form-data;\s*boundary=(.+)/.exec(request.headers["content-type"] ?? "") ?? [];
  if (boundary !== undefined) return readParts(body, boundary);
  return { payload: body.length === 0 ? {} : (JSON.parse(body.toString("utf8")) as Fields), files: new Map() };
}

/** multipart/form-data: fields as text, numbers and JSON where they look like it, and files. */
function readParts(body: Buffer, boundary: string): Omit<Call, "method"> {
  const payload: Record<string, unknown> = {};
  const files = new Map<string, Upload>();
  const mark = Buffer.from(`--${boundary}`);
  for (let at = body.indexOf(mark); at !== -1;) {
    const next = body.indexOf(mark, at + mark.length);
    if (next === -1) break;
    const part = body.subarray(at + mark.length + 2, next - 2);
    const split = part.indexOf("\r\n\r\n");
    const head = part.subarray(0, split).toString("utf8");
    const content = part.subarray(split + 4);
    const [, name = ""] = /name="([^"]*)"/.exec(head) ?? [];
    const [, file] = /filename="?([^"\r\n]*)"?/.exec(head) ?? [];
    if (file === undefined) payload[name] = content.toString("utf8");
    else files.set(name, { name: file, bytes: Buffer.from(content) });
    at = next;
  }
  return { payload, files };
}
