/** The sessions a command works on, and finding one of them. */
import { join } from "node:path";
import { findHome, nanobotHome } from "../config/home.js";
import { loadSettings, type Settings } from "../config/load.js";
import { asDriver, type DriverName, openStore } from "../session/open.js";
import type { SessionLog, SessionStore, SessionSummary } from "../session/store.js";
import { spelledOut } from "./printable.js";
import { NotFound } from "./terminal.js";

export type Where = { readonly home?: string; readonly workspace?: string; readonly driver?: string };

/** The store of the workspace that flags, environment and configuration agree on. */
export function openWorkspaceStore(where: Where): { settings: Settings; store: SessionStore; driver: DriverName } {
  const settings = loadSettings(findHome(where.home, process.env), process.env);
  const workspace = where.workspace ?? settings.workspace;
  const driver = asDriver(where.driver ?? settings.sessions.driver);
  const { segmentSize } = settings.sessions;
  const store = openStore({ workspace, driver, segmentSize, legacyFolder: join(nanobotHome(), "sessions") });
  return { settings: { ...settings, workspace }, store, driver };
}

export async function listed(store: SessionStore): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  for await (const summary of store.list()) found.push(summary);
  return found.sort((a, b) => (b.updatedAt ?? "").localeCompare(a.updatedAt ?? ""));
}

export async function existing(store: SessionStore, key: string): Promise<SessionLog> {
  const log = await store.open(key);
  if (log.isStored) return log;
  const keys = (await listed(store)).map((summary) => summary.key);
  const near = keys.filter((other) => other.includes(key) || key.includes(other)).slice(0, 3);
  throw new NotFound(
    `There is no session ${JSON.stringify(key)}.`,
    near.length > 0
      ? `Did you mean ${near.map((key) => spelledOut(key)).join(" or ")}?`
      : "`nanogate sessions list` shows all keys.",
  );
}
