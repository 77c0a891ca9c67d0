/** `nanogate sessions convert`: moves all conversations to another driver; exactly one driver holds a conversation. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { type Command, Option } from "commander";
import { type DriverName, driverNames, openStore } from "../session/open.js";
import { pythonJson } from "../session/python-json.js";
import type { SessionStore } from "../session/store.js";
import { replaceFile } from "../util/atomic-write.js";
import { errorCode, UserError } from "../util/errors.js";
import { systemClock } from "../world.js";
import { type CommandParts, createProgress, type DefineCommand } from "./terminal.js";
import { openWorkspaceStore, type Where } from "./workspace-store.js";

export function addConvertCommand(command: DefineCommand, { terminal }: CommandParts): void {
  command("convert", "move all conversations to another driver")
    .addOption(new Option("--to <driver>", "the driver to move to").choices(driverNames).makeOptionMandatory())
    .action(async (options: { to: DriverName; json?: boolean }, self: Command) => {
      const where = self.optsWithGlobals<Where>();
      const { settings, store, driver } = openWorkspaceStore(where);
      if (driver === options.to) {
        throw new UserError(
          `The sessions are kept by ${driver} already.`,
          `Name another driver: ${driverNames.join(", ")}.`,
        );
      }
      const { segmentSize } = settings.sessions;
      const target = openStore({ workspace: settings.workspace, driver: options.to, segmentSize });
      const files = await store.files();
      const all = await allKeys(store);
      const progress = createProgress(terminal, `converting to ${options.to}`);
      for (const [at, key] of all.entries()) {
        await copySession(store, target, key);
        progress.step(at + 1, all.length);
      }
      progress.end();
      await store.close();
      await target.close();
      const aside = join(
        settings.workspace,
        "sessions",
        `converted-${driver}-${systemClock().slice(0, 19).replaceAll(":", "")}`,
      );
      await mkdir(aside, { recursive: true });
      for (const file of files.filter((path) => existsSync(path))) await rename(file, join(aside, basename(file)));
      const isConfigured = where.workspace === undefined && where.driver === undefined;
      if (isConfigured) await configureDriver(join(settings.home, "nanogate.json"), options.to);
      if (options.json) return terminal.out(pythonJson({ converted: all.length, from: driver, to: options.to, aside }));
      terminal.out(
        `Converted ${all.length} conversations from ${driver} to ${options.to}. The old files are in ${relative(settings.workspace, aside)}.\n` +
          (isConfigured
            ? `sessions.driver in ${join(settings.home, "nanogate.json")} is ${options.to} now.`
            : `Use it with --driver ${options.to}, or set sessions.driver in nanogate.json.`),
      );
    });
}

/** Also those a listing leaves out, because their header is lost: every conversation moves, whatever became of it. */
async function allKeys(store: SessionStore): Promise<string[]> {
  const keys = new Set<string>();
  for await (const { key } of store.list()) keys.add(key);
  for await (const { key, rows } of store.verify({ repair: false })) if (rows > 0) keys.add(key);
  return [...keys];
}

/** Sets `sessions.driver`, leaving everything else in the file as it is. */
async function configureDriver(file: string, driver: DriverName): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return "{}";
    throw error;
  });
  const config = JSON.parse(text) as Record<string, object>;
  const next = { ...config, sessions: { ...config["sessions"], driver } };
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, async (handle) => {
    await handle.writeFile(`${JSON.stringify(next, undefined, 2)}\n`);
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
