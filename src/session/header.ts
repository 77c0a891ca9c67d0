/** The first line of a session file: reading whatever nanobot or an accident left there, printing what nanobot prints. */
import type { SessionKey } from "../message.js";
import {
  type PythonObject,
  type PythonValue,
  parsePythonJson,
  parsePythonJsonPrefix,
  pythonJson,
} from "./python-json.js";
import { normalPythonTime } from "./python-time.js";
import type { SessionHeader } from "./store.js";

const fields = ["key", "created_at", "updated_at", "metadata", "last_consolidated"];

/** What could be read of a header; what is missing gets the values of a new session. */
export type PartialHeader = {
  readonly key?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly metadata?: PythonObject;
  /** As stored: any type, any range. */
  readonly cursor?: PythonValue;
};

export const headerLine = (header: SessionHeader): string => pythonJson(headerRecord(header));

/** nanobot's record, its fields in nanobot's order. */
export function headerRecord(header: SessionHeader): PythonObject {
  return {
    _type: "metadata",
    key: header.key,
    created_at: header.createdAt,
    updated_at: header.updatedAt,
    metadata: header.metadata,
    last_consolidated: header.lastConsolidated,
  };
}

export const isObject = (value: unknown): value is PythonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Number);

export const isHeader = (value: PythonValue): value is PythonObject => isObject(value) && value["_type"] === "metadata";

export function readHeader(record: PythonObject): PartialHeader {
  const { key, created_at: created, updated_at: updated, metadata, last_consolidated: cursor } = record;
  const createdAt = typeof created === "string" ? normalPythonTime(created) : undefined;
  const updatedAt = typeof updated === "string" ? normalPythonTime(updated) : undefined;
  return {
    ...(typeof key === "string" && { key }),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(isObject(metadata) && { metadata }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** The header of a session with `length` rows; a cursor that points nowhere becomes 0, so that no history is hidden. */
export function completeHeader(key: SessionKey, found: PartialHeader, length: number, now: string): SessionHeader {
  const { createdAt = now, updatedAt = now, metadata = {}, cursor } = found;
  return { key, createdAt, updatedAt, metadata, lastConsolidated: validCursor(cursor, length) };
}

export function validCursor(cursor: unknown, length: number): number {
  return typeof cursor === "number" && Number.isInteger(cursor) && cursor >= 0 && cursor <= length ? cursor : 0;
}

/** What a header says that the next save cannot carry over; undefined for a healthy one. */
export function headerFlaw(record: PythonObject): string | undefined {
  const { created_at: created = null, metadata = null } = record;
  const unknown = Object.keys(record).find((field) => field !== "_type" && !fields.includes(field));
  if (!isHeader(record)) return "a header without its _type";
  if (unknown !== undefined) return `the header has an unknown field ${JSON.stringify(unknown)}`;
  if (created !== null && readHeader(record).createdAt === undefined) return "the header's created_at is not a time";
  if (metadata !== null && !isObject(metadata)) return "the header's metadata is not an object";
  return undefined;
}

/** An object that can only be a header, though its `_type` does not say so: it has most of the fields, and no role. */
export const resemblesHeader = (record: PythonObject): boolean =>
  !("role" in record) && fields.filter((field) => field in record).length >= 3;

/** Picks out of a broken header line the fields that are still whole. */
export function salvageHeader(text: string): PartialHeader | undefined {
  const found: Record<string, PythonValue> = {};
  for (const field of fields) {
    const at = text.indexOf(`"${field}": `);
    if (at < 0) continue;
    try {
      found[field] = parsePythonJsonPrefix(text, at + field.length + 4).value;
    } catch {
      // This field is the damaged one.
    }
  }
  return Object.keys(found).length >= 3 ? readHeader(found) : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The header a line holds, if it holds a healthy one: nothing in it would be lost by writing it anew. */
export function healthyHeader(line: Buffer): PartialHeader | undefined {
  try {
    const record = parsePythonJson(utf8.decode(line));
    return isHeader(record) && headerFlaw(record) === undefined ? readHeader(record) : undefined;
  } catch {
    return undefined;
  }
}

/** The header a line holds, if it holds one. */
export function headerFromLine(text: string): PartialHeader | undefined {
  try {
    const record = parsePythonJson(text);
    return isHeader(record) ? readHeader(record) : undefined;
  } catch {
    return undefined;
  }
}
