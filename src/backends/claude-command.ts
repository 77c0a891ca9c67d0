/** How the claude command is called: every flag on every call, and an environment that holds only what is listed. */
import { isAbsolute } from "node:path";
import { cutText } from "../agent/tokens.js";
import type { Command } from "../agent/tools/process-group.js";
import type { BackendCall } from "./backend.js";

export type ClaudeSettings = {
  readonly command: string;
  /** Where it works. Never a folder that holds conversations: its own tools would read them. */
  readonly folder: string;
  /** Where it keeps its conversations; absent: where it likes. */
  readonly configDir?: string;
  readonly model?: string;
  readonly fallbackModel?: string;
  readonly permissionMode?: string;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly maxTurns?: number;
  /** Further arguments, as they are. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** The system takes little more than 128 KB in one argument. */
const longestSystem = 40_000;

/**
 * Some of these the command remembers when it resumes, depending on its version; so it is always told. The prompt comes
 * through stdin: arguments are seen by everybody on the machine, and a long one is refused.
 */
export function claudeCommand(settings: ClaudeSettings, call: BackendCall, world: Environment): Command {
  const { command, folder, model, fallbackModel, permissionMode, maxTurns } = settings;
  const allowed = [...settings.allowedTools, ...(call.files ?? []).filter(isPlain).map((path) => `Read(/${path})`)];
  const system = cutText(call.system.replaceAll("\0", ""), longestSystem);
  return {
    program: command,
    args: [
      "-p",
      ...(call.on ? streaming : ["--output-format", "json"]),
      ...(call.handle === undefined ? [] : ["--resume", call.handle]),
      ...(call.once ? ["--no-session-persistence"] : []),
      ...option("--model", model),
      ...option("--fallback-model", fallbackModel),
      ...option("--permission-mode", permissionMode),
      ...option("--max-turns", maxTurns),
      ...option("--allowedTools", allowed.join(",")),
      ...option("--disallowedTools", settings.disallowedTools.join(",")),
      ...option("--append-system-prompt", system),
      ...settings.args,
    ],
    folder,
    env: claudeEnvironment(settings, world),
    input: call.prompt,
    ...(call.id !== undefined && { id: call.id }),
  };
}

const streaming = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];

const option = (name: string, value: string | number | undefined): string[] =>
  value === undefined || value === "" ? [] : [`${name}=${value}`];

/** A rule is a small language of its own; a path that could mean something in it is not allowed by it. */
const isPlain = (path: string): boolean => isAbsolute(path) && /^[\p{L}\p{N}_@+./-]+$/u.test(path);

/** What the command may know of ours. A session it was itself started from would be among the rest. */
const passed = [
  ..."HOME LANG LC_ALL PATH TZ USER LOGNAME TMPDIR".split(" "),
  ..."ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR".split(" "),
  ..."HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE".split(" "),
];

export function claudeEnvironment(
  { configDir, env }: Pick<ClaudeSettings, "configDir" | "env">,
  world: Environment,
): Record<string, string> {
  const picked = passed.flatMap((name) => (world[name] === undefined ? [] : [[name, world[name]] as const]));
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...Object.fromEntries(picked),
    // Nobody sits in front of it who could wait for an update, or for ten tries with a wrong key.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "3",
    ...(configDir !== undefined && { CLAUDE_CONFIG_DIR: configDir }),
    ...env,
  };
}
