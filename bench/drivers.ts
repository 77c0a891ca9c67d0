/** The drivers that take part, and sessions of any length to try them on. */
import { join } from "node:path";
import { type SessionManager, sessionFileName } from "../src/index.js";
import { type DriverName, driverNames, openSessions } from "../src/session/open.js";
import type { Session } from "../src/session/session.js";
import { conversation } from "./harness.js";

/** Drivers whose save costs what the turn costs. `document` writes the whole conversation as one document, by design. */
export const appendingDrivers = driverNames.filter((driver: string) => driver !== "document");
export { driverNames, type DriverName };

/** A document may have 16 MB, some 40,000 of our rows. */
export const canHold = (driver: string, rows: number): boolean => driver !== "document" || rows <= 40_000;

/** Each driver has a workspace of its own. */
export const openDriver = (folder: string, driver: DriverName): SessionManager =>
  openSessions({ workspace: join(folder, driver), driver });

/** A saved session of so many rows. */
export async function grownSession(sessions: SessionManager, key: string, rows: number): Promise<Session> {
  const session = await sessions.getOrCreate(key);
  session.addRows(conversation(rows));
  await sessions.save(session);
  return session;
}

export const jsonlFile = (folder: string, key: string): string =>
  join(folder, "jsonl", "sessions", sessionFileName(key));
