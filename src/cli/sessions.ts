/** `nanogate sessions`: look at and export the conversations of a workspace. */
import { join, relative } from "node:path";
import { type Command, Option } from "commander";
import type { Row } from "../message.js";
import { headerLine } from "../session/header.js";
import { driverNames } from "../session/open.js";
import { pythonJson } from "../session/python-json.js";
import type { SessionLog, SessionSummary } from "../session/store.js";
import { spelledOut } from "./printable.js";
import { addConvertCommand } from "./sessions-convert.js";
import { addVerifyCommand } from "./sessions-verify.js";
import { type CommandParts, type DefineCommand, positive, styled, table, type Terminal } from "./terminal.js";
import { existing, listed, openWorkspaceStore } from "./workspace-store.js";

export function addSessionsCommand(program: Command, parts: CommandParts): void {
  const { terminal } = parts;
  const sessions = program.command("sessions").description("look at, check, convert and export conversations");
  const command: DefineCommand = (name, description) =>
    sessions
      .command(name)
      .description(description)
      .option("--workspace <folder>", "the workspace (default: from the configuration)")
      .addOption(
        new Option("--driver <name>", "how sessions are kept (default: from the configuration)").choices(driverNames),
      )
      .option("--json", "print JSON for scripts");
  const open = (self: Command) => openWorkspaceStore(self.optsWithGlobals());

  command("list", "all conversations, the most recently updated first").action(async (options, self: Command) => {
    const { settings, store } = open(self);
    const found = await listed(store);
    await store.close();
    if (options.json) return terminal.out(pythonJson(found.map(summaryJson)));
    if (found.length === 0) return terminal.out(`No sessions in ${join(settings.workspace, "sessions")} yet.`);
    const rows = found.map(({ key, updatedAt, path }) => [
      spelledOut(key),
      updatedAt?.slice(0, 19).replace("T", " ") ?? "?",
      spelledOut(relative(settings.workspace, path)),
    ]);
    terminal.out(table(terminal, ["KEY", "UPDATED", "WHERE"], rows));
  });

  command("show <key>", "the newest rows of one conversation")
    .option("-n, --rows <number>", "how many", "20")
    .action(async (key: string, options, self: Command) => {
      const { store } = open(self);
      const log = await existing(store, key);
      const count = positive(options.rows, "--rows");
      const rows = log.read(Math.max(0, log.length - count), log.length);
      await store.close();
      if (options.json) return terminal.out(pythonJson({ ...headerJson(log), rows }));
      const { createdAt, updatedAt, lastConsolidated } = log.header;
      terminal.out(
        `${styled(terminal, "bold", spelledOut(key))}  ${log.length} rows, ${lastConsolidated} consolidated, created ${createdAt}, updated ${updatedAt}`,
      );
      if (rows.length < log.length) terminal.out(styled(terminal, "dim", `… ${log.length - rows.length} earlier rows`));
      for (const row of rows) terminal.out(rowText(terminal, row));
    });

  command("path <key>", "where a conversation lies, or would lie").action(
    async (key: string, options, self: Command) => {
      const { store } = open(self);
      const { path, isStored } = await store.open(key);
      await store.close();
      terminal.out(options.json ? pythonJson({ key, path, exists: isStored }) : path);
    },
  );

  command("export <key>", "one conversation as nanobot's JSON lines (or, with --json, as one document)").action(
    async (key: string, options, self: Command) => {
      const { store } = open(self);
      const log = await existing(store, key);
      if (options.json) {
        terminal.out(pythonJson({ ...headerJson(log), rows: log.read(0, log.length) }));
      } else {
        terminal.out(headerLine(log.header));
        const batch = 1000;
        for (let from = 0; from < log.length; from += batch) {
          for (const row of log.read(from, Math.min(from + batch, log.length))) terminal.out(pythonJson(row));
        }
      }
      await store.close();
    },
  );

  addVerifyCommand(command, parts);
  addConvertCommand(command, parts);
}

const summaryJson = ({ key, createdAt, updatedAt, path }: SessionSummary) => ({
  key,
  created_at: createdAt ?? null,
  updated_at: updatedAt ?? null,
  path,
});

const headerJson = ({ header, length, path }: SessionLog) => ({
  key: header.key,
  created_at: header.createdAt,
  updated_at: header.updatedAt,
  metadata: header.metadata,
  last_consolidated: header.lastConsolidated,
  length,
  path,
});

function rowText(terminal: Terminal, row: Row): string {
  const { role, content, timestamp, name, tool_calls: calls } = row;
  const who = typeof name === "string" ? `${String(role)} ${name}` : String(role);
  const when = typeof timestamp === "string" ? timestamp.slice(0, 16).replace("T", " ") : "";
  const text =
    typeof content === "string" ? content : content === null || content === undefined ? "" : pythonJson(content);
  const called = Array.isArray(calls)
    ? calls.map((call: Row) => `\n    → ${pythonJson(call["function"])}`).join("")
    : "";
  return `${styled(terminal, "dim", when)} ${styled(terminal, "cyan", who)}: ${spelledOut(text + called, "keep lines")}`;
}
