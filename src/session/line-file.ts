/**
 * Files of JSON lines, read without parsing what is not needed. A regular file, one object a line and a newline after
 * each, is only counted; anything else is read line by line, and no line costs more than itself.
 */
import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { Row, SessionKey } from "../message.js";
import { reasonOf } from "../util/errors.js";
import {
  headerFlaw,
  isHeader,
  isObject,
  type PartialHeader,
  readHeader,
  resemblesHeader,
  salvageHeader,
} from "./header.js";
import { pythonStrip } from "./key.js";
import { assertReadable, parsePythonJson, parsePythonJsonPrefix, type PythonObject } from "./python-json.js";
import type { Damage } from "./store.js";

/** Where the rows of a regular file lie: the start of every {@link rowsPerMark}th, so that any range is near a mark. */
export type LineIndex = { readonly rows: number; readonly end: number; readonly marks: number[] };

const rowsPerMark = 128;
/** What fits the processor's cache: larger chunks are several times slower to look through. */
const chunkBytes = 1 << 17;
/** Reading in the page cache is too quick to be handed to another thread, but nobody else is served meanwhile. */
const bytesBetweenPauses = 1 << 22;
const newline = 0x0a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;
const underscore = 0x5f;

/**
 * Counts the lines from `start` on. Undefined if the file is not regular: some line does not look like a row, or there
 * are other line ends, or the last line is not finished.
 */
export async function scanLines(file: FileHandle, start: number, size: number): Promise<LineIndex | undefined> {
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(size - start, 1)));
  const marks: number[] = [];
  let rows = 0;
  let lineStart = start;
  let last = newline; // the byte before the chunk
  let opening = 0; // how many of a line's first three bytes have been checked
  let pause = start + bytesBetweenPauses;
  for (let at = start; at < size;) {
    if (at >= pause) {
      await setImmediate();
      pause = at + bytesBetweenPauses;
    }
    const bytesRead = readSync(file.fd, chunk, 0, Math.min(chunk.length, size - at), at);
    if (bytesRead === 0) return undefined; // shrank while we looked
    const bytes = chunk.subarray(0, bytesRead);
    if (bytes.includes(0x0d)) return undefined;
    for (let position = 0; position < bytesRead;) {
      // The three bytes that tell a row (`{"r`) from blank, indented, garbage and header lines (`{"_`).
      for (; opening < 3 && position < bytesRead; opening++, position++) {
        if (!mayOpenRow(opening, bytes[position])) return undefined;
      }
      if (opening < 3) break;
      const end = bytes.indexOf(newline, position);
      if (end < 0) break;
      if ((end > 0 ? bytes[end - 1] : last) !== closeBrace) return undefined;
      if (rows % rowsPerMark === 0) marks.push(lineStart);
      rows++;
      lineStart = at + end + 1;
      opening = 0;
      position = end + 1;
    }
    last = bytes[bytesRead - 1] ?? last;
    at += bytesRead;
  }
  return lineStart === size ? { rows, end: size, marks } : undefined;
}

const mayOpenRow = (at: number, byte: number | undefined): boolean =>
  at === 0 ? byte === openBrace : at === 1 ? byte === quote : byte !== underscore && byte !== newline;

/** The index after more rows were appended. The old one must not be used any more: the marks are the same array. */
export function extendIndex({ rows, end, marks }: LineIndex, texts: readonly Buffer[]): LineIndex {
  for (const text of texts) {
    if (rows % rowsPerMark === 0) marks.push(end);
    rows++;
    end += text.length;
  }
  return { rows, end, marks };
}

/** Rows `from` up to `to` of a regular file; `onDamage` hears of lines that turn out to be unreadable. */
export function readRows(
  path: string,
  index: LineIndex,
  from: number,
  to: number,
  onDamage: (row: number, reason: string) => void,
): Row[] {
  const rows: Row[] = [];
  for (const [at, line] of readLines(path, index, from, to).entries()) {
    const row = parseRow(line);
    if (typeof row === "string") onDamage(from + at, row);
    else rows.push(row);
  }
  return rows;
}

/** The lines of the same rows, without their ends. */
export function readLines(path: string, index: LineIndex, from: number, to: number): Buffer[] {
  if (from >= to) return [];
  const firstMark = Math.floor(from / rowsPerMark);
  const start = index.marks[firstMark] ?? index.end;
  const stop = index.marks[Math.ceil(to / rowsPerMark)] ?? index.end;
  const bytes = readBytes(path, start, stop);
  const lines: Buffer[] = [];
  let number = firstMark * rowsPerMark;
  for (let at = 0; at < bytes.length && number < to; number++) {
    const end = bytes.indexOf(newline, at);
    const line = bytes.subarray(at, end < 0 ? bytes.length : end);
    at += line.length + 1;
    if (number >= from) lines.push(line);
  }
  return lines;
}

/** Bytes `start` up to `stop`, or as many of them as there are. */
function readBytes(path: string, start: number, stop: number): Buffer {
  const bytes = Buffer.allocUnsafe(stop - start);
  const file = openSync(path, "r");
  try {
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(file, bytes, filled, bytes.length - filled, start + filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  } finally {
    closeSync(file);
  }
}

/** A row, or the reason why the line is none. */
function parseRow(line: Buffer): Row | string {
  try {
    const value = parsePythonJson(utf8Text(line));
    return isObject(value) ? value : "not a JSON object";
  } catch (error) {
    return error instanceof SyntaxError ? "not valid JSON" : "not valid UTF-8";
  }
}

/** Faster than a TextDecoder, and as strict. */
function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new TypeError("not valid UTF-8");
  return bytes.toString("utf8");
}

/** What an irregular file holds. `texts` are the rows' own bytes, without line end, in step with `rows`. */
export type Salvage = {
  readonly header: PartialHeader | undefined;
  readonly rows: readonly Row[];
  readonly texts: readonly Buffer[];
  readonly damage: readonly Damage[];
};

/** Reads line by line, with any line ends, whatever can be read. */
export function salvageLines(file: string, bytes: Buffer): Salvage {
  let header: PartialHeader | undefined;
  const rows: Row[] = [];
  const texts: Buffer[] = [];
  const damage: Damage[] = [];
  const lost: number[] = []; // the numbers that unreadable rows had
  let line = 0;
  for (const text of splitLines(bytes)) {
    line++;
    const { records, reason } = readLine(text);
    if (reason !== undefined) {
      damage.push({ file, line, reason });
      if (line === 1) header = salvageHeader(text.toString("utf8"));
      // Two rows that only lost the newline between them are both there.
      if (!header || line > 1) lost.push(...(records.length < 2 ? [rows.length + lost.length] : []));
    }
    for (const { value, source } of records) {
      if (isHeader(value) || (line === 1 && resemblesHeader(value))) {
        header = readHeader(value);
        const flaw = headerFlaw(value);
        if (flaw !== undefined) damage.push({ file, line, reason: flaw });
      } else if (value["_type"] !== "provider_state") {
        // A later nanobot keeps the model's own state there; it no longer fits once the rows have changed.
        rows.push(value);
        texts.push(source);
      }
    }
  }
  return { header: header && withoutLost(header, lost), rows, texts, damage };
}

/** The cursor counts rows: for each one lost before it, it moves down, or it would hide a row nobody has summarised. */
function withoutLost(header: PartialHeader, lost: readonly number[]): PartialHeader {
  const { cursor } = header;
  if (typeof cursor !== "number") return header;
  return { ...header, cursor: cursor - lost.filter((row) => row < cursor).length };
}

/** The lines of a file as Python's text mode sees them: `\n`, `\r\n` and `\r` all end one. */
function* splitLines(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    let end = at;
    while (end < bytes.length && bytes[end] !== newline && bytes[end] !== 0x0d) end++;
    yield bytes.subarray(at, end);
    at = end + (bytes[end] === 0x0d && bytes[end + 1] === newline ? 2 : 1);
  }
}

type Record = { readonly value: PythonObject; readonly source: Buffer };

/** All whole objects on a line. A healthy line has one, a blank line none; `reason` says what else was there. */
function readLine(bytes: Buffer): { records: Record[]; reason?: string } {
  let text: string;
  try {
    text = utf8Text(bytes);
  } catch {
    return { records: gluedRecords(bytes), reason: "not valid UTF-8" };
  }
  const trimmed = pythonStrip(text.replace(/^\ufeff/, ""));
  if (trimmed === "") return { records: [] };
  const source = Buffer.from(trimmed, "utf8");
  try {
    const value = parsePythonJson(trimmed);
    if (!isObject(value)) return { records: [], reason: "not a JSON object" };
    return { records: [{ value, source }] };
  } catch {
    return { records: gluedRecords(source), reason: trimmed.includes("\0") ? "NUL bytes" : "not valid JSON" };
  }
}

/**
 * When the newline between two rows is lost, or the first of them was torn, whole objects are still to be found at the
 * line's start and at its end. Objects nested inside a broken one are not rows and are left alone.
 */
function gluedRecords(bytes: Buffer): Record[] {
  const records: Record[] = [];
  // One character per byte: JSON's own signs are ASCII, so this shows where objects begin and end in any bytes.
  const outline = bytes.toString("latin1");
  let at = 0;
  for (let tries = 0; at < outline.length && tries < maxTries; tries++) {
    const end = objectEnd(outline, at);
    const whole = end !== undefined && (at === 0 || records.length > 0 || end === outline.length);
    const source = bytes.subarray(at, whole ? end : at);
    const value = parseRow(source);
    // Without a role it is rather a part of a broken row than a row.
    if (typeof value !== "string" && ("role" in value || "_type" in value)) {
      records.push({ value: value as PythonObject, source });
    }
    at = nextStart(outline, whole ? end : at + 1);
  }
  return records;
}

/** Each try may read to the end of the line, and lines can be long. */
const maxTries = 64;

function nextStart(text: string, from: number): number {
  const starts = ['{"role": ', '{"role":', '{"_type": '].map((start) => text.indexOf(start, from));
  return Math.min(...starts.map((start) => (start < 0 ? text.length : start)));
}

function objectEnd(text: string, at: number): number | undefined {
  try {
    const { value, end } = parsePythonJsonPrefix(text, at);
    return isObject(value) ? end : undefined;
  } catch {
    return undefined;
  }
}

/** A line as it is written. */
export function lineBytes(text: string, key: SessionKey): Buffer {
  // Python would fail in the middle of the file here; refusing first leaves the file whole.
  if (!text.isWellFormed()) {
    throw new TypeError(
      `A row of session ${JSON.stringify(key)} holds a lone surrogate and cannot be stored as UTF-8.`,
    );
  }
  try {
    assertReadable(text);
  } catch (error) {
    throw new TypeError(
      `A row of session ${JSON.stringify(key)} could be stored but not read again: ${reasonOf(error)}`,
      { cause: error },
    );
  }
  return Buffer.from(`${text}\n`, "utf8");
}

export const ended = (text: Buffer): Buffer => Buffer.concat([text, Buffer.from("\n")]);
