/** A place that only one process at a time may hold, for as long as it lives. */
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export type Place = { release(): void };

const busy = 5;

/**
 * Takes the place, or returns what its holder has written about itself. The lock is SQLite's: the operating system takes
 * it back when the process dies.
 */
export async function takePlace(file: string, about: string): Promise<Place | { readonly heldBy: string }> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  makeFolder(dirname(file));
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode !== busy) throw error;
    return { heldBy: textOf(`${file}.holder`) };
  }
  writeFileSync(`${file}.holder`, about);
  return {
    release() {
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

/** On a read-only disk Node says that the folder above is missing; the system itself knows better. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    accessSync(dirname(folder), constants.W_OK);
    throw error;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "another process";
  }
}
