/** `nanogate gateway`: the daemon. */
import type { Command } from "commander";
import { createGatewayApp } from "../app/gateway.js";
import { addressOf } from "../app/running.js";
import { findHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { reasonOf } from "../util/errors.js";
import { type Log, systemWorld } from "../world.js";
import { createLog } from "./log.js";
import { exit, styled, type Terminal } from "./terminal.js";

export async function runGateway(self: Command, terminal: Terminal): Promise<number> {
  const { home } = self.optsWithGlobals<{ home?: string }>();
  const logging = createLog(terminal);
  const stop = new AbortController();
  const onSignal = (name: string): void => {
    if (stop.signal.aborted) process.exit(exit.failed);
    const words = `${name}: finishing what is under way (again ends at once)`;
    if (terminal.errIsTerminal) terminal.err(`\nnanogate: ${words}\n`);
    else void logging.then((log) => log.info?.(words));
    stop.abort();
  };
  // A terminal that is closed is no reason to end less politely.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => onSignal(name));
  const log = await logging;
  await serve(findHome(home, process.env), stop.signal, log, terminal);
  // Everything is written and said, and every connection closed. What nobody can break off (the system looking up a name
  // while the network is down, for half a minute) must not keep the process.
  setTimeout(() => process.exit(exit.ok), 1000).unref();
  return exit.ok;
}

/** Until the signal aborts. */
async function serve(home: string, signal: AbortSignal, log: Log, terminal: Terminal): Promise<void> {
  const settings = loadSettings(home, process.env);
  // All that was accepted is in the ledger; what is in memory cannot be trusted any more.
  process.on("uncaughtException", (error) => {
    log.warn(`A fault of the program itself: ${reasonOf(error)}. Whoever looks after it should start it again.`, {
      error,
    });
    process.exit(exit.failed);
  });
  const reach = await labFailpoints(process.env);
  const gateway = await createGatewayApp({ settings, world: systemWorld(log), ...(reach && { reach }) });
  if (gateway.notice !== undefined) {
    if (terminal.errIsTerminal) terminal.err(`nanogate: ${gateway.notice}\n`);
    else log.info?.(gateway.notice);
  }
  await gateway.run(signal, {
    started: (port) => terminal.out(greeting(terminal, gateway, home, addressOf({ ...settings.gateway, port }))),
    ready: () => log.info?.("ready", { channels: gateway.channels }),
  });
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
    `  health  ${address}/healthz`,
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
