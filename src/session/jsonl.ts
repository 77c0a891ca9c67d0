/**
 * The default driver: nanobot's own file, one JSON line for the header and one for each row. On the path of a message
 * this is where the finished turn is written down, as one unit. Here: which file is whose; jsonl-log.ts is the file.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readFile, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { SessionKey } from "../message.js";
import { replaceFile, setAside } from "../util/atomic-write.js";
import { fileTime } from "../util/clock.js";
import { errorCode } from "../util/errors.js";
import { writeAll } from "../util/file-bytes.js";
import { namesIn } from "../util/folder.js";
import { createProcessLock } from "../util/process-lock.js";
import type { Clock, Log } from "../world.js";
import {
  completeHeader,
  headerFromLine,
  headerLine,
  headerRecord,
  healthyHeader,
  type PartialHeader,
} from "./header.js";
import { firstLine, JsonlLog, type LogParts } from "./jsonl-log.js";
import {
  assertStorable,
  belongsTo,
  candidateStems,
  fitsFileName,
  isNameOf,
  keyFromStem,
  sessionFileName,
} from "./key.js";
import { ended, lineBytes, readRows, type Salvage, salvageLines, scanLines } from "./line-file.js";
import { pythonJson } from "./python-json.js";
import type { SessionStore, SessionSummary, VerifyResult } from "./store.js";

export type JsonlOptions = {
  /** The sessions folder; made by the first save. */
  readonly folder: string;
  /** Where nanobot before v0.1.4 kept its sessions; a file found there is moved over, as nanobot does. */
  readonly legacyFolder?: string;
  readonly clock: Clock;
  readonly log: Log;
};

export function createJsonlStore(options: JsonlOptions): SessionStore {
  const { folder } = options;
  const parts: LogParts = { ...options, lock: createProcessLock(join(folder, ".nanogate.lock")) };
  /** Files of nanobot v0.1.4 do not say whose they are, damaged ones say nonsense; the first key to open one keeps it. */
  const claims = new Map<string, SessionKey>();

  const locate = async (key: SessionKey): Promise<string> => {
    assertStorable(key);
    const encoded = sessionFileName(key, { naming: "base64url" });
    const free: string[] = [];
    const names = [encoded, ...candidateStems(key).map((stem) => `${stem}.jsonl`)];
    for (const [choice, name] of names.entries()) {
      if (!fitsFileName(name)) continue;
      const path = join(folder, name);
      const found = await peekHeader(path);
      if (found === "absent") {
        // v0.3.0's name is used where it is found; new files get the one that the others know too.
        if (choice > 0) free.push(path);
      } else if (belongsTo(key, stemOf(path), found?.key) && (claims.get(path) ?? key) === key) {
        if (found?.key !== key) claims.set(path, key);
        return path;
      }
    }
    const [place] = free;
    if (place === undefined) throw new Error(`No file name left for the session key ${JSON.stringify(key)}.`);
    if (options.legacyFolder !== undefined) await adopt(key, options.legacyFolder, place);
    return place;
  };

  const paths = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      if (name.endsWith(".jsonl") && (await isFile(path)) && !(await isChunk(path))) found.push(path);
    }
    return found;
  };

  return {
    async open(key) {
      const log = new JsonlLog(key, await locate(key), parts);
      await log.load();
      return log;
    },

    async *list() {
      const seen = new Map<SessionKey, SessionSummary>();
      for (const path of await paths()) {
        const summary = await summarise(path);
        if (!summary) continue;
        // The same key may have a file under each of nanobot's two names; the later naming is the one in use.
        const other = seen.get(summary.key);
        if (other && basename(other.path) === sessionFileName(summary.key, { naming: "base64url" })) continue;
        seen.set(summary.key, summary);
      }
      yield* seen.values();
    },

    async *verify({ repair, only }) {
      const all = only === undefined ? await paths() : [await locate(only)].filter((path) => existsSync(path));
      for (const path of all) yield await verifyFile(path, parts, repair);
    },

    files: paths,

    async close() {
      parts.lock.close();
    },
  };
}

/** A folder of that name, or a link to nowhere, must not keep the sessions beside it from being listed. */
const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() ?? false;

/** The chunked driver's files lie in the same folder and are its own. They have no header; a session of that name has. */
const isChunk = async (path: string): Promise<boolean> =>
  /^session-.+\.\d+\.jsonl$/.test(basename(path)) && typeof (await peekHeader(path)) !== "object";

/** The header of the file at `path`; undefined if the file has none at its start. */
async function peekHeader(path: string): Promise<PartialHeader | undefined | "absent"> {
  try {
    // Most names that are looked for are not there; asking that way costs no exception and no other thread.
    if (!existsSync(path)) return "absent";
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const line = await firstLine(file, size);
      const found = line && headerFromLine(line.toString("utf8"));
      return found ?? salvageLines(path, line ?? Buffer.alloc(0)).header;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "absent";
    throw error;
  }
}

async function adopt(key: SessionKey, legacyFolder: string, place: string): Promise<void> {
  const [stem = ""] = candidateStems(key);
  const old = join(legacyFolder, `${stem}.jsonl`);
  const header = await peekHeader(old);
  if (header === "absent" || !belongsTo(key, stem, header?.key)) return;
  await mkdir(dirname(place), { recursive: true });
  try {
    await rename(old, place);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    await copyFile(old, place, 1 /* COPYFILE_EXCL */);
    await unlink(old);
  }
}

async function summarise(path: string): Promise<SessionSummary | undefined> {
  const header = await peekHeader(path);
  if (header === undefined || header === "absent") return undefined;
  const stem = stemOf(path);
  return {
    key: keyOf(stem, header.key),
    createdAt: header.createdAt,
    updatedAt: header.updatedAt,
    path,
  };
}

/** Not `basename(path, ".jsonl")`, which leaves the name `.jsonl` (of a blank key) as it is. */
const stemOf = (path: string): string => basename(path).slice(0, -".jsonl".length);

/** The key that opens the file: the stored one, unless it contradicts the name. */
const keyOf = (stem: string, stored: SessionKey | undefined): SessionKey =>
  stored !== undefined && isNameOf(stem, stored) ? stored : keyFromStem(stem);

/** Reads every line. */
async function verifyFile(path: string, parts: LogParts, repair: boolean): Promise<VerifyResult> {
  const result = (await sound(path)) ?? (await examine(path)).result;
  if (!repair || result.damage.length === 0) return result;
  return parts.lock.hold(async () => {
    // Looked at again: somebody may have written before the lock was ours.
    const { result, header, texts } = await examine(path);
    if (result.damage.length === 0) return result;
    const lines = [lineBytes(repairedHeader(result, header, parts.clock()), result.key), ...texts.map(ended)];
    const aside = await setAside(path, `damaged-${fileTime(parts.clock())}`);
    await replaceFile(path, (file) => writeAll(file, Buffer.concat(lines)));
    return { ...result, setAside: aside };
  });
}

/** So many rows are read before somebody else is served. */
const readAtOnce = 500;

/** A regular file with nothing odd in it, as nearly all are: read piece by piece, for a gateway may be running here. */
async function sound(path: string): Promise<VerifyResult | undefined> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const head = await firstLine(file, size);
    const header = head && healthyHeader(head);
    const index = head && header && (await scanLines(file, head.length, size));
    if (header?.key === undefined || !index || !isNameOf(stemOf(path), header.key)) return undefined;
    let isSound = true;
    for (let from = 0; from < index.rows && isSound; from += readAtOnce) {
      await setImmediate();
      const rows = readRows(path, index, from, Math.min(from + readAtOnce, index.rows), () => (isSound = false));
      isSound &&= !rows.some((row) => "_type" in row);
    }
    return isSound ? { key: header.key, path, rows: index.rows, damage: [] } : undefined;
  } finally {
    await file.close();
  }
}

type Examined = Pick<Salvage, "texts"> & { readonly result: VerifyResult; readonly header: PartialHeader };

async function examine(path: string): Promise<Examined> {
  const stem = stemOf(path);
  const { header, rows, texts, damage: found } = salvageLines(path, await readFile(path));
  const damage = [...found];
  if (!header) damage.push({ file: path, line: 1, reason: "no header line" });
  const stored = header?.key;
  if (stored !== undefined && !isNameOf(stem, stored)) {
    damage.push({
      file: path,
      line: 1,
      reason: `the header names the key ${JSON.stringify(stored)}, the file another`,
    });
  }
  return { result: { key: keyOf(stem, stored), path, rows: rows.length, damage }, header: header ?? {}, texts };
}

/** A key that was only guessed from the name is not written down, or it would shut out the one whose file it is. */
function repairedHeader({ key, rows }: VerifyResult, found: PartialHeader, now: string): string {
  const header = completeHeader(key, found, rows, now);
  const { key: _guessed, ...nameless } = headerRecord(header);
  return found.key === key ? headerLine(header) : pythonJson(nameless);
}
