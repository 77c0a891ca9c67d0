/** Skills: folders with a SKILL.md that teach the model how to do something, listed in the prompt or pasted into it. */
import { readdirSync, readFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { FindProgram } from "./programs.js";
import type { Fence } from "./tools/fence.js";

export type SkillParts = {
  /** The workspace's skills are read through it: the model can write there, and a link could lead to any file. */
  readonly fence: Fence;
  /** The folder of skills that come with the program; one of the workspace hides one of the same name. */
  readonly builtIn?: string;
  readonly hasProgram: FindProgram;
  /** Names a skill may ask for. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly disabled?: readonly string[];
};

export type Skill = {
  readonly name: string;
  readonly description: string;
  /** The absolute path of its SKILL.md. */
  readonly path: string;
  /** In every prompt, not only in the list. */
  readonly always: boolean;
  /** What it needs and this machine lacks, as nanobot says it: `CLI: gh`, `ENV: TOKEN`. */
  readonly missing: readonly string[];
  /** Without the front matter. */
  readonly body: string;
};

/** A longer one is no help to a model. */
const mostBytes = 256 * 1024;

/** Those of the workspace first, each group sorted by name, so that the prompt is the same every time. */
export async function loadSkills(parts: SkillParts): Promise<readonly Skill[]> {
  const { fence, builtIn, disabled = [] } = parts;
  const own = join(fence.workspace, "skills");
  const skills = new Map<string, Skill>();
  const add = async (folder: string, read: (path: string) => Promise<string | undefined>): Promise<void> => {
    for (const name of namesIn(folder).sort(byCode)) {
      if (skills.has(name) || disabled.includes(name)) continue;
      const path = join(folder, name, "SKILL.md");
      const text = await read(path);
      if (text !== undefined) skills.set(name, readSkill(name, path, text, parts));
    }
  };
  await add(own, (path) => fence.read(path, readText).catch(() => undefined));
  // Short and our own: read here and now rather than by other threads.
  if (builtIn !== undefined) await add(builtIn, async (path) => readBuiltIn(path));
  return [...skills.values()];
}

/** The bodies of those that are always on, for the prompt's "Active Skills". Empty if there are none. */
export function activeSkills(skills: readonly Skill[]): string {
  return skills
    .filter(({ always, missing }) => always && missing.length === 0)
    .map(({ name, body }) => `### Skill: ${name}\n\n${body}`)
    .join("\n\n---\n\n");
}

/** The list of all, in nanobot's form. Empty if there are none. */
export function skillSummary(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const lines = skills.flatMap(({ name, description, path, missing }) => [
    `  <skill available="${missing.length === 0}">`,
    `    <name>${escaped(name)}</name>`,
    `    <description>${escaped(description)}</description>`,
    `    <location>${path}</location>`,
    ...(missing.length > 0 ? [`    <requires>${escaped(missing.join(", "))}</requires>`] : []),
    "  </skill>",
  ]);
  return ["<skills>", ...lines, "</skills>"].join("\n");
}

function readBuiltIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

async function readText(file: FileHandle): Promise<string | undefined> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(mostBytes + 1), 0, mostBytes + 1, 0);
  return bytesRead > mostBytes ? undefined : buffer.toString("utf8", 0, bytesRead).replaceAll("\r\n", "\n");
}

type Machine = Pick<SkillParts, "hasProgram" | "env">;

function readSkill(name: string, path: string, text: string, { hasProgram, env }: Machine): Skill {
  const { fields, body } = frontMatter(text);
  const metadata = nanobotMetadata(fields.get("metadata") ?? "");
  const requires = isObject(metadata["requires"]) ? metadata["requires"] : {};
  const missing: string[] = [];
  for (const bin of strings(requires["bins"])) if (!hasProgram(bin)) missing.push(`CLI: ${bin}`);
  for (const key of strings(requires["env"])) if (!env[key]) missing.push(`ENV: ${key}`);
  return {
    name,
    description: fields.get("description") || name,
    path,
    always: isTrue(fields.get("always")) || isTrue(metadata["always"]),
    missing,
    body,
  };
}

/** nanobot reads no YAML here: a line is split at its first colon and quotes fall off. */
function frontMatter(text: string): { fields: ReadonlyMap<string, string>; body: string } {
  const end = text.startsWith("---\n") ? text.indexOf("\n---", 3) : -1;
  if (end === -1) return { fields: new Map(), body: text.trim() };
  const lines = text.slice(4, Math.max(4, end)).split("\n");
  const fields = lines
    .filter((line) => line.includes(":"))
    .map((line) => {
      const colon = line.indexOf(":");
      return [
        line.slice(0, colon).trim(),
        line
          .slice(colon + 1)
          .trim()
          .replaceAll(/^["']+|["']+$/g, ""),
      ] as const;
    });
  const after = text.indexOf("\n", end + 4);
  return { fields: new Map(fields), body: after === -1 ? "" : text.slice(after).trim() };
}

function nanobotMetadata(json: string): Readonly<Record<string, unknown>> {
  if (json === "") return {};
  try {
    const all: unknown = JSON.parse(json);
    if (!isObject(all)) return {};
    const own = all["nanobot"] ?? all["openclaw"];
    return isObject(own) ? own : {};
  } catch {
    return {};
  }
}

/** In nanobot even `always: false` means always, being a text that is not empty; nobody who writes it wants that. */
const isTrue = (value: unknown): boolean =>
  value === true ||
  (typeof value === "string" && !["", "false", "no", "0", "off", "null"].includes(value.toLowerCase()));

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const byCode = (one: string, other: string): number => (one < other ? -1 : 1);

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
