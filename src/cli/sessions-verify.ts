/** `nanogate sessions verify`: reads every line of every conversation. */
import { basename, relative } from "node:path";
import type { Command } from "commander";
import { pythonJson } from "../session/python-json.js";
import { spelledOut } from "./printable.js";
import { type CommandParts, createProgress, type DefineCommand, exit, styled } from "./terminal.js";
import { listed, openWorkspaceStore } from "./workspace-store.js";

export function addVerifyCommand(command: DefineCommand, { terminal, end }: CommandParts): void {
  command("verify", "read every line of every conversation and name each damage")
    .option("--repair", "set damaged originals aside and keep what is whole")
    .action(async (options, self: Command) => {
      const { settings, store } = openWorkspaceStore(self.optsWithGlobals());
      const total = (await listed(store)).length;
      const progress = createProgress(terminal, "verifying");
      const sum = { sessions: 0, rows: 0, damaged: 0, repaired: 0 };
      for await (const result of store.verify({ repair: Boolean(options.repair) })) {
        sum.sessions++;
        sum.rows += result.rows;
        progress.step(sum.sessions, Math.max(total, sum.sessions));
        if (result.damage.length === 0) continue;
        sum.damaged++;
        if (result.setAside !== undefined) sum.repaired++;
        progress.end();
        if (options.json) {
          terminal.out(pythonJson(result));
          continue;
        }
        for (const { file, line, reason } of result.damage) {
          terminal.out(
            `${styled(terminal, "red", "damaged")}  ${spelledOut(relative(settings.workspace, file))}:${line}  ${reason}`,
          );
        }
        if (result.setAside !== undefined) {
          terminal.out(
            `${styled(terminal, "green", "repaired")} the original is kept as ${spelledOut(basename(result.setAside))}`,
          );
        }
      }
      progress.end();
      await store.close();
      if (options.json) terminal.out(pythonJson({ summary: sum }));
      else terminal.out(verdict(sum));
      end(sum.damaged > sum.repaired ? exit.damaged : exit.ok);
    });
}

function verdict(sum: { sessions: number; rows: number; damaged: number; repaired: number }): string {
  const seen = `${sum.sessions} sessions, ${sum.rows} rows`;
  if (sum.damaged === 0) return `${seen}: all whole.`;
  const rest = sum.damaged - sum.repaired;
  return rest === 0
    ? `${seen}: ${sum.repaired} repaired.`
    : `${seen}: ${rest} damaged. \`--repair\` keeps what is whole.`;
}
