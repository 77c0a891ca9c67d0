/** The tool that runs a shell command in the workspace, sandboxed where that is possible. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { reasonOf } from "../../util/errors.js";
import { type CappedText, createCappedText, joinCapped } from "./capped-text.js";
import { type Fence, isInside } from "./fence.js";
import { type Command, startGroup } from "./process-group.js";
import type { PublicAddresses } from "./public-address.js";
import { createSandbox } from "./sandbox.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

export type ExecParts = {
  readonly fence: Fence;
  /** The environment to pick from. Commands see a handful of harmless names of it and `allowedEnvKeys`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly allowedEnvKeys?: readonly string[];
  /** Folders behind those of PATH. */
  readonly pathAppend?: string;
  /** Seconds a command may take unless it asks for another time. */
  readonly timeout?: number;
  /** `auto`: if bubblewrap works here. `required`: without it commands are refused. */
  readonly sandbox?: "auto" | "off" | "required";
  /** What commands in the sandbox may read of the home folder, which is otherwise hidden. */
  readonly sandboxReadable?: readonly string[];
  /** False: commands in the sandbox reach no network, not even this machine's own services. */
  readonly sandboxNetwork?: boolean;
  readonly bwrap?: string;
  /** Which addresses in a command are fine. Absent: commands are not looked at for addresses. */
  readonly addresses?: PublicAddresses;
};

const longestSeconds = 600;
/** The system takes little more in one argument. */
const longestCommand = 100_000;
const shownChars = 5000;
/** Who writes more than this is stopped: nobody will read it, and it costs processor time. */
const mostOutput = 64 * 1024 * 1024;
/** How long the pipes may stay open once all processes are gone. */
const drainMs = 300;

export function execTool(parts: ExecParts): Tool {
  const { fence, timeout: defaultSeconds = 60, sandbox: mode = "auto" } = parts;
  const sandbox = createSandbox({
    fence,
    ...(parts.bwrap !== undefined && { bwrap: parts.bwrap }),
    ...(parts.sandboxNetwork !== undefined && { network: parts.sandboxNetwork }),
    ...(parts.sandboxReadable && { readable: parts.sandboxReadable }),
  });
  return defineTool({
    name: "exec",
    description:
      "Run a shell command in the workspace and return its output and exit code. It has no input, and whatever it " +
      "leaves running in the background ends with it.",
    input: z.object({
      command: z
        .string()
        .check(z.minLength(1), z.maxLength(longestCommand), z.describe("The shell command to execute")),
      working_dir: z.optional(z.string().check(z.describe("Folder inside the workspace to run it in"))),
      timeout: z.optional(
        z.int().check(z.gte(1), z.lte(longestSeconds), z.describe(`Seconds it may take (default ${defaultSeconds})`)),
      ),
    }),
    async run({ command, working_dir: workingDir = ".", timeout = defaultSeconds }, { signal }) {
      const folder = await folderOf(fence, workingDir);
      const plain: Command = { program: "/bin/sh", args: ["-c", command], folder, env: environment(parts) };
      const wrapped = mode === "off" ? undefined : await sandbox.wrap(plain);
      if (wrapped === undefined && mode === "required") {
        throw new ToolError("Commands may only run in a sandbox, and bubblewrap does not work on this machine.");
      }
      await guard(parts, command);
      if (wrapped === undefined) guardPaths(fence, command, folder);
      signal.throwIfAborted();
      return runCommand(wrapped ?? plain, timeout, signal);
    },
  });
}

async function folderOf(fence: Fence, path: string): Promise<string> {
  const folder = await fence.resolve(path, "write");
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) throw new ToolError(`working_dir ${path} is not a folder inside ${fence.workspace}.`);
  return folder;
}

async function runCommand(command: Command, seconds: number, signal: AbortSignal): Promise<string> {
  const group = startGroup(command);
  const { child } = group;
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const [output, errors] = [createCappedText(shownChars), createCappedText(shownChars)];
  const limits = new AbortController();
  const ending = await new Promise<Ending>((resolve) => {
    let seen = 0;
    const collect = (into: CappedText) => (bytes: Buffer) => {
      into.push(bytes);
      seen += bytes.length;
      if (seen > mostOutput) resolve({ kind: "flood" });
    };
    child.stdout?.on("data", collect(output));
    child.stderr?.on("data", collect(errors));
    child.once("error", (error) => resolve({ kind: "failed", reason: reasonOf(error) }));
    child.once("exit", (code, killedBy) => resolve({ kind: "exit", code, killedBy }));
    const either = { signal: limits.signal };
    signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "it was stopped" }), either);
    sleep(seconds * 1000, undefined, either).then(
      () => resolve({ kind: "timeout" }),
      () => {},
    );
  });
  limits.abort();
  await group.end();
  // All are gone, so the pipes are drained in an instant, unless somebody who escaped us holds them open.
  await Promise.race([closed, sleep(drainMs)]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  signal.throwIfAborted();
  output.end();
  errors.end();
  const shown = [output, ...(errors.length > 0 ? ["\nSTDERR:\n", errors] : [])];
  const text = joinCapped(shown, shownChars);
  if (ending.kind === "failed") return `Error: Command could not be run: ${ending.reason}`;
  if (ending.kind === "timeout") return `Error: Command timed out after ${seconds} seconds${soFar(text)}`;
  if (ending.kind === "flood") return `Error: Command stopped, it wrote more than ${mostOutput >> 20} MB${soFar(text)}`;
  return `${text || "(no output)"}\n\nExit code: ${ending.code ?? `killed by ${ending.killedBy}`}`;
}

type Ending =
  | { readonly kind: "exit"; readonly code: number | null; readonly killedBy: NodeJS.Signals | null }
  | { readonly kind: "timeout" }
  | { readonly kind: "flood" }
  | { readonly kind: "failed"; readonly reason: string };

const soFar = (text: string): string => (text === "" ? "" : `\nOutput so far:\n${text}`);

const plainKeys = ["HOME", "LANG", "PATH", "TERM", "TZ"];

function environment({ env, allowedEnvKeys = [], pathAppend = "" }: ExecParts): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const key of [...plainKeys, ...allowedEnvKeys]) {
    const value = env[key];
    if (value !== undefined) picked[key] = value;
  }
  picked["PATH"] ??= "/usr/local/bin:/usr/bin:/bin";
  if (pathAppend !== "") picked["PATH"] += `:${pathAppend}`;
  return picked;
}

/** Each name is looked up. */
const mostUrls = 20;

/** nanobot's, and the spellings it forgot. */
const dangerous = [
  /\brm\s+-[rf]{1,2}\b/,
  /\brm\s+(?:-\S+\s+)*(?:-[a-z]*r[a-z]*|--recursive)\b/,
  /\bdel\s+\/[fq]\b/,
  /\brmdir\s+\/s\b/,
  /(?:^|[;&|]\s*)format\b/,
  /\b(?:mkfs|diskpart)\b/,
  /\bdd\s+if=/,
  />\s*\/dev\/sd/,
  /\b(?:shutdown|reboot|poweroff)\b/,
  /:\(\)\s*\{.*\};\s*:/,
  // Another process's environment, memory or files.
  /\/proc\/[^/\s]+\/(?:environ|mem|root|cwd|fd)\b/,
];

/**
 * The first guard, against accidents and clumsy attempts: words cannot say what a program will do. The wall is the
 * sandbox.
 */
async function guard({ addresses }: ExecParts, command: string): Promise<void> {
  const lower = command.toLowerCase();
  if (command.includes("\0")) throw blocked("NUL character");
  if (dangerous.some((pattern) => pattern.test(lower))) throw blocked("dangerous pattern detected");
  if (!addresses) return;
  const urls = [...command.matchAll(/\bhttps?:\/\/[^\s"'`;|<>()\\]+/gi)].map(([url]) => url);
  if (urls.length > mostUrls) throw blocked(`more than ${mostUrls} addresses in one command`);
  const refused = await Promise.all(urls.map((url) => addresses.isRefused(url)));
  if (refused.includes(true)) throw blocked("internal or private address");
}

/** Where there is no sandbox to hide them. */
function guardPaths({ forbidden, userHome }: Fence, command: string, folder: string): void {
  for (const word of command.split(/[\s"'`;&|<>()=,:]+/).filter((text) => text !== "")) {
    const path = resolve(folder, word.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, userHome));
    if (forbidden.some((root) => isInside(resolve(root), path))) {
      throw blocked("sessions, state and configuration are out of reach");
    }
  }
}

const blocked = (why: string): ToolError => new ToolError(`Command blocked by safety guard (${why})`);
