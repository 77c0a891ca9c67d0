/** The dated log beside MEMORY.md: HISTORY.md, or the history.jsonl of later nanobots. Entries are only ever added. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { pythonStrip } from "../session/key.js";
import { pythonJson } from "../session/python-json.js";
import { replaceFile } from "../util/atomic-write.js";
import { errorCode } from "../util/errors.js";
import { orNone, readOwnFile } from "./own-file.js";
import { withoutThinking } from "./think.js";
import type { Fence } from "./tools/fence.js";

export const logFiles = ["HISTORY.md", "history.jsonl"] as const;

/** The bytes to add, and where the file ended when that was decided. */
export type LogEntry = { readonly file: (typeof logFiles)[number]; readonly from: number; readonly text: string };

/**
 * An entry as it will stand in the log: in HISTORY.md, or, in a workspace that a later nanobot has taken over, in its
 * history.jsonl, for HISTORY.md is never read again there.
 */
export async function nextEntry(fence: Fence, folder: string, entry: string, now: string): Promise<LogEntry> {
  const later = (await readOwnFile(fence, join(folder, "history.jsonl"))) ?? "";
  if (later.trim() === "") {
    const from = await ifThere(
      stat(join(folder, "HISTORY.md")).then(({ size }) => size),
      0,
    );
    return { file: "HISTORY.md", from, text: entry === "" ? "" : `${withoutTrailingSpace(entry)}\n\n` };
  }
  const from = Buffer.byteLength(later);
  if (entry === "") return { file: "history.jsonl", from, text: "" };
  const known = Number((await readOwnFile(fence, join(folder, cursorFile))) ?? 0);
  const cursor = 1 + later.split("\n").map(cursorOf).reduce(larger, larger(0, known));
  const { timestamp, content } = dated(withoutThinking(entry) ?? "", now);
  // What another program left without an end must not swallow the entry.
  const gap = later.endsWith("\n") ? "" : "\n";
  return { file: "history.jsonl", from, text: `${gap}${pythonJson({ cursor, timestamp, content })}\n` };
}

/** Python's `rstrip()`. */
const withoutTrailingSpace = (text: string): string => pythonStrip(`.${text}`).slice(1);

/** The number of the newest record; later nanobots count on from there. */
const cursorFile = ".cursor";

const larger = (a: number, b: number): number => (Number.isSafeInteger(b) && b > a ? b : a);

function cursorOf(line: string): number {
  try {
    return Number((JSON.parse(line) as { cursor?: unknown } | null)?.cursor ?? 0);
  } catch {
    return 0;
  }
}

/** An entry's own date, which is a field there. */
function dated(entry: string, now: string): { timestamp: string; content: string } {
  const [prefix = "", timestamp] = /^\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\]\s*/.exec(entry) ?? [];
  if (timestamp === undefined || prefix.length === entry.length)
    return { timestamp: now.slice(0, 16).replace("T", " "), content: entry };
  return { timestamp, content: entry.slice(prefix.length) };
}

/** The end of the log, at most so many bytes of it and whole lines; empty if there is none. */
export async function newestEntries(fence: Fence, folder: string, most: number): Promise<string> {
  for (const name of ["history.jsonl", "HISTORY.md"] as const) {
    const end = await fence.read(join(folder, name), (file) => endOf(file, most)).catch(orNone);
    if (end !== undefined && end.trim() !== "") return end;
  }
  return "";
}

async function endOf(file: FileHandle, most: number): Promise<string> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size, most));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
  const text = bytes.toString("utf8", 0, bytesRead);
  return size <= most ? text : text.slice(text.indexOf("\n") + 1);
}

/** Appends the text unless it stands behind `from` already; a torn beginning of it is completed. Durable on return. */
export async function appendOnce(folder: string, path: string, { file, from, text }: LogEntry): Promise<void> {
  if (text === "") return;
  const wanted = Buffer.from(text, "utf8");
  const handle = await open(path, "a+");
  try {
    const behind = Buffer.alloc(Math.max(0, (await handle.stat()).size - from));
    await handle.read(behind, 0, behind.length, from);
    if (!behind.includes(wanted)) {
      const isTorn = behind.equals(wanted.subarray(0, behind.length));
      await handle.appendFile(isTorn ? wanted.subarray(behind.length) : wanted);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (file === "history.jsonl") {
    await replaceFile(join(folder, cursorFile), (cursor) => cursor.writeFile(String(cursorOf(text)), "utf8"));
  }
}

/** What `work` gives, or `otherwise` where there is no such file. */
export async function ifThere<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return otherwise;
    throw error;
  }
}
