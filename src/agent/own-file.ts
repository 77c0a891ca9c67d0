/**
 * Files of the workspace that nanogate reads for itself: the owner's words and the memory. A command could plant a link
 * in their place, to the configuration for instance, and everything in it would be in the next prompt.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { errorCode } from "../util/errors.js";
import type { Fence } from "./tools/fence.js";

/** The text of a file; undefined if there is none. Refuses what is out of the fence's reach with a `ToolError`. */
export async function readOwnFile(fence: Fence, path: string): Promise<string | undefined> {
  try {
    return readInPlace(fence.workspace, path) ?? (await fence.read(path, (file) => file.readFile("utf8")));
  } catch (error) {
    return orNone(error);
  }
}

/** Where there is no such file, there is no text; anything else is thrown again. */
export function orNone(error: unknown): undefined {
  const code = errorCode(error) ?? errorCode((error as Error).cause);
  if (code === undefined || !["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) throw error;
}

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Every turn reads these files, and the fence takes its time. An ordinary file with one name, to which no link leads, is
 * where it seems to be; whatever is not as plain as that is left to the fence. Without a hop to another thread for each
 * step: the steps are short, the hops are not.
 */
function readInPlace(workspace: string, path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, readFlags);
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw error;
    return undefined;
  }
  try {
    const found = fstatSync(file);
    const place = join(realpathSync.native(workspace), relative(workspace, path));
    if (!found.isFile() || found.nlink !== 1 || placeOf(file) !== place) return undefined;
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Where an open file lies, as the kernel says; undefined on systems that do not say. */
function placeOf(file: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return undefined;
  }
}
