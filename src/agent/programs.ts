/** Which programs there are on this machine, as a skill may need one: looked for on PATH, and remembered for a while. */
import { constants, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { LRUCache } from "lru-cache";

/** Is there such a program? */
export type FindProgram = (name: string) => boolean;

/** What is installed meanwhile is noticed so soon; asked for at every turn, PATH would be walked through at every turn. */
const rememberMs = 30_000;

export function createProgramFinder(path: string): FindProgram {
  const known = new LRUCache<string, boolean>({ max: 1000, ttl: rememberMs });
  return (name) => {
    const found = known.get(name) ?? isOnPath(name, path);
    if (!known.has(name)) known.set(name, found);
    return found;
  };
}

/** Answered by the system's cache: a trip to another thread for each folder would cost more. */
function isOnPath(program: string, path: string): boolean {
  if (program === "" || /[/\\]/.test(program)) return false;
  return path.split(delimiter).some((folder) => folder !== "" && isExecutable(lookAt(join(folder, program))));
}

/** What this user may not see is not there for him: other people's folders stand on many a PATH. */
function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

const isExecutable = (found: Stats | undefined): boolean =>
  found !== undefined &&
  found.isFile() &&
  (found.mode & (constants.S_IXUSR | constants.S_IXGRP | constants.S_IXOTH)) !== 0;
