/** Where everything of one owner lies. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

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
