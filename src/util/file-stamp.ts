/** Noticing that somebody has written to a file. */
import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { errorCode } from "./errors.js";

export type Stamp = Pick<BigIntStats, "ino" | "size" | "mtimeNs">;

/** Undefined if there is no such file. */
export async function stampOf(path: string): Promise<Stamp | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

export const sameStamp = (one: Stamp, other: Stamp | undefined): boolean =>
  one.ino === other?.ino && one.size === other.size && one.mtimeNs === other.mtimeNs;
