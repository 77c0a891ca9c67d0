/**
 * Files of the workspace that nanogate reads for itself: the owner's words and the memory. A command could plant a link
 * in their place, to the configuration for instance, and everything in it would be in the next prompt.
 */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { errorCode } from "../util/errors.js";
import { type Fence, knownPath } from "./tools/fence.js";

/** The text of a file; undefined if there is none. Refuses what is out of the fence's reach with a `ToolError`. */
export async function readOwnFile(fence: Fence, path: string): Promise<string | undefined> {
  try {
    return (await readInPlace(fence.workspace, path)) ?? (await fence.read(path, (file) => file.readFile("utf8")));
  } catch (error) {
    const code = errorCode(error) ?? errorCode((error as Error).cause);
    if (code !== undefined && ["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw error;
  }
}

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Every turn reads these files, and the fence takes its time. An ordinary file with one name, to which no link leads, is
 * where it seems to be; whatever is not as plain as that is left to the fence.
 */
async function readInPlace(workspace: string, path: string): Promise<string | undefined> {
  const file = await open(path, readFlags).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") throw error;
    return undefined;
  });
  if (!file) return undefined;
  try {
    const found = await file.stat();
    const place = join(await realpath(workspace), relative(workspace, path));
    if (!found.isFile() || found.nlink !== 1 || (await knownPath(file)) !== place) return undefined;
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
