/** Hands out sessions: one live object per key, the recently used ones kept in memory, every write in its turn. */
import { LRUCache } from "lru-cache";
import type { SessionKey } from "../message.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import type { Clock } from "../world.js";
import { type Change, Session } from "./session.js";
import { ChangedElsewhere, type SessionLog, type SessionStore, type SessionSummary } from "./store.js";

export type ManagerParts = {
  readonly store: SessionStore;
  readonly clock: Clock;
  /** How many sessions stay in memory that nobody is using. */
  readonly cacheSize: number;
};

/** Together they hold so many rows at the most: long conversations push each other out sooner than short ones. */
const rowsInCache = 4096;

/** Somebody else writing at the same time is rare; losing against them so often in a row means something is wrong. */
const maxRebases = 16;

export class SessionManager {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #cache: LRUCache<SessionKey, Session>;
  /** Everything still referenced from anywhere, so that a session in use is never there twice. */
  readonly #live = new Map<SessionKey, WeakRef<Session>>();
  readonly #dropped = new FinalizationRegistry<SessionKey>((key) => {
    if (!this.#live.get(key)?.deref()) this.#live.delete(key);
  });
  /** Pushed out of the cache with rows that are not on disk yet. */
  readonly #unsaved = new Map<SessionKey, Session>();
  readonly #invalid = new WeakSet<Session>();
  /** After a failed save only the disk knows how far it got. */
  readonly #doubtful = new WeakSet<Session>();
  readonly #opening = new Map<SessionKey, Promise<Session>>();
  readonly #turns = createKeyedMutex();

  constructor({ store, clock, cacheSize }: ManagerParts) {
    this.#store = store;
    this.#clock = clock;
    this.#cache = new LRUCache({
      max: Math.max(1, cacheSize),
      maxSize: rowsInCache,
      sizeCalculation: (session) => 1 + session.rowsHeld,
      dispose: (session, key) => {
        if (session.hasUnsaved && !this.#invalid.has(session)) this.#unsaved.set(key, session);
      },
    });
  }

  /** The session of `key`: from memory, else from disk, else new. A file that someone else changed is read again. */
  getOrCreate(key: SessionKey): Promise<Session> {
    const opening = this.#opening.get(key) ?? this.#turns.run(key, () => this.#open(key));
    this.#opening.set(key, opening);
    const done = (): void => {
      if (this.#opening.get(key) === opening) this.#opening.delete(key);
    };
    opening.then(done, done);
    return opening;
  }

  /**
   * Writes what was added, durably. If someone else has written in between, it goes behind theirs. If it cannot be
   * written, the session is what it was before the turn and the error is thrown.
   */
  save(session: Session): Promise<void> {
    return this.#turns.run(session.key, () => this.#write(session));
  }

  /** Forgets what is in memory, unsaved rows too: the next access reads the disk. */
  invalidate(key: SessionKey): void {
    const session = this.#find(key);
    if (session) this.#invalid.add(session);
    this.#cache.delete(key);
    this.#unsaved.delete(key);
    // Who asks from now on must not be given what somebody else is just reading.
    this.#opening.delete(key);
  }

  /** All sessions on disk, the most recently updated first. */
  async list(): Promise<SessionSummary[]> {
    const found: SessionSummary[] = [];
    for await (const summary of this.#store.list()) found.push(summary);
    return found.sort((a, b) => compareText(b.updatedAt ?? "", a.updatedAt ?? "") || compareText(a.key, b.key));
  }

  /** Waits for what is being written and lets go of everything. */
  async close(): Promise<void> {
    await this.#turns.idle();
    this.#cache.clear();
    this.#live.clear();
    await this.#store.close();
  }

  async #open(key: SessionKey): Promise<Session> {
    const known = this.#find(key);
    if (!known) {
      const session = new Session(await this.#store.open(key), this.#clock);
      this.#live.set(key, new WeakRef(session));
      this.#dropped.register(session, key);
      this.#cache.set(key, session);
      return session;
    }
    if (this.#invalid.has(known) || (!known.hasUnsaved && !(await known.log.isCurrent()))) {
      known.reload(await this.#store.open(key));
    } else if (this.#doubtful.has(known)) {
      known.rebase(await this.#store.open(key));
    }
    this.#invalid.delete(known);
    this.#doubtful.delete(known);
    this.#cache.set(key, known);
    return known;
  }

  async #write(session: Session): Promise<void> {
    for (let rebases = 0; ; rebases++) {
      const change = changeOf(session);
      try {
        await session.log[change.kind](change.header, change.rows);
        session.saved(change);
        if (!session.hasUnsaved) this.#unsaved.delete(session.key);
        // It has grown, which the cache only notices of what is new to it.
        if (this.#cache.delete(session.key)) this.#cache.set(session.key, session);
        return;
      } catch (error) {
        if (!(error instanceof ChangedElsewhere) || rebases >= maxRebases) {
          session.rolledBack(change);
          this.#doubtful.add(session);
          throw error;
        }
        const fresh = await this.#reopened(session, change);
        if (session.isCleared) {
          // Their rows were never seen by whoever decided to clear; that decision has to be made again.
          session.reload(fresh);
          throw error;
        }
        session.rebase(fresh);
      }
    }
  }

  async #reopened(session: Session, change: Change): Promise<SessionLog> {
    try {
      return await this.#store.open(session.key);
    } catch (error) {
      session.rolledBack(change);
      throw error;
    }
  }

  #find(key: SessionKey): Session | undefined {
    return this.#cache.get(key) ?? this.#unsaved.get(key) ?? this.#live.get(key)?.deref();
  }
}

/** Metadata that has no JSON form could never be saved; kept, it would hold up every turn that follows. */
function changeOf(session: Session): Change {
  try {
    return session.change();
  } catch (error) {
    session.reload(session.log);
    throw error;
  }
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
