/** `nanogate sessions convert`: moves all conversations to another driver; exactly one driver holds a conversation. */
import { mkdir, rename } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { type Command, Option } from "commander";
import { type DriverName, driverNames, openStore } from "../session/open.js";
import { pythonJson } from "../session/python-json.js";
import type { SessionStore } from "../session/store.js";
import { UserError } from "../util/errors.js";
import { systemClock } from "../world.js";
import { type CommandParts, createProgress, type DefineCommand } from "./terminal.js";
import { listed, openWorkspaceStore } from "./workspace-store.js";

export function addConvertCommand(command: DefineCommand, { terminal }: CommandParts): void {
  command("convert", "move all conversations to another driver")
    .addOption(new Option("--to <driver>", "the driver to move to").choices(driverNames).makeOptionMandatory())
    .action(async (options: { to: DriverName; json?: boolean }, self: Command) => {
      const { settings, store, driver } = openWorkspaceStore(self.optsWithGlobals());
      if (driver === options.to) {
        throw new UserError(
          `The sessions are kept by ${driver} already.`,
          `Name another driver: ${driverNames.join(", ")}.`,
        );
      }
      const target = openStore({ workspace: settings.workspace, driver: options.to });
      const all = await listed(store);
      const progress = createProgress(terminal, `converting to ${options.to}`);
      for (const [at, { key }] of all.entries()) {
        await copySession(store, target, key);
        progress.step(at + 1, all.length);
      }
      progress.end();
      const files = await store.files();
      await store.close();
      await target.close();
      const aside = join(
        settings.workspace,
        "sessions",
        `converted-${driver}-${systemClock().slice(0, 19).replaceAll(":", "")}`,
      );
      await mkdir(aside);
      for (const file of files) await rename(file, join(aside, basename(file)));
      if (options.json) return terminal.out(pythonJson({ converted: all.length, from: driver, to: options.to, aside }));
      terminal.out(
        `Converted ${all.length} conversations from ${driver} to ${options.to}. The old files are in ${relative(settings.workspace, aside)}.\n` +
          `Now set {"sessions": {"driver": "${options.to}"}} in ${join(settings.home, "nanogate.json")}.`,
      );
    });
}

/** Copies and reads back; a conversation that is already there must be the same. */
async function copySession(from: SessionStore, to: SessionStore, key: string): Promise<void> {
  const source = await from.open(key);
  const rows = source.read(0, source.length);
  const target = await to.open(key);
  if (target.length === 0) await target.replace(source.header, rows);
  const copy = await to.open(key);
  if (pythonJson(copy.read(0, copy.length)) === pythonJson(rows)) return;
  throw new UserError(
    `${key} exists on both sides and differs.`,
    `Compare ${source.path} and ${copy.path}, move the wrong one away, and run the command again.`,
  );
}
