/** Where drivers are chosen by name: a new one is its file and its line here. */
import { join } from "node:path";
import { UserError } from "../util/errors.js";
import { type Clock, type Log, stderrLog, systemClock } from "../world.js";
import { createChunkedStore } from "./chunked.js";
import { createDocumentStore } from "./document.js";
import { createJsonlStore } from "./jsonl.js";
import { SessionManager } from "./manager.js";
import { normalPythonTime } from "./python-time.js";
import type { SessionStore } from "./store.js";

export type StoreOptions = {
  /** The workspace folder; sessions live in `<workspace>/sessions`. */
  readonly workspace: string;
  /** How conversations are kept on disk. Default: `jsonl`, nanobot's own files. */
  readonly driver?: DriverName;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Sessions of nanobot before v0.1.4 (`~/.nanobot/sessions`), moved over when asked for. */
  readonly legacyFolder?: string;
  /** For the `chunked` driver: rows in a full chunk. Default: 500. */
  readonly segmentSize?: number;
  /** For the `document` driver: whose conversations these are. Default: `nanogate`. */
  readonly agentId?: string;
  /** For the `document` driver: a longer conversation is refused. Default: 16 MiB. */
  readonly maxEntryBytes?: number;
};

export type SessionOptions = StoreOptions & {
  /** How many sessions stay in memory that nobody is using. Default: 128. */
  readonly cacheSize?: number;
};

type DriverParts = StoreOptions & { readonly folder: string; readonly clock: Clock; readonly log: Log };

const drivers = {
  jsonl: createJsonlStore,
  chunked: createChunkedStore,
  document: createDocumentStore,
} satisfies Record<string, (parts: DriverParts) => SessionStore>;

export type DriverName = keyof typeof drivers;
export const driverNames = Object.keys(drivers) as readonly DriverName[];

/** The driver of that name; a name nobody knows is surely a typo. */
export function asDriver(name: string): DriverName {
  const found = driverNames.find((driver) => driver === name);
  if (found) return found;
  throw new UserError(
    `sessions.driver is ${JSON.stringify(name)}, which nobody knows.`,
    `Use one of ${driverNames.join(", ")}.`,
  );
}

export function openStore(options: StoreOptions): SessionStore {
  const { driver = "jsonl", log = stderrLog } = options;
  return drivers[asDriver(driver)]({
    ...options,
    folder: join(options.workspace, "sessions"),
    clock: pythonClock(options),
    log,
  });
}

/** Opens the sessions of a workspace. */
export function openSessions(options: SessionOptions): SessionManager {
  const { cacheSize = 128 } = options;
  return new SessionManager({ store: openStore(options), clock: pythonClock(options), cacheSize });
}

/** Whatever ISO text the clock gives, files get it as Python prints it. */
function pythonClock({ clock = systemClock }: StoreOptions): Clock {
  return () => {
    const now = clock();
    return normalPythonTime(now) ?? now;
  };
}
