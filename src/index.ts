/** nanogate as a library. */
export type { Row, SessionKey, ViewRow } from "./message.js";
export type { DocumentBackend, Entry, StoredEntry } from "./session/document-backend.js";
export { EntryTooLarge } from "./session/document-entry.js";
export { type Histories, type HistoriesOptions, openHistories } from "./session/histories.js";
export { sessionFileName, type FileNaming } from "./session/key.js";
export { SessionManager } from "./session/manager.js";
export { type DriverName, openSessions, type SessionOptions } from "./session/open.js";
export {
  parsePythonJson,
  PythonFloat,
  pythonJson,
  type PythonObject,
  type PythonValue,
} from "./session/python-json.js";
export type { Session } from "./session/session.js";
export { ChangedElsewhere, type SessionSummary } from "./session/store.js";
export { UserError } from "./util/errors.js";
export type { Clock, Log } from "./world.js";
