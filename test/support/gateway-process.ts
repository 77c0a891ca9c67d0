/** `nanogate gateway` as its owner runs it: the real program on a home of its own. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { openHome, type Printed, runProgram } from "./cli.js";

export const demo = { defaults: { model: "demo" } };

/** A running gateway on a home with these channels. */
export async function openGateway(
  channels: object,
  home = openHome({ agents: demo, channels, gateway: { port: 0 } }),
  env: NodeJS.ProcessEnv = {},
) {
  let child: ChildProcess | undefined;
  const exited = runProgram(["gateway"], { home, env, onStart: (started) => (child = started) });
  onTestFinished(() => void child?.kill("SIGKILL"));
  let err = "";
  child?.stderr?.on("data", (text: string) => void (err += text));
  await expect.poll(() => err, { timeout: 20_000 }).toContain('"msg":"ready"');
  const { port, pid } = JSON.parse(readFileSync(join(home, "state", "gateway.json"), "utf8")) as Record<string, number>;
  return {
    home,
    pid,
    get: async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status,
    stop: (signal: NodeJS.Signals = "SIGTERM"): Promise<Printed> => {
      child?.kill(signal);
      return exited;
    },
    kill: (): void => void child?.kill("SIGKILL"),
    exited,
  };
}
