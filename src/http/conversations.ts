/** All conversations of all channels, for looking: found, read from the newest row backwards, checked, taken along. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { LRUCache } from "lru-cache";
import type { Row, SessionKey } from "../message.js";
import { headerLine } from "../session/header.js";
import type { SessionManager } from "../session/manager.js";
import { pythonJson } from "../session/python-json.js";
import type { Session } from "../session/session.js";
import type { SessionLog, SessionStore, SessionSummary as Stored } from "../session/store.js";
import { firstCharacters } from "../session/turn-rows.js";
import { UserError } from "../util/errors.js";
import type { RowPage, SessionList, SessionSummary, Verified } from "./api.js";

export type ConversationsParts = {
  readonly sessions: SessionManager;
  /** The same sessions; nothing is written through it. */
  readonly store: SessionStore;
};

export type Conversations = {
  list(asked: { readonly q: string; readonly limit: number; readonly offset: number }): Promise<SessionList>;
  /** These three give undefined if there is no such conversation. */
  page(key: SessionKey, asked: PageAsked): Promise<RowPage | undefined>;
  verify(key: SessionKey): Promise<Verified | undefined>;
  /** Its lines, in portions. */
  export(key: SessionKey): Promise<Readable | undefined>;
  /** Why there cannot be a conversation of this name; undefined: there can. */
  refusal(key: SessionKey): Promise<string | undefined>;
};
export type PageAsked = { readonly before?: number; readonly limit: number; readonly raw: boolean };

const lastChars = 200;
/** Among so many rows something that was said will be found. */
const rowsLookedAt = 20;
const exportedAtOnce = 500;

export function createConversations({ sessions, store }: ConversationsParts): Conversations {
  /** Looking into a conversation takes longer than listing it; it is done again when it has changed. */
  const lasts = new LRUCache<SessionKey, { readonly at: string; readonly last: SessionSummary["last"] }>({
    max: 20_000,
  });

  const lastOf = async ({ key, updatedAt = "" }: Stored): Promise<SessionSummary["last"]> => {
    const known = lasts.get(key);
    if (known?.at === updatedAt) return known.last;
    const log = await store.open(key);
    const last = log
      .read(Math.max(0, log.length - rowsLookedAt), log.length)
      .flatMap(saidIn)
      .at(-1);
    lasts.set(key, { at: updatedAt, last });
    return last;
  };

  const summaryOf = async (stored: Stored): Promise<SessionSummary> => {
    const { key, createdAt = "", updatedAt = "" } = stored;
    const last = await lastOf(stored).catch(() => undefined);
    return { key, createdAt, updatedAt, ...(last && { last }) };
  };

  const summaries = async (stored: readonly Stored[]): Promise<SessionSummary[]> => {
    const found: SessionSummary[] = [];
    for (const one of stored) found.push(await summaryOf(one));
    return found;
  };

  return {
    async list({ q, limit, offset }) {
      const all = await sessions.list();
      if (q === "") return { total: all.length, sessions: await summaries(all.slice(offset, offset + limit)) };
      const wanted = q.toLowerCase();
      const found = (await summaries(all)).filter(({ key, last }) =>
        `${key}\n${last?.text ?? ""}`.toLowerCase().includes(wanted),
      );
      return { total: found.length, sessions: found.slice(offset, offset + limit) };
    },

    async page(key, { before, limit, raw }) {
      const session = await existing(() => sessions.getOrCreate(key));
      if (!session || (!session.log.isStored && session.length === 0)) return undefined;
      const total = session.length;
      const to = Math.min(before ?? total, total);
      const from = Math.max(0, to - limit);
      const rows = session.slice(from, to);
      return {
        total,
        from,
        rows,
        ...(raw && { lines: linesOf(session, from, to) ?? rows.map((row) => pythonJson(row)) }),
      };
    },

    async verify(key) {
      const found = await existing(() => first(store.verify({ repair: false, only: key })));
      return found && { ok: found.damage.length === 0, problems: found.damage.map(inWords) };
    },

    async export(key) {
      const log = await existing(() => store.open(key));
      if (!log?.isStored) return undefined;
      // A conversation that is a file is given as that file, whatever is in it.
      if (!log.lines) return Readable.from(printed(log));
      const { size } = await stat(log.path);
      return size === 0 ? Readable.from(printed(log)) : createReadStream(log.path, { end: size - 1 });
    },

    async refusal(key) {
      try {
        await sessions.getOrCreate(key);
      } catch (error) {
        // A disk that fails is no reason to refuse: whatever is said is kept until it works again.
        if (error instanceof UserError) return error.message;
      }
      return undefined;
    },
  };
}

/** A key that no file can be named after is that of no conversation. */
async function existing<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

async function first<T>(all: AsyncIterable<T>): Promise<T | undefined> {
  for await (const one of all) return one;
  return undefined;
}

function linesOf({ log }: Session, from: number, to: number): readonly string[] | undefined {
  const lines = to <= log.length ? log.lines?.(from, to) : undefined;
  return lines?.length === to - from ? lines : undefined;
}

function saidIn({ role, content }: Row): NonNullable<SessionSummary["last"]>[] {
  if (role !== "user" && role !== "assistant") return [];
  const text = (
    Array.isArray(content)
      ? content.flatMap((part: Row) => (typeof part?.["text"] === "string" ? [part["text"]] : [])).join(" ")
      : typeof content === "string"
        ? content
        : ""
  ).trim();
  if (text === "") return [];
  const head = firstCharacters(text, lastChars);
  return [{ role, text: head.length < text.length ? `${head}…` : text }];
}

const inWords = ({ line, reason }: { readonly line: number; readonly reason: string }): string =>
  line === 0 ? reason : `line ${line}: ${reason}`;

function* printed(log: SessionLog): Generator<string> {
  yield `${headerLine(log.header)}\n`;
  for (let from = 0; from < log.length; from += exportedAtOnce) {
    const rows = log.read(from, Math.min(from + exportedAtOnce, log.length));
    yield rows.map((row) => `${pythonJson(row)}\n`).join("");
  }
}
