/**
 * `action.jsonl`: what nanobot's commands (v0.1.5.post1 and later) leave for a running gateway to merge into jobs.json.
 *
 * nanobot writes it under a lock (`cron.lock` in the workspace, flock) that Node cannot take. So it is emptied only if
 * nothing has been added since it was read, and what was added is merged first. Merging the same lines again, after a
 * crash before they were emptied, gives the same jobs: each line names a job and says all of it.
 */
import { open, readFile } from "node:fs/promises";
import { isObject } from "../session/header.js";
import {
  entriesInOrder,
  objectInOrder,
  parsePythonJson,
  type PythonObject,
  type PythonValue,
} from "../session/python-json.js";
import { errorCode } from "../util/errors.js";
import type { Entry } from "./jobs-json.js";

export type Merged = {
  readonly entries: readonly Entry[];
  /** The lines that could not be read. */
  readonly unread: readonly string[];
};

/** Empty if there is no such file. */
export async function readActions(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

/** Empties it, if it is still as long as what was read; false if somebody has written meanwhile. */
export async function emptyActions(file: string, length: number): Promise<boolean> {
  const handle = await open(file, "r+");
  try {
    if ((await handle.stat()).size !== length) return false;
    await handle.truncate(0);
    await handle.sync();
    return true;
  } finally {
    await handle.close();
  }
}

/** A job that is there is replaced in its place, another comes last. */
export function mergeActions(entries: readonly Entry[], log: Buffer): Merged {
  let merged = entries;
  const unread: string[] = [];
  for (const line of log.toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    const action = readLine(line);
    if (!action) unread.push(line);
    else
      merged = action.job
        ? withJob(merged, action.id, action.job)
        : merged.filter((entry) => idOf(entry) !== action.id);
  }
  return { entries: merged, unread };
}

export const idOf = (entry: Entry): PythonValue | undefined => (isObject(entry) ? entry["id"] : undefined);

function withJob(entries: readonly Entry[], id: string, job: PythonObject): readonly Entry[] {
  const isThere = entries.some((entry) => idOf(entry) === id);
  return isThere ? entries.map((entry) => (idOf(entry) === id ? job : entry)) : [...entries, job];
}

function readLine(line: string): { readonly id: string; readonly job?: PythonObject } | undefined {
  try {
    const value = parsePythonJson(line);
    if (!isObject(value) || !isObject(value["params"])) return undefined;
    const { action, params } = value;
    const id = action === "del" ? params["job_id"] : params["id"];
    if (typeof id !== "string") return undefined;
    if (action === "del") return { id };
    return (action === "add" || action === "update") && isObject(params["schedule"])
      ? { id, job: asInFile(params) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The lines say `every_ms` where the file says `everyMs`. What a channel has put beside a job keeps its own names. */
function asInFile(params: PythonObject): PythonObject {
  return renamed(params, (_, value) => {
    if (!isObject(value)) return value;
    return renamed(value, (inner, field) =>
      inner === "runHistory" && Array.isArray(field)
        ? (field as readonly PythonValue[]).map((run) => (isObject(run) ? renamed(run, (_, part) => part) : run))
        : field,
    );
  });
}

const renamed = (object: PythonObject, change: (name: string, value: PythonValue) => PythonValue): PythonObject =>
  objectInOrder(
    entriesInOrder(object).map(([key, value]) => {
      const name = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      return [name, change(name, value)] as const;
    }),
  );
