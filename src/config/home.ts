/** Where everything of one owner lies. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { reasonOf, UserError } from "../util/errors.js";
import { makeFolder } from "../util/folder.js";

/** `--home`, else `NANOGATE_HOME`, else `~/.nanogate`, else an existing `~/.nanobot`. */
export function findHome(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  const named = flag ?? (env["NANOGATE_HOME"] || undefined);
  if (named !== undefined) return resolve(expandHome(named));
  const own = join(homedir(), ".nanogate");
  const nanobot = nanobotHome();
  return !existsSync(own) && existsSync(nanobot) ? nanobot : own;
}

export const nanobotHome = (): string => join(homedir(), ".nanobot");

export const expandHome = (path: string): string => path.replace(/^~(?=$|[/\\])/, homedir());

/** Before anything is written into it. One that is made is the owner's alone: conversations and keys lie there. */
export function makeHome(home: string): void {
  try {
    makeFolder(home, 0o700);
  } catch (error) {
    throw new UserError(
      `The home ${home} cannot be made: ${reasonOf(error)}.`,
      "Make that place writable for this user, or choose another one with --home.",
      { cause: error },
    );
  }
}
