/** A claude command in a home of its own: the stub, unless told otherwise. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClaudeSettings } from "../../src/backends/claude-command.js";
import { temporaryFolder } from "./workspace.js";

export const stub = fileURLToPath(new URL("../../fixtures/claude-stub/claude.mjs", import.meta.url));

export type Context = readonly { readonly role: string; readonly text: string }[];
export type StubCall = {
  readonly pid: number;
  readonly args: readonly string[];
  readonly prompt: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly resumed: string | null;
  readonly found: boolean;
  readonly context: Context;
};

export type HouseOptions = {
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: Partial<ClaudeSettings>;
  /** Another version of the stub. */
  readonly version?: string;
};

export type ClaudeHouse = ReturnType<typeof openClaude>;

export function openClaude(options: HouseOptions = {}) {
  const home = temporaryFolder();
  const folder = join(home, "work");
  const config = join(home, "config");
  mkdirSync(folder);
  mkdirSync(config);
  const command = options.command ?? stub;
  const env: Record<string, string> = {
    CLAUDE_CONFIG_DIR: config,
    ...(options.version !== undefined && { CLAUDE_STUB_VERSION: options.version }),
    ...options.env,
  };
  const settings: ClaudeSettings = {
    command,
    folder,
    allowedTools: [],
    disallowedTools: [],
    args: [],
    env,
    timeoutSeconds: 60,
    ...options.settings,
  };
  const log = (): Record<string, unknown>[] => {
    const file = join(config, "stub-log.jsonl");
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const place = join(config, "projects", folder.replaceAll(/[^a-zA-Z0-9]/g, "-"));
  return {
    home,
    folder,
    config,
    settings,
    /** The world of whoever runs it: nothing of ours but the way to Node. */
    world: { PATH: process.env["PATH"], HOME: home },
    /** The folder with the conversations of `folder`. */
    place,
    files: (): string[] => (existsSync(place) ? readdirSync(place).sort() : []),
    /** How the stub was called, in order. */
    calls: (): StubCall[] =>
      log().flatMap((entry) =>
        "call" in entry ? [{ pid: entry["pid"], ...(entry["call"] as object) } as StubCall] : [],
      ),
    /** Processes of the stub that would not end by themselves. */
    hanging: (): number[] => log().flatMap((entry) => (entry["hangs"] as number[] | undefined) ?? []),
    /** Runs the command itself, as a shell would. */
    run: (args: readonly string[], input = "", cwd = folder) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
        const child = spawn(command, [...args], { cwd, env: { PATH: process.env["PATH"], HOME: home, ...env } });
        let stdout = "";
        let stderr = "";
        child.stdout.setEncoding("utf8").on("data", (text: string) => void (stdout += text));
        child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
        child.stdin.on("error", () => {}).end(input);
        child.on("error", reject).on("close", (code) => resolve({ code, stdout, stderr }));
      }),
  };
}

/** Does a process of this number still run? A zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !"ZX".includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
  } catch {
    return false;
  }
}
