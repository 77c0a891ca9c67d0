/** The real program as a child process: started on a home, killed at a point, or asked to end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FakeDiscord } from "./fake-discord.js";
import type { FakeModel } from "./fake-model.js";
import type { FakeTelegram } from "./fake-telegram.js";

export type Daemon = ChildProcess;
export type Fakes = { readonly telegram: FakeTelegram; readonly discord: FakeDiscord; readonly model: FakeModel };

/** Seen from `test/lab` as from `dist/lab`. */
const program = fileURLToPath(new URL("../../bin/nanogate.js", import.meta.url));
export const patienceMs = 30_000;

/** A home whose outside world is ours. */
export function configure(home: string, { telegram, discord, model }: Fakes): void {
  mkdirSync(home, { recursive: true });
  const config = {
    agents: { defaults: { provider: "custom", model: "lab" } },
    providers: { custom: { apiKey: "lab", apiBase: model.url } },
    channels: {
      sendProgress: false,
      telegram: { enabled: true, token: telegram.token, apiRoot: telegram.url, allowFrom: ["*"] },
      discord: { enabled: true, token: discord.token, apiRoot: discord.apiRoot, allowFrom: ["*"] },
    },
    gateway: { port: 0, graceSeconds: 5 },
  };
  writeFileSync(join(home, "config.json"), JSON.stringify(config));
}

/** `kill` names a point and how often it is to be reached before the process dies there: `after store#2`. */
export function startDaemon(home: string, logFile: string, kill?: string): Daemon {
  const env = { PATH: process.env["PATH"], HOME: home, ...(kill !== undefined && { NANOGATE_LAB_KILL: kill }) };
  const log = openSync(logFile, "a");
  const daemon = spawn(process.execPath, [program, "gateway", "--home", home], { env, stdio: ["ignore", "pipe", log] });
  closeSync(log);
  // Whatever becomes of us, it does not live on alone.
  const end = (): void => void daemon.kill("SIGKILL");
  process.once("exit", end);
  daemon.once("exit", () => process.off("exit", end));
  return daemon;
}

/** Resolves when the daemon says that it runs; before that a signal would end it like any other program. */
export function isRunning(daemon: Daemon): Promise<void> {
  return new Promise<void>((resolve) => {
    daemon.stdout?.on("data", (text: Buffer) => {
      if (text.includes("is running")) resolve();
    });
    daemon.once("exit", () => resolve());
  });
}

/** Asks the daemon to end; its exit code, or null if it had to be killed. */
export async function endDaemon(daemon: Daemon): Promise<number | null> {
  if (isOver(daemon)) return daemon.exitCode;
  const exit = once(daemon, "exit") as Promise<[number | null]>;
  daemon.kill("SIGTERM");
  const timer = setTimeout(() => daemon.kill("SIGKILL"), patienceMs);
  const [code] = await exit;
  clearTimeout(timer);
  return code;
}

/** How a life ended: at the point where it was to die, by our hand because that took too long, or in a way of its own. */
export type Death = "at the point" | "by hand" | "by itself";

export async function awaitDeath(daemon: Daemon, withinMs: number): Promise<Death> {
  let byHand = false;
  const timer = setTimeout(() => {
    byHand = true;
    daemon.kill("SIGKILL");
  }, withinMs);
  if (!isOver(daemon)) await once(daemon, "exit");
  clearTimeout(timer);
  if (daemon.exitCode !== null) return "by itself";
  return byHand ? "by hand" : "at the point";
}

const isOver = ({ exitCode, signalCode }: Daemon): boolean => exitCode !== null || signalCode !== null;
