/** What lies in a folder. */
import { readdir } from "node:fs/promises";
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
