/** `nanogate` without a command: says what there is and where. */
import type { Command } from "commander";
import { openWorkspaceStore } from "./workspace-store.js";
import { styled, type Terminal } from "./terminal.js";

export function addStartCommand(program: Command, { terminal }: { readonly terminal: Terminal }): void {
  program.action(async () => {
    const { settings, store } = openWorkspaceStore(program.opts());
    let sessions = 0;
    for await (const _ of store.list()) sessions++;
    await store.close();
    const command = (text: string): string => styled(terminal, "cyan", text);
    terminal.out(
      [
        `${styled(terminal, "bold", "nanogate")} — the session store of a chat gateway that is still being built.`,
        "",
        `  home       ${settings.home}`,
        `  workspace  ${settings.workspace}`,
        `  sessions   ${sessions} (${settings.sessions.driver})`,
        "",
        "There is no gateway to start yet. What works today:",
        `  ${command("nanogate sessions list")}      the conversations of the workspace, nanobot's included`,
        `  ${command("nanogate sessions verify")}    reads every line and names each damage`,
        `  ${command("nanogate --help")}             everything else`,
      ].join("\n"),
    );
  });
}
