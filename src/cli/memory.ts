/** `nanogate memory`: look at what is remembered, at each change of it, and take the last one back. */
import { join } from "node:path";
import type { Command } from "commander";
import type { MemoryFiles } from "../agent/memory-files.js";
import type { MemoryVersion } from "../agent/memory-versions.js";
import { UserError } from "../util/errors.js";
import { type DiffLine, lineDiff } from "../util/line-diff.js";
import { printable, spelledOut } from "./printable.js";
import { type CommandParts, NotFound, styled, table, type Terminal } from "./terminal.js";

export type MemoryOptions = {
  readonly home?: string;
  readonly workspace?: string;
  readonly session?: string;
  readonly json?: boolean;
};

export function addMemoryCommand(program: Command, { terminal }: CommandParts): void {
  const memory = program.command("memory").description("look at what is remembered, and take changes back");
  const command = (name: string, description: string): Command =>
    memory
      .command(name)
      .description(description)
      .option("--workspace <folder>", "the workspace (default: from the configuration)")
      .option("--session <key>", "whose memory, where each chat has one of its own")
      .option("--json", "print JSON for scripts");
  const answer = async (self: Command, work: Work): Promise<void> => {
    const options = self.optsWithGlobals<MemoryOptions>();
    // Only when it is needed: the fence, the lock and the sessions are a good part of the program.
    const { withWorkspaceMemory } = await import("./workspace-memory.js");
    const { text, json } = await withWorkspaceMemory(options, work);
    terminal.out(options.json ? JSON.stringify(json) : text);
  };

  command("show", "MEMORY.md, as every prompt carries it").action((_, self: Command) =>
    answer(self, async (files) => {
      const text = await files.memory();
      const shown = printable(text.replace(/\n$/, "")) || styled(terminal, "dim", "Nothing is remembered yet.");
      return { text: shown, json: { path: join(files.folder, "MEMORY.md"), memory: text } };
    }),
  );

  command("log", "every change of MEMORY.md, the newest first").action((_, self: Command) =>
    answer(self, async (files) => {
      const changes = (await changesOf(files)).map(changeOf);
      const rows = changes.map(({ id, time, by, added, removed }) => [
        String(id),
        spoken(time),
        spelledOut(by),
        `+${added} −${removed}`,
      ]);
      const text = rows.length === 0 ? "No changes yet." : table(terminal, ["ID", "TIME", "BY", "LINES"], rows);
      return { text, json: changes };
    }),
  );

  command("diff [id]", "what a change did to MEMORY.md (default: the last one)").action(
    (id: string | undefined, _, self: Command) =>
      answer(self, async (files) => {
        const version = found(await changesOf(files), id);
        const diff = lineDiff(version.before, version.after);
        const title = `change ${version.id}, ${spoken(version.time)}, by ${spelledOut(version.by)}`;
        const text = [styled(terminal, "bold", title), ...diffText(terminal, diff)].join("\n");
        return { text, json: { ...version, diff } };
      }),
  );

  command("undo", "takes the last change of MEMORY.md back, as a change that can itself be undone").action(
    (_, self: Command) =>
      answer(self, async (files) => {
        const last = found(await changesOf(files), undefined);
        const memory = { from: last.after, to: last.before };
        if (!(await files.commit({ by: { kind: "undo" }, entry: "", memory }))) {
          throw new UserError("MEMORY.md was changed at this very moment.", "Look at it, and try again.");
        }
        const [undo] = await files.versions();
        const change = `Change ${last.id} (${spoken(last.time)}, by ${spelledOut(last.by)})`;
        const text = `${change} is taken back. \`nanogate memory undo\` brings it back.`;
        return { text, json: { undone: last.id, change: undo?.id } };
      }),
  );
}

/** All changes, those made by hand since the last time included; the newest first. */
async function changesOf(files: MemoryFiles): Promise<readonly MemoryVersion[]> {
  await files.noticeEdits();
  return files.versions();
}

type Work = (files: MemoryFiles) => Promise<{ readonly text: string; readonly json: unknown }>;

/** A change in numbers. */
function changeOf({ id, time, by, before, after }: MemoryVersion) {
  const diff = lineDiff(before, after);
  const count = (kind: DiffLine["kind"]): number => diff.filter((line) => line.kind === kind).length;
  return { id, time, by, added: count("added"), removed: count("removed") };
}

/** The change of that number, or the last one. */
function found(versions: readonly MemoryVersion[], id: string | undefined): MemoryVersion {
  const version = id === undefined ? versions[0] : versions.find((candidate) => String(candidate.id) === id);
  if (version) return version;
  if (id === undefined)
    throw new NotFound("MEMORY.md has not been changed yet.", "A consolidation or /new changes it.");
  throw new NotFound(`There is no change ${JSON.stringify(id)}.`, "`nanogate memory log` shows all of them.");
}

const spoken = (time: string): string => time.slice(0, 16).replace("T", " ");

const contextLines = 2;
const looks = {
  same: { sign: " ", style: "dim" },
  added: { sign: "+", style: "green" },
  removed: { sign: "-", style: "red" },
} as const;

/** The changed lines, each with a little of what is around it. */
function diffText(terminal: Terminal, diff: readonly DiffLine[]): string[] {
  const isNear = (at: number): boolean =>
    diff.slice(Math.max(0, at - contextLines), at + contextLines + 1).some(({ kind }) => kind !== "same");
  return diff.flatMap(({ kind, text }, at) => {
    if (!isNear(at)) return isNear(at - 1) ? [styled(terminal, "dim", "…")] : [];
    const { sign, style } = looks[kind];
    return [styled(terminal, style, `${sign} ${printable(text)}`)];
  });
}
