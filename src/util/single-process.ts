/** A place that only one process at a time may hold, for as long as it lives. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./folder.js";
import { explainRefusal, sqliteCode } from "./sqlite-file.js";

export type Place = { release(): void };

const busy = 5;

/**
 * Takes the place, or returns what its holder has written about itself. The lock is SQLite's: the operating system takes
 * it back when the process dies.
 */
export async function takePlace(file: string, about: string): Promise<Place | { readonly heldBy: string }> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  makeFolder(dirname(file));
  let opened: InstanceType<typeof DatabaseSync> | undefined;
  try {
    opened = new DatabaseSync(file, { timeout: 0 });
    opened.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
  } catch (error) {
    opened?.close();
    if (sqliteCode(error) !== busy) throw explainRefusal(file, error);
    return { heldBy: textOf(`${file}.holder`) };
  }
  const database = opened;
  writeFileSync(`${file}.holder`, about);
  return {
    release() {
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "another process";
  }
}
