/**
 * Whole histories, one entry per conversation of an agent, in one store and with one write: no cache, no expiry. What
 * a save would replace unseen, because it could not be read or because another process wrote it, is kept aside first.
 */
import type { Row } from "../message.js";
import { reasonOf } from "../util/errors.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import { type Clock, type Log, stderrLog } from "../world.js";
import type { DocumentBackend, StoredEntry } from "./document-backend.js";
import {
  assertFits,
  defaultMaxEntryBytes,
  documentText,
  findPlace,
  messageJson,
  type Owner,
  type Place,
  revisionOf,
  setAside,
  utcTime,
} from "./document-entry.js";
import { openSqliteBackend } from "./document-sqlite.js";
import { ChangedElsewhere } from "./store.js";

export type HistoriesOptions = {
  /** Any ISO time; one without a zone is local. */
  readonly clock?: Clock;
  readonly log?: Log;
  /** A longer entry is refused. Default: 16 MiB, what MongoDB takes. */
  readonly maxEntryBytes?: number;
} & (
  | {
      /** Where the entries are; stays open when the histories are closed. */
      readonly backend: DocumentBackend;
    }
  | {
      /** An SQLite file; made by the first save. */
      readonly file: string;
    }
);

export type Histories = {
  /** Replaces the history of a conversation, all or nothing. Resolves once it is durable; a failure is logged and thrown. */
  saveHistory(agentId: string, chatId: string, history: readonly Row[]): Promise<void>;
  /** The history as it was saved; [] if there is none, and also, logged, if it cannot be read. */
  loadHistory(agentId: string, chatId: string): Promise<Row[]>;
  /** @deprecated There is no cache any more whose histories could be migrated. */
  migrateCacheOnlyHistories(): Promise<{ migrated: 0; failed: 0; deprecated: true }>;
  close(): Promise<void>;
};

/** In place of a revision: the caller was given [] for something that could not be read. */
const unread = -1;

/** Losing so often in a row against another process means something is wrong. */
const maxTries = 16;

const utcClock: Clock = () => new Date().toISOString();

export function openHistories(options: HistoriesOptions): Histories {
  const { clock = utcClock, log = stderrLog, maxEntryBytes = defaultMaxEntryBytes } = options;
  const backend = "backend" in options ? options.backend : openSqliteBackend(options.file);
  /** The revision our callers know of each conversation; none for those they have neither loaded nor saved. */
  const known = new Map<string, number>();
  /** Loads and saves of one conversation happen in the order they were asked for. */
  const turns = createKeyedMutex();

  const load = async (owner: Owner, id: string): Promise<readonly unknown[]> => {
    try {
      const place = await findPlace(backend, owner);
      if (place.kind === "taken" && "unreadable" in place.content) throw new Error(place.content.unreadable);
      // Only a save forgets that somebody holds an empty list for what could not be read then.
      if (known.get(id) !== unread) known.set(id, revisionOf(place));
      return place.kind === "taken" && "history" in place.content ? place.content.history : [];
    } catch (error) {
      known.set(id, unread);
      log.warn(`The history of ${nameOf(owner)} could not be read: ${reasonOf(error)}; it is taken as empty`, owner);
      return [];
    }
  };

  const save = async (owner: Owner, id: string, messages: readonly string[]): Promise<void> => {
    const now = utcTime(clock());
    const value = documentText(owner, messages, now);
    for (let tries = 1; ; tries++) {
      const place = await findPlace(backend, owner);
      const head = place.kind === "taken" ? place.entry.head : undefined;
      const entry = head === undefined ? { value } : { value, head };
      assertFits(place.key, entry, maxEntryBytes);
      const unseen = unseenEntry(place, known.get(id));
      if (unseen) {
        const aside = await setAside(backend, place.key, unseen, now);
        log.warn(`${place.key} held what this save had not read; that is kept as ${aside}`, { ...owner, aside });
      }
      const revision = await backend.put(place.key, entry, revisionOf(place));
      if (revision !== "changed") {
        known.set(id, revision);
        return;
      }
      if (tries >= maxTries) throw new ChangedElsewhere(place.key);
    }
  };

  return {
    async saveHistory(agentId, chatId, history) {
      const owner = { agentId, chatId };
      try {
        // Printed now: what the caller changes while the save waits for its turn is not part of it.
        const messages = history.map(messageJson);
        await turns.run(idOf(owner), () => save(owner, idOf(owner), messages));
      } catch (error) {
        log.warn(`The history of ${nameOf(owner)} could not be saved: ${reasonOf(error)}`, owner);
        throw error;
      }
    },

    async loadHistory(agentId, chatId) {
      const owner = { agentId, chatId };
      return [...(await turns.run(idOf(owner), () => load(owner, idOf(owner))))] as Row[];
    },

    async migrateCacheOnlyHistories() {
      return { migrated: 0, failed: 0, deprecated: true };
    },

    async close() {
      await turns.idle();
      if (!("backend" in options)) await backend.close();
    },
  };
}

/** What nobody on this side has seen: an unreadable entry, or another revision than the one the caller knows. */
function unseenEntry(place: Place, known: number | undefined): StoredEntry | undefined {
  if (place.kind === "free") return undefined;
  const isSeen = !("unreadable" in place.content) && (known === undefined || known === place.entry.revision);
  return isSeen ? undefined : place.entry;
}

const idOf = ({ agentId, chatId }: Owner): string => JSON.stringify([agentId, chatId]);
const nameOf = ({ agentId, chatId }: Owner): string =>
  `agent ${JSON.stringify(agentId)}, chat ${JSON.stringify(chatId)}`;
