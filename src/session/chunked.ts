/**
 * The chunked driver: a conversation in files of at most `segmentSize` rows, of which only the newest are read. Here:
 * which files are whose, listing and verifying; chunked-log.ts is the conversation, chunked-files.ts its files.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionKey } from "../message.js";
import { reasonOf, UserError } from "../util/errors.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import { createProcessLock } from "../util/process-lock.js";
import type { Clock, Log } from "../world.js";
import { lastChange, parseChunk, repairChunk } from "./chunk-file.js";
import {
  chunkName,
  layoutOf,
  longestName,
  type Names,
  readState,
  scanFolder,
  stagedName,
  stateName,
  writeState,
} from "./chunked-files.js";
import { ChunkedLog, type ChunkedParts } from "./chunked-log.js";
import { completeHeader, type PartialHeader } from "./header.js";
import { assertStorable, belongsTo, candidateStems, fitsFileName, isNameOf, keyFromStem, unstorable } from "./key.js";
import type { Damage, SessionStore, VerifyResult } from "./store.js";

export type ChunkedOptions = {
  /** The sessions folder; made by the first save. */
  readonly folder: string;
  /** Rows in a full chunk. Default: 500. */
  readonly segmentSize?: number;
  readonly clock: Clock;
  readonly log: Log;
};

export function createChunkedStore(options: ChunkedOptions): SessionStore {
  const { folder, segmentSize = 500 } = options;
  if (!Number.isSafeInteger(segmentSize) || segmentSize <= 0) {
    throw new UserError(
      `segmentSize is ${segmentSize}, which is no number of rows a chunk can have.`,
      "Use a whole number from 1 on, or leave it out for 500.",
    );
  }
  const lock = createProcessLock(join(folder, ".nanogate.lock"));
  const turns = createKeyedMutex();
  const parts: ChunkedParts = {
    ...options,
    segmentSize,
    alone: (stem, work) => turns.run(stem, () => lock.hold(work)),
  };
  /** Chunks made by hand do not say whose they are; the first key to open them keeps them. */
  const claims = new Map<string, SessionKey>();

  const locate = async (key: SessionKey): Promise<string> => {
    refuseUnsafe(key);
    const all = await scanFolder(folder);
    const free: string[] = [];
    for (const stem of candidateStems(key)) {
      if (!fitsFileName(longestName(stem))) continue;
      const names = all.get(stem);
      if (!names || !isInUse(names)) {
        free.push(stem);
        continue;
      }
      const owner = await ownerOf(folder, stem, names);
      if (!belongsTo(key, stem, owner) || (claims.get(stem) ?? key) !== key) continue;
      if (owner !== key) claims.set(stem, key);
      return stem;
    }
    const [stem] = free;
    if (stem === undefined) throw new Error(`No file name left for the session key ${JSON.stringify(key)}.`);
    return stem;
  };

  return {
    async open(key) {
      const log = new ChunkedLog(key, await locate(key), parts);
      await log.load();
      return log;
    },

    async *list() {
      for (const [stem, names] of await scanFolder(folder)) {
        if (!isInUse(names)) continue;
        const path = join(folder, stateName(stem));
        const state = await readState(path);
        const newest = layoutOf(folder, stem, names, state).live.at(-1);
        yield {
          key: keyOf(stem, state?.header.key),
          createdAt: state?.header.createdAt,
          updatedAt: await lastChange(newest, state),
          path: state ? path : (newest?.path ?? path),
        };
      }
    },

    async *verify({ repair, only }) {
      const wanted = only === undefined ? undefined : await locate(only);
      for (const [stem, names] of await scanFolder(folder)) {
        if (!isInUse(names) || (wanted ?? stem) !== stem) continue;
        const verify = async (): Promise<VerifyResult> => verifySession(stem, parts, repair);
        yield await (repair ? parts.alone(stem, verify) : verify());
      }
    },

    async files() {
      return [...(await scanFolder(folder))].flatMap(([stem, { chunks, staged, hasState }]) =>
        [
          ...chunks.map((index) => chunkName(stem, index)),
          ...staged.map((index) => stagedName(stem, index)),
          ...(hasState ? [stateName(stem)] : []),
        ].map((name) => join(folder, name)),
      );
    },

    async close() {
      lock.close();
    },
  };
}

/** A key names files here; one that reads like a path is a mistake or an attack. */
function refuseUnsafe(key: SessionKey): void {
  for (const part of ["/", "\\", ".."]) {
    if (key.includes(part)) throw unstorable(key, JSON.stringify(part));
  }
  assertStorable(key, longestName(candidateStems(key)[0] ?? ""));
}

/** Staged chunks alone are what is left of a conversation that never came to be. */
const isInUse = (names: Names): boolean => names.chunks.length > 0 || names.hasState;

const keyOf = (stem: string, stored: string | undefined): SessionKey =>
  stored !== undefined && isNameOf(stem, stored) ? stored : keyFromStem(stem);

/** The key stored in the state file, or in the header of a nanobot file that became a chunk by renaming. */
async function ownerOf(folder: string, stem: string, names: Names): Promise<string | undefined> {
  const state = await readState(join(folder, stateName(stem)));
  if (state?.header.key !== undefined) return state.header.key;
  const [oldest] = layoutOf(folder, stem, names, state).live;
  try {
    return oldest && parseChunk(oldest.path, await readFile(oldest.path)).header?.key;
  } catch {
    return undefined; // unreadable; loading reports it
  }
}

async function verifySession(stem: string, parts: ChunkedParts, repair: boolean): Promise<VerifyResult> {
  const { folder, clock } = parts;
  const statePath = join(folder, stateName(stem));
  const state = await readState(statePath);
  const { live, first } = layoutOf(folder, stem, (await scanFolder(folder)).get(stem), state);
  const newest = live.at(-1);
  const damage: Damage[] = [];
  const asides: string[] = [];
  let found: PartialHeader = {};
  let rows = 0;
  let lines = 0;
  let before = { rows, lines };
  for (const [at, { index, path }] of live.entries()) {
    const due = (live[at - 1]?.index ?? index - 1) + 1;
    if (due < index)
      damage.push({ file: join(folder, chunkName(stem, due)), line: 0, reason: "this chunk is missing" });
    before = { rows, lines };
    try {
      const chunk = parseChunk(path, await readFile(path));
      found = { ...chunk.header, ...found };
      rows += chunk.rows.length;
      lines += chunk.lines;
      damage.push(...chunk.damage);
      if (repair && chunk.damage.length > 0) asides.push(await repairChunk(path, chunk.texts, parts));
    } catch (error) {
      damage.push({ file: path, line: 0, reason: reasonOf(error) });
    }
  }

  const { key: stored } = state?.header ?? {};
  const { chunkCount, rowsBefore = 0 } = state?.shape ?? {};
  if (state?.damage !== undefined) damage.push({ file: statePath, line: 0, reason: state.damage });
  // A state that is behind is no damage, the next write brings it up to date; one that miscounts would stay wrong.
  if (chunkCount === newest?.index && (rowsBefore < before.rows || rowsBefore > before.lines)) {
    const reason = `tells of ${rowsBefore} rows before the newest chunk where there are ${before.rows}`;
    damage.push({ file: statePath, line: 0, reason });
  }
  if (stored !== undefined && !isNameOf(stem, stored)) {
    const reason = `the state names the key ${JSON.stringify(stored)}, the file another`;
    damage.push({ file: statePath, line: 0, reason });
  }

  const key = keyOf(stem, stored ?? found.key);
  if (repair && damage.length > 0) {
    const updatedAt = (await lastChange(newest, state)) ?? clock();
    const header = completeHeader(key, { ...found, ...state?.header, updatedAt }, rows, clock());
    const shape = { chunkCount: newest?.index ?? first, rowsBefore: before.rows, firstChunk: first };
    await writeState(statePath, state, header, shape, parts);
  }
  const path = state ? statePath : (newest?.path ?? statePath);
  const [setAside] = asides;
  return { key, path, rows, damage, ...(setAside !== undefined && { setAside }) };
}
