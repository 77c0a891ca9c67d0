/** Looks whether the claude command is there, which version it is, and whether it is logged in. Spends nothing. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { runFile } from "../util/run-file.js";
import { claudeConfigDir } from "./claude-cli.js";
import { claudeEnvironment, type ClaudeSettings, type Environment } from "./claude-command.js";

export type ClaudeCheck = {
  readonly version: string;
  /** An older one lacks flags that we use. */
  readonly isOld: boolean;
  readonly login: "in" | "out" | "unknown";
};

/** It has all the flags that we use. */
const leastVersion = [2, 1, 0] as const;
/** An older one would take `auth status` for a message, and answer it. */
const tellsLogin = [2, 1, 41] as const;
const patienceMs = 20_000;

export async function checkClaude(settings: ClaudeSettings, world: Environment): Promise<ClaudeCheck> {
  const { command } = settings;
  const env = claudeEnvironment(settings, world);
  const ask = (...args: string[]): Promise<string> =>
    runFile(command, args, { env, timeout: patienceMs }).then(({ stdout }) => stdout);
  const said = await ask("--version").catch((error: unknown) => {
    throw errorCode(error) === "ENOENT"
      ? new UserError(`there is no command ${command}`, install)
      : new UserError(`${command} does not start: ${reasonOf(error).split("\n")[0]}`, install, { cause: error });
  });
  const version = /\d+\.\d+\.\d+/.exec(said)?.[0];
  if (version === undefined) {
    throw new UserError(`${command} does not say which version it is; it may be something else.`, install);
  }
  const isOld = isBefore(version, leastVersion);
  const login = isBefore(version, tellsLogin)
    ? await guessLogin(settings, env, world)
    : loginIn(await ask("auth", "status").catch(outputOf));
  return { version, isOld, login };
}

const install =
  "Install it (npm install -g @anthropic-ai/claude-code), or set backends.claude-cli.command to where it is.";

/** It leaves with 1 if nobody is logged in. */
const outputOf = (error: unknown): string =>
  error instanceof Error && "stdout" in error && typeof error.stdout === "string" ? error.stdout : "";

function loginIn(status: string): ClaudeCheck["login"] {
  try {
    const { loggedIn } = JSON.parse(status) as { loggedIn?: unknown };
    return typeof loggedIn === "boolean" ? (loggedIn ? "in" : "out") : "unknown";
  } catch {
    return "unknown";
  }
}

/** A key in the environment, or a file that is there; what is in it is nobody's business. Some systems keep it elsewhere. */
async function guessLogin(
  settings: ClaudeSettings,
  env: Readonly<Record<string, string>>,
  world: Environment,
): Promise<ClaudeCheck["login"]> {
  const keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
  if (keys.some((key) => env[key])) return "in";
  return access(join(claudeConfigDir(settings, world), ".credentials.json")).then(
    () => "in",
    () => "unknown",
  );
}

function isBefore(version: string, [major, minor, patch]: readonly [number, number, number]): boolean {
  const [a = 0, b = 0, c = 0] = version.split(".").map(Number);
  return a !== major ? a < major : b !== minor ? b < minor : c < patch;
}
