/** What lies in a folder, and how one is made. */
import { mkdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./errors.js";

/** A folder that is not there yet holds nothing. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/**
 * A folder, and those above it that are missing; what is there stays as it is. One after the other: where nothing may be
 * written, Node's own way to make them all says only that the one above is missing.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
