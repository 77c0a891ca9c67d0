/** The claude command as a backend: one child process per message, gone with everything it has started when we return. */
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { createCappedText } from "../agent/tools/capped-text.js";
import { type Command, endLeftover, startGroup } from "../agent/tools/process-group.js";
import { ModelError } from "../providers/provider.js";
import { reasonOf } from "../util/errors.js";
import type { Backend } from "./backend.js";
import { claudeCommand, type ClaudeSettings, type Environment } from "./claude-command.js";
import { isSessionId, removeSession } from "./claude-files.js";
import { readEnd } from "./claude-output.js";
import { createClaudeStream } from "./claude-stream.js";

export type ClaudeParts = {
  readonly settings: ClaudeSettings;
  /** The environment to pick from. */
  readonly env: Environment;
};

/** Who prints more than this is stopped. */
const mostOutput = 64 * 1024 * 1024;
const shownErrors = 2000;
/** How long the pipes may stay open once all processes are gone. */
const drainMs = 2000;

export function createClaudeCli({ settings, env }: ClaudeParts): Backend {
  const { folder, timeoutSeconds } = settings;
  const configDir = claudeConfigDir(settings, env);

  const forget = (handle: string): Promise<void> => removeSession(handle, { configDir, folder });

  return {
    name: "claude-cli",
    isHandle: isSessionId,
    async run(call) {
      const { handle, signal, on } = call;
      signal.throwIfAborted();
      if (handle !== undefined && !isSessionId(handle))
        return { kind: "lost", reason: "its id is not one of claude's" };
      await mkdir(folder, { recursive: true });
      const stream = on && createClaudeStream(on);
      const paper = stream ? sortLines((line) => stream.push(line)) : keepAll();
      const { ending, stderr } = await runToEnd(claudeCommand(settings, call, env), timeoutSeconds, signal, (text) =>
        paper.add(text),
      );
      signal.throwIfAborted();
      if (ending.kind === "unstarted") throw cannotStart(settings.command, ending.error);
      if (ending.kind === "exit") {
        const run = { ...(handle !== undefined && { handle }), toolsUsed: stream?.toolsUsed() ?? [] };
        const end = readEnd({ stdout: paper.text(), stderr, code: ending.code }, run);
        // Old versions go on in a copy under a new name each time.
        if (handle !== undefined && end.kind === "answered" && end.handle !== handle)
          await forget(handle).catch(() => {});
        return end;
      }
      return ending.kind === "timeout"
        ? { kind: "timed-out", seconds: timeoutSeconds, partial: stream?.partial() ?? "" }
        : { kind: "failed", failure: "request", reason: `it printed over ${mostOutput >> 20} MB`, acted: true };
    },
    forget,
    abandon: endLeftover,
  };
}

/** Where it keeps its conversations, as it would find out itself. */
export const claudeConfigDir = (settings: Pick<ClaudeSettings, "configDir" | "env">, world: Environment): string =>
  settings.env["CLAUDE_CONFIG_DIR"] ??
  settings.configDir ??
  world["CLAUDE_CONFIG_DIR"] ??
  join(settings.env["HOME"] ?? world["HOME"] ?? homedir(), ".claude");

/** Where the output goes. */
type Paper = { add(text: string): void; text(): string };

function keepAll(): Paper {
  const pieces: string[] = [];
  return { add: (text) => void pieces.push(text), text: () => pieces.join("") };
}

/** Of a stream only the result is kept; or, if there is none, what nobody understood. */
function sortLines(push: (line: string) => "event" | "result" | "noise"): Paper {
  let rest = "";
  let result: string | undefined;
  const noise: string[] = [];
  const take = (line: string): void => {
    if (line.trim() === "") return;
    const kind = push(line);
    if (kind === "result") result = line;
    else if (kind === "noise") noise.push(line);
  };
  return {
    add(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) take(line);
    },
    text() {
      take(rest);
      rest = "";
      return result ?? noise.join("\n");
    },
  };
}

type Ending =
  | { readonly kind: "exit"; readonly code: number | null }
  | { readonly kind: "timeout" | "stopped" | "flood" }
  | { readonly kind: "unstarted"; readonly error: unknown };

/** Resolves when nothing of the command is running any more, however it came to that. */
async function runToEnd(
  command: Command,
  seconds: number,
  signal: AbortSignal,
  print: (text: string) => void,
): Promise<{ ending: Ending; stderr: string }> {
  const group = startGroup(command);
  const { child } = group;
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const errors = createCappedText(shownErrors);
  const decoder = new StringDecoder("utf8");
  const limits = new AbortController();
  const ending = await new Promise<Ending>((resolve) => {
    let seen = 0;
    child.stdout?.on("data", (bytes: Buffer) => {
      seen += bytes.length;
      if (seen > mostOutput) resolve({ kind: "flood" });
      else print(decoder.write(bytes));
    });
    child.stderr?.on("data", (bytes: Buffer) => errors.push(bytes));
    child.once("error", (error) => resolve({ kind: "unstarted", error }));
    child.once("exit", (code) => resolve({ kind: "exit", code }));
    const either = { signal: limits.signal };
    signal.addEventListener("abort", () => resolve({ kind: "stopped" }), either);
    if (signal.aborted) resolve({ kind: "stopped" });
    sleep(seconds * 1000, undefined, either).then(
      () => resolve({ kind: "timeout" }),
      () => {},
    );
  });
  limits.abort();
  await group.end();
  // All are gone, so the pipes are drained in an instant, unless somebody who escaped us holds them open.
  const drained = new AbortController();
  await Promise.race([closed, sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {})]);
  drained.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
  errors.end();
  return { ending, stderr: errors.head + errors.tail };
}

const cannotStart = (command: string, cause: unknown): ModelError =>
  new ModelError(
    "request",
    `The command ${command} cannot be started: ${reasonOf(cause)}`,
    "Install it (npm install -g @anthropic-ai/claude-code), or set backends.claude-cli.command to where it is.",
    { cause },
  );
