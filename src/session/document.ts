/**
 * The document driver: a conversation is one entry, written whole by every save. The five fields of a history document
 * are the entry's value, the session's header lies beside them. Nothing is cached; one turn is one write.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Row, SessionKey } from "../message.js";
import { localIsoTime } from "../util/clock.js";
import { reasonOf, UserError } from "../util/errors.js";
import type { Clock, Log } from "../world.js";
import { type DocumentBackend, type Entry, noEntry } from "./document-backend.js";
import {
  assertFits,
  defaultMaxEntryBytes,
  documentText,
  entryJson,
  entryKeys,
  escapeSurrogates,
  findPlace,
  headerFrom,
  isOwnedBy,
  keyPrefix,
  messageJson,
  type Owner,
  readEntry,
  revisionOf,
  setAside,
  utcTime,
} from "./document-entry.js";
import { openSqliteBackend } from "./document-sqlite.js";
import { completeHeader, headerLine, isObject, type PartialHeader } from "./header.js";
import { parsePythonJson, type PythonObject } from "./python-json.js";
import {
  ChangedElsewhere,
  type Damage,
  type SessionHeader,
  type SessionLog,
  type SessionStore,
  type SessionSummary,
  type VerifyResult,
} from "./store.js";

export type DocumentOptions = {
  /** The sessions folder; entries are in its file `histories.sqlite` unless there is a `backend`. */
  readonly folder: string;
  readonly backend?: DocumentBackend;
  /** The agent whose conversations these are; a session key is its chat id. Default: `nanogate`. */
  readonly agentId?: string;
  /** A longer entry is refused. Default: 16 MiB, what MongoDB takes. */
  readonly maxEntryBytes?: number;
  readonly clock: Clock;
  readonly log: Log;
};

type Parts = Required<Omit<DocumentOptions, "folder">>;

export function createDocumentStore(options: DocumentOptions): SessionStore {
  const { agentId = "nanogate", maxEntryBytes = defaultMaxEntryBytes, clock, log } = options;
  const file = join(options.folder, "histories.sqlite");
  const backend = options.backend ?? openSqliteBackend(file);
  const parts: Parts = { backend, agentId, maxEntryBytes, clock, log };
  return {
    open: (key) => openLog(key, parts),

    async *list() {
      for await (const { key, head } of backend.list(keyPrefix(agentId))) {
        const summary = (head !== undefined && summaryOf(key, head, agentId)) || (await summaryByReading(key, parts));
        if (summary) yield summary;
      }
    },

    async *verify({ repair, only }) {
      const wanted = only === undefined ? undefined : (await findPlace(backend, { agentId, chatId: only })).key;
      for await (const { key } of backend.list(keyPrefix(agentId))) {
        if ((wanted ?? key) !== key) continue;
        const result = await verifyEntry(key, parts, repair);
        if (result) yield result;
      }
    },

    async files() {
      if (options.backend !== undefined || !existsSync(file)) return [];
      for await (const { key } of backend.list("")) {
        if (key.startsWith(keyPrefix(agentId)) || key.startsWith("aside-")) continue;
        throw new UserError(
          `${file} also holds histories of other agents (${key}).`,
          "Move those to a file of their own first; a file can only move as a whole.",
        );
      }
      return [file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path));
    },

    close: () => backend.close(),
  };
}

type DocumentLog = SessionLog & {
  /** Writes anew what could be read; the damaged original is kept under the key that is returned. */
  rewrite(): Promise<string | undefined>;
};

async function openLog(key: SessionKey, parts: Parts): Promise<DocumentLog> {
  const { backend, agentId, maxEntryBytes, clock, log } = parts;
  const owner: Owner = { agentId, chatId: key };
  const place = await findPlace(backend, owner);
  const path = place.key;
  const found = place.kind === "taken" ? readSession(path, place.entry) : newSession;
  // As texts: nobody who was handed a row can change what the next save writes.
  let messages = found.messages;
  let header = completeHeader(key, found.header, messages.length, clock());
  let revision = revisionOf(place);
  let damaged = place.kind === "taken" && found.damage.length > 0 ? place.entry : undefined;
  for (const { line, reason } of found.damage) {
    log.warn(`${path}, ${partName(line)}: ${reason}; the rest is kept`, { file: path, line, reason });
  }

  const isCurrent = async (): Promise<boolean> => ((await backend.get(path))?.revision ?? noEntry) === revision;

  const write = async (next: SessionHeader, texts: readonly string[]): Promise<string | undefined> => {
    const now = utcTime(clock());
    const entry = { value: documentText(owner, texts, now), head: escapeSurrogates(headerLine(next)) };
    const metadata = parsePythonJson(entryJson(next.metadata)) as PythonObject;
    assertFits(path, entry, maxEntryBytes);
    let aside: string | undefined;
    if (damaged) {
      if (!(await isCurrent())) throw new ChangedElsewhere(path);
      aside = await setAside(backend, path, damaged, now);
      log.warn(`${path} was damaged; the original is kept as ${aside}`, { aside });
    }
    const written = await backend.put(path, entry, revision);
    if (written === "changed") throw new ChangedElsewhere(path);
    revision = written;
    damaged = undefined;
    messages = texts;
    header = { ...next, metadata };
    return aside;
  };

  return {
    get header() {
      return header;
    },
    get length() {
      return messages.length;
    },
    get isStored() {
      return revision !== noEntry;
    },
    path,
    isCurrent,
    read: (from, to) => messages.slice(Math.max(0, from), Math.max(0, to)).map((text) => parsePythonJson(text) as Row),
    append: async (next, rows) => void (await write(next, [...messages, ...rows.map(messageJson)])),
    replace: async (next, rows) => void (await write(next, rows.map(messageJson))),
    rewrite: () => write(header, messages),
  };
}

type StoredSession = {
  readonly messages: readonly string[];
  readonly header: PartialHeader;
  readonly damage: readonly Damage[];
};

const newSession: StoredSession = { messages: [], header: {}, damage: [] };

/** Everything that can be read of an entry. Messages count from 1 like the lines of a file. */
function readSession(file: string, entry: Entry): StoredSession {
  const content = readEntry(entry);
  const damage: Damage[] = [];
  if ("unreadable" in content) damage.push({ file, line: 0, reason: content.unreadable });
  const { history = [], lastUpdated } = "history" in content ? content : {};
  history.forEach((message, at) => {
    if (!isObject(message)) damage.push({ file, line: at + 1, reason: "not a JSON object" });
  });
  const stored = entry.head === undefined ? undefined : headerFrom(entry.head);
  if (entry.head !== undefined && !stored) damage.push({ file, line: 0, reason: "the header is not readable" });
  const header = { ...timesFrom(lastUpdated), ...stored };
  return { messages: history.filter(isObject).map(entryJson), header, damage };
}

/** An entry without a header was last written by another program; it began then at the latest. */
function timesFrom(lastUpdated: string | undefined): PartialHeader {
  const at = Date.parse(lastUpdated ?? "");
  if (Number.isNaN(at)) return {};
  const time = localIsoTime(at * 1000);
  return { createdAt: time, updatedAt: time };
}

const partName = (line: number): string => (line === 0 ? "the entry" : `message ${line}`);

/** From the header alone, without reading the conversation; undefined if that does not tell whose it is. */
function summaryOf(path: string, head: string, agentId: string): SessionSummary | undefined {
  const { key, createdAt, updatedAt } = headerFrom(head) ?? {};
  if (key === undefined || !entryKeys({ agentId, chatId: key }).includes(path)) return undefined;
  return { key, createdAt, updatedAt, path };
}

async function summaryByReading(path: string, { backend, agentId }: Parts): Promise<SessionSummary | undefined> {
  const entry = await backend.get(path);
  const { ids, ...content } = entry ? readEntry(entry) : { ids: {} };
  const { chatId } = ids;
  if (!("history" in content) || chatId === undefined) return undefined;
  const owner: Owner = { agentId, chatId };
  if (!isOwnedBy(owner, ids) || !entryKeys(owner).includes(path)) return undefined;
  const { createdAt, updatedAt } = timesFrom(content.lastUpdated);
  return { key: chatId, createdAt, updatedAt, path };
}

/** Undefined for the conversation of another agent whose id begins like ours. */
async function verifyEntry(path: string, parts: Parts, repair: boolean): Promise<VerifyResult | undefined> {
  const { backend, agentId } = parts;
  const guess = path.slice(keyPrefix(agentId).length);
  let entry: Entry | undefined;
  try {
    entry = await backend.get(path);
  } catch (error) {
    return { key: guess, path, rows: 0, damage: [{ file: path, line: 0, reason: reasonOf(error) }] };
  }
  if (!entry) return undefined;
  const { ids } = readEntry(entry);
  const named: Owner = { agentId, chatId: guess, ...ids };
  const fits = entryKeys(named).includes(path);
  if (fits && named.agentId !== agentId) return undefined;
  const { messages, damage } = readSession(path, entry);
  const result = { key: fits ? named.chatId : guess, path, rows: messages.length, damage };
  if (!fits) {
    const reason = `the entry is that of agent ${JSON.stringify(named.agentId)}, chat ${JSON.stringify(named.chatId)}`;
    return { ...result, damage: [...damage, { file: path, line: 0, reason }] };
  }
  if (!repair || damage.length === 0) return result;
  const log = await openLog(result.key, parts);
  // An unreadable entry may be another's whose name looks alike, while ours lies elsewhere in good health.
  const setAsideAs = log.path === path ? await log.rewrite() : undefined;
  return setAsideAs === undefined ? result : { ...result, setAside: setAsideAs };
}
