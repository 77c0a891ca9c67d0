/** One conversation as one entry: its text, the keys it may lie under, and how it is found among look-alikes. */
import { createHash } from "node:crypto";
import { UserError } from "../util/errors.js";
import { type DocumentBackend, type Entry, noEntry, type StoredEntry } from "./document-backend.js";
import { isHeader, isObject, type PartialHeader, readHeader } from "./header.js";
import { parsePythonJson, pythonJson, type PythonValue } from "./python-json.js";

/** Whose conversation it is. */
export type Owner = { readonly agentId: string; readonly chatId: string };

export type HistoryDocument = { readonly history: readonly PythonValue[]; readonly lastUpdated: string | undefined };

/** Where a conversation lies, or would lie once it is saved. */
export type Place =
  | { readonly kind: "free"; readonly key: string }
  | {
      readonly kind: "taken";
      readonly key: string;
      readonly entry: StoredEntry;
      /** What the entry says, or why nobody can tell. */
      readonly content: HistoryDocument | Unreadable;
    };

export type Unreadable = { readonly unreadable: string };

/** MongoDB's limit for one document, kept by every backend so that a conversation can move between them. */
export const defaultMaxEntryBytes = 16 * 1024 * 1024;

/** The conversation has outgrown what one entry may hold. Nothing was written. */
export class EntryTooLarge extends UserError {
  override readonly name = "EntryTooLarge";
  readonly bytes: number;
  readonly limit: number;

  constructor(key: string, bytes: number, limit: number) {
    super(
      `${key} would have ${bytes} bytes; an entry may have ${limit}. It was left as it is.`,
      "Compact the conversation or start a new one, or keep it with the jsonl or the chunked driver.",
    );
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** JSON text as Python prints it, with lone surrogates escaped: no database takes them raw. */
export const entryJson = (value: unknown): string => escapeSurrogates(pythonJson(value));

export const escapeSurrogates = (json: string): string =>
  json.isWellFormed() ? json : json.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

/** One message as JSON text. Refuses what could not be read back, for it would take the whole entry with it. */
export function messageJson(message: unknown): string {
  const text = entryJson(message);
  // A reader refuses what is nested too deeply, counted from the start of the entry, and numbers that are too long.
  if (text.length > surelyReadable) parsePythonJson(`{"history": [${text}]}`);
  return text;
}

/** So few characters can neither be nested too deeply nor hold too long a number. */
const surelyReadable = 1000;

/** The text of an entry. `messages` are the messages as JSON texts, so that those stored before are not printed anew. */
export function documentText(owner: Owner, messages: readonly string[], lastUpdated: string): string {
  const { agentId, chatId } = owner;
  const ids = `"agentId": ${entryJson(agentId)}, "chatId": ${entryJson(chatId)}`;
  return `{${ids}, "history": [${messages.join(", ")}], "lastUpdated": "${lastUpdated}", "size": ${messages.length}}`;
}

export function assertFits(key: string, { value, head = "" }: Entry, limit: number): void {
  const bytes = Buffer.byteLength(value, "utf8") + Buffer.byteLength(head, "utf8");
  if (bytes > limit) throw new EntryTooLarge(key, bytes, limit);
}

/** The time an ISO text tells (without a zone: local time), as documents have it: UTC, to the millisecond. */
export const utcTime = (time: string): string => new Date(time).toISOString();

export const keyPrefix = (agentId: string): string => storable(`agent-history-${agentId}-`);

/**
 * The keys a conversation may be found under, best first: the plain one, and for a conversation that finds it taken
 * by another the same with a fingerprint. Whose entry it is, the ids stored inside decide.
 */
export function entryKeys({ agentId, chatId }: Owner): readonly string[] {
  const plain = `agent-history-${agentId}-${chatId}`;
  const name = storable(plain);
  const print = createHash("sha256")
    .update(JSON.stringify([agentId, chatId]))
    .digest("hex");
  const marked = [`${name}~${print.slice(0, 8)}`, `${name}~${print}`];
  return name === plain ? [plain, ...marked] : marked;
}

const storable = (key: string): string => key.replace(/[\0\p{Surrogate}]/gu, "\ufffd");

export async function findPlace(backend: DocumentBackend, owner: Owner): Promise<Place> {
  let place: Place | undefined;
  for (const key of entryKeys(owner)) {
    const entry = await backend.get(key);
    if (!entry) {
      place ??= { kind: "free", key };
      continue;
    }
    const { ids, ...content } = readEntry(entry);
    if (!isOwnedBy(owner, ids)) continue;
    if (!("unreadable" in content)) return { kind: "taken", key, entry, content };
    // It may be somebody else's, who lost it; ours, if it is there, lies under one of the other keys.
    place ??= { kind: "taken", key, entry, content };
  }
  if (!place) throw new Error(`No key left for the conversation ${JSON.stringify(owner)}.`);
  return place;
}

export const revisionOf = (place: Place): number => (place.kind === "free" ? noEntry : place.entry.revision);

/** Keeps a copy of an entry that is about to be overwritten, under a key no conversation can have. Returns that key. */
export async function setAside(backend: DocumentBackend, key: string, entry: Entry, time: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const aside = `aside-${key}#${time}${attempt === 1 ? "" : `-${attempt}`}`;
    if ((await backend.put(aside, entry, noEntry)) !== "changed") return aside;
  }
}

type Ids = Partial<Owner>;

/** What an entry says, and whose it says it is, as far as it does. */
export function readEntry({ value, head }: Entry): { readonly ids: Ids } & (HistoryDocument | Unreadable) {
  // The header still tells whose it is when the value cannot.
  const chatId = head === undefined ? undefined : headerFrom(head)?.key;
  const fallback = chatId === undefined ? {} : { chatId };
  let document: PythonValue;
  try {
    document = parsePythonJson(value);
  } catch {
    return { ids: fallback, unreadable: "not valid JSON" };
  }
  if (!isObject(document)) return { ids: fallback, unreadable: "not a JSON object" };
  const ids = { ...fallback, ...idOf("agentId", document["agentId"]), ...idOf("chatId", document["chatId"]) };
  const { history, lastUpdated } = document;
  if (!Array.isArray(history)) return { ids, unreadable: "no list of messages in it" };
  return { ids, history, lastUpdated: typeof lastUpdated === "string" ? lastUpdated : undefined };
}

/** The header in an entry's head, if it can be read. */
export function headerFrom(head: string): PartialHeader | undefined {
  try {
    const record = parsePythonJson(head);
    return isHeader(record) ? readHeader(record) : undefined;
  } catch {
    return undefined;
  }
}

/** Other programs write the ids of some platforms as numbers. */
function idOf(name: keyof Owner, value: PythonValue | undefined): Ids {
  const isId = typeof value === "string" || typeof value === "number" || typeof value === "bigint";
  return isId ? { [name]: String(value) } : {};
}

export const isOwnedBy = (owner: Owner, { agentId, chatId }: Ids): boolean =>
  (agentId ?? owner.agentId) === owner.agentId && (chatId ?? owner.chatId) === owner.chatId;
