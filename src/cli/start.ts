/** `nanogate` without a command: says what there is and where. */
import type { Command } from "commander";
import { askGateway } from "../app/running.js";
import { systemWorld } from "../world.js";
import { openWorkspaceStore } from "./workspace-store.js";
import { styled, type Terminal } from "./terminal.js";

export function addStartCommand(program: Command, { terminal }: { readonly terminal: Terminal }): void {
  program.action(async () => {
    const { settings, store } = openWorkspaceStore(program.opts());
    let sessions = 0;
    for await (const _ of store.list()) sessions++;
    await store.close();
    const command = (text: string): string => styled(terminal, "cyan", text);
    const running = await askGateway(settings.home, systemWorld().fetch);
    terminal.out(
      [
        `${styled(terminal, "bold", "nanogate")} — a gateway between people's chats and a language model that loses nothing.`,
        "",
        `  home       ${settings.home}`,
        `  workspace  ${settings.workspace}`,
        `  sessions   ${sessions} (${settings.sessions.driver})`,
        `  gateway    ${running ? `running, process ${running.status.pid}` : "not running"}`,
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
