/** `nanogate gateway`: the daemon. */
import type { Command } from "commander";
import { createGatewayApp } from "../app/gateway.js";
import { addressOf } from "../app/running.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { reasonOf } from "../util/errors.js";
import { systemWorld } from "../world.js";
import { createLog } from "./log.js";
import { exit, styled, type Terminal } from "./terminal.js";

export async function runGateway(self: Command, terminal: Terminal): Promise<number> {
  const stop = new AbortController();
  const onSignal = (name: string): void => {
    if (stop.signal.aborted) process.exit(exit.failed);
    terminal.err(`\nnanogate: ${name}: finishing what is under way (again ends at once)\n`);
    stop.abort();
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => onSignal(name));
  const { home } = self.optsWithGlobals<{ home?: string }>();
  const settings = loadSettings(findHome(home, process.env), process.env);
  const log = await createLog(terminal);
  // All that was accepted is in the ledger; what is in memory cannot be trusted any more.
  process.on("uncaughtException", (error) => {
    log.warn(`A fault of the program itself: ${reasonOf(error)}. Whoever looks after it should start it again.`, {
      error,
    });
    process.exit(exit.failed);
  });
  const reach = await labFailpoints(process.env);
  const gateway = await createGatewayApp({ settings, world: systemWorld(log), ...(reach && { reach }) });
  if (gateway.notice !== undefined) terminal.err(`nanogate: ${gateway.notice}\n`);
  await gateway.run(stop.signal, {
    started: (port) =>
      terminal.out(greeting(terminal, gateway, settings.home, addressOf({ ...settings.gateway, port }))),
    ready: () => log.info?.("ready", { channels: gateway.channels }),
  });
  // Everything is written and said, and every connection closed. What nobody can break off (the system looking up a name
  // while the network is down, for half a minute) must not keep the process.
  setTimeout(() => process.exit(exit.ok), 1000).unref();
  return exit.ok;
}

type Greeted = {
  readonly modelName: string;
  readonly channels: readonly string[];
  readonly tokenFile: string | undefined;
};

function greeting(
  terminal: Terminal,
  { modelName, channels, tokenFile }: Greeted,
  home: string,
  address: string,
): string {
  // Whoever started it with npm has it where only npx finds it.
  const program = process.env["npm_command"] === undefined ? "nanogate" : "npx nanogate";
  const command = (name: string): string => styled(terminal, "cyan", `${program} ${name}`.padEnd(program.length + 10));
  const on = channels.length === 0 ? "no channel is connected yet" : channels.join(", ");
  return [
    `${styled(terminal, "bold", "nanogate")} is running: ${modelName}; ${on}.`,
    `  home    ${home}`,
    `  page    ${address}/`,
    `  health  ${address}/readyz`,
    ...(tokenFile === undefined ? [] : [`  token   ${tokenFile} (needed to come in; keep it to yourself)`]),
    "",
    `  ${command("chat")}talk to it in the terminal`,
    channels.length === 0
      ? `  ${command("init")}connect Telegram or Discord, choose a model`
      : `  ${command("status")}what it is doing`,
  ].join("\n");
}

/** The crash lab names a point, and how often it is to be reached before the process dies there. Off unless asked for. */
async function labFailpoints(env: NodeJS.ProcessEnv): Promise<((point: string) => void) | undefined> {
  const wanted = env["NANOGATE_LAB_KILL"];
  if (wanted === undefined) return undefined;
  const [point, count = "1"] = wanted.split("#");
  let left = Number(count);
  return (reached) => {
    if (reached === point && --left === 0) process.kill(process.pid, "SIGKILL");
  };
}
