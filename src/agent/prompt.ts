/**
 * What stands before the conversation: who the model is, the owner's files, memory and skills. Nothing in it changes
 * from turn to turn by itself, so that prompt caches hit; the time and the chat come with the user's message.
 */
import { arch, platform } from "node:os";
import type { Address, Part } from "../message.js";
import { runtimeContextTag } from "../session/turn-rows.js";

export type PromptParts = {
  readonly workspace: string;
  /** One of the owner's files; undefined if there is none that may be shown. */
  readonly read: (name: string) => Promise<string | undefined>;
  /** The long-term memory of this chat; empty if there is none. */
  readonly memory: string;
  /** `shared`: files in the workspace. `own`: of this chat alone, and reached by the remember tool only. */
  readonly memoryIs: "shared" | "own";
  /** What skills.ts found: bodies that are always shown, and the list of all. */
  readonly skills: { readonly always: string; readonly summary: string };
};

/** The owner's files that every prompt carries, in this order. */
const ownersFiles = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md"];

export async function systemPrompt(parts: PromptParts): Promise<string> {
  const { read, memory, skills } = parts;
  const files = await Promise.all(
    ownersFiles.map(async (name) => {
      const text = await read(name);
      return text === undefined ? [] : [`## ${name}\n\n${text}`];
    }),
  );
  const sections = [
    identity(parts),
    files.flat().join("\n\n"),
    memory === "" ? "" : `# Memory\n\n## Long-term Memory\n${memory}`,
    skills.always === "" ? "" : `# Active Skills\n\n${skills.always}`,
    skills.summary === "" ? "" : `# Skills\n\n${skillsIntroduction}\n\n${skills.summary}`,
  ];
  return sections.filter((section) => section !== "").join("\n\n---\n\n");
}

const systems: Readonly<Record<string, string>> = { linux: "Linux", darwin: "macOS", win32: "Windows" };

/** What lies in the workspace, and how memory is reached. */
const places: Readonly<Record<PromptParts["memoryIs"], string>> = {
  shared: `- memory/MEMORY.md: facts that last, always shown to you. Write there what should be remembered.
- memory/HISTORY.md: a log of the past, entries starting with [YYYY-MM-DD HH:MM]. Search it when you need to.`,
  own: `- This chat has a memory of its own, always shown to you. Use the remember tool to add to it; the folder memory/ is closed.`,
};

const identity = ({ workspace, memoryIs }: PromptParts): string => `# nanogate

You are nanogate, a helpful assistant that people talk to in their chats.

## Runtime
${systems[platform()] ?? platform()} ${arch()}, Node ${process.versions.node}

## Workspace
${workspace}
${places[memoryIs]}
- skills/<name>/SKILL.md: how to do particular things.

## Guidelines
- Before using tools say briefly what you will do; never claim a result you have not seen.
- Read a file before you change it, and after writing read it again if it has to be right.
- When a tool fails, think about the error before you try another way.
- If a request is ambiguous, ask.
- Answer with plain text; use the message tool only to write to another chat or to send files.`;

const skillsIntroduction = `These skills extend what you can do. To use one, read its SKILL.md with read_file.
Skills with available="false" lack something; you can try to install it first.`;

/** What the model is told of time and place, in front of the user's words; never stored. */
export function runtimeContext(now: string, from: Address): string {
  return `${runtimeContextTag}\nCurrent Time: ${spokenTime(now)}\nChannel: ${from.channel}\nChat ID: ${from.chat}`;
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** `2026-02-24 16:24 (Tuesday)` of a local ISO time. */
function spokenTime(now: string): string {
  const [year = 0, month = 1, day = 1] = now.slice(0, 10).split("-").map(Number);
  return `${now.slice(0, 16).replace("T", " ")} (${weekdays[new Date(Date.UTC(year, month - 1, day)).getUTCDay()]})`;
}

/** The user's message as the model gets it: pictures first, the context in front of the words. */
export function userContent(context: string, text: string, images: readonly Part[]): string | readonly Part[] {
  if (images.length === 0) return `${context}\n\n${text}`;
  return [{ type: "text", text: context }, ...images, { type: "text", text }];
}
