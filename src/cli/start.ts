/** `nanogate` without a command: says what there is and where. */
import type { Command, CommanderError } from "commander";
import { openConfiguredModel } from "../app/model.js";
import { type Asked, askGateway } from "../app/running.js";
import { theModel } from "../backends/choice.js";
import type { Settings } from "../config/load.js";
import { UserError } from "../util/errors.js";
import { nearest } from "../util/nearest.js";
import { systemWorld } from "../world.js";
import { openWorkspaceStore } from "./workspace-store.js";
import { exit, styled, type Terminal } from "./terminal.js";

export function addStartCommand(program: Command, { terminal }: { readonly terminal: Terminal }): void {
  program
    .usage("[options] [command]")
    .argument("[command]")
    .action(async (stray: string | undefined) => {
      if (stray !== undefined) throw unknownCommand(program, stray);
      const { settings, store } = openWorkspaceStore(program.opts());
      let sessions = 0;
      for await (const _ of store.list()) sessions++;
      await store.close();
      const command = (text: string): string => styled(terminal, "cyan", text);
      terminal.out(
        [
          `${styled(terminal, "bold", "nanogate")} — a gateway between people's chats and a language model that loses nothing.`,
          "",
          `  home       ${settings.home}`,
          `  workspace  ${settings.workspace}`,
          `  sessions   ${sessions} (${settings.sessions.driver})`,
          `  model      ${await modelInWords(settings)}`,
          `  gateway    ${inWords(await askGateway(settings.home, systemWorld().fetch, 1000))}`,
          "",
          `  ${command("nanogate init")}       set up model, channels and owner`,
          `  ${command("nanogate gateway")}    run it`,
          `  ${command("nanogate chat")}       talk to it in the terminal`,
          `  ${command("nanogate doctor")}     check everything it needs`,
          `  ${command("nanogate --help")}     everything else`,
        ].join("\n"),
      );
    });
}

function inWords(asked: Asked): string {
  if (asked.kind === "none") return "not running";
  return `${asked.kind === "running" ? "running" : "does not answer"}, process ${asked.running.pid}`;
}

/** Whose answers `nanogate chat` would print now. */
async function modelInWords(settings: Settings): Promise<string> {
  const { backend } = settings.agents.defaults;
  if (backend !== "" && backend !== theModel) return `${backend} (a backend)`;
  try {
    const { model, notice } = await openConfiguredModel(settings, systemWorld());
    return notice === undefined ? model.name : `${model.name} (${notice.replace(/[:.].*$/s, "").toLowerCase()})`;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return `none: ${error.message} ${error.fix}`;
  }
}

function unknownCommand(program: Command, name: string): CommanderError {
  const meant = nearest(
    name,
    program.commands.map((command) => command.name()),
  );
  const hint = meant === undefined ? "`nanogate --help` lists all commands." : `Did you mean ${meant}?`;
  return program.error(`error: unknown command '${name}'\n(${hint})`, { exitCode: exit.usage });
}
