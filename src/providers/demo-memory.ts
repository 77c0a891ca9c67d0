/** How the demo model remembers: a fact when it is asked to, a conversation when nanogate consolidates it. */
import type { ModelMessage } from "../message.js";
import type { Clock } from "../world.js";
import { fill, quote, report, type Scene, type Step, withoutContext, wordsOf } from "./demo-words.js";

/** With a tool made for it, or by reading the memory file and writing it back with one line more. */
export function remember(fact: string, { done, request }: Scene): Step | undefined {
  const line = `- ${fact.trim().replaceAll(/\s+/g, " ")}`;
  const last = done.at(-1);
  const memoryFile = memoryFileIn(systemWords(request.messages));
  const made = request.tools.find(({ name }) => /remember|memor/i.test(name) && name !== "save_memory");
  if (made)
    return last
      ? { say: last.result.startsWith("Error") ? report(last) : "I will remember that." }
      : { call: made.name, with: fill(made, fact) };
  if (!last) return { call: "read_file", with: { path: memoryFile } };
  if (last.tool !== "read_file")
    return { say: last.result.startsWith("Error") ? report(last) : `I have written it down in ${memoryFile}.` };
  const missing = /^Error.*(?:not found|no such file|does not exist|ENOENT)/i.test(last.result);
  const known = missing ? "# Memory" : unnumbered(last.result);
  // Writing back what was shown only in part would lose the rest.
  if (known === undefined || (!missing && known.startsWith("Error")))
    return { say: `I cannot safely change ${memoryFile}: I was not shown all of it.` };
  if (known.split("\n").includes(line)) return { say: "I know that already." };
  return {
    call: "write_file",
    with: { path: memoryFile, content: `${known.trimEnd()}\n${missing ? "\n" : ""}${line}\n` },
  };
}

/** A file as it is on disk, without the line numbers that some tools show; undefined if some of it is missing. */
function unnumbered(shown: string): string | undefined {
  if (/\(truncated|use offset|more lines|showing lines/i.test(shown)) return undefined;
  const lines = shown.split("\n").filter((line) => !/^\(End of file\b.*\)$/.test(line));
  const numbered = lines.filter((line) => line !== "").every((line) => /^\s*\d+\| ?/.test(line));
  return numbered ? lines.map((line) => line.replace(/^\s*\d+\| ?/, "")).join("\n") : shown;
}

const systemWords = (messages: readonly ModelMessage[]): string =>
  messages
    .filter(({ role }) => role === "system")
    .map(wordsOf)
    .join("\n");

/** As the prompt names it: each chat may have its own. */
const memoryFileIn = (system: string): string => /^- (.+\/MEMORY\.md): /m.exec(system)?.[1] ?? "memory/MEMORY.md";

export function recall(messages: readonly ModelMessage[]): string {
  const system = systemWords(messages);
  const memory = /## Long-term Memory\n([\s\S]*?)(?:\n\n---\n\n|$)/.exec(system)?.[1]?.trim();
  return memory ? `This is in my memory:\n${memory}` : "My memory is still empty. Tell me: remember …";
}

/** What nanobot's consolidation asks for, from the two parts of its prompt. */
export function saveMemory(prompt: string, clock: Clock): Readonly<Record<string, string>> {
  const [before = "", ...after] = prompt.split(/^## Conversation to Process[^\n]*(?:\n|$)/m);
  const memory = (/^## Current Long-term Memory[^\n]*\n([\s\S]*)$/m.exec(before)?.[1] ?? "").trim();
  const lines = [...after.join("\n").matchAll(/^\[(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)[^\]]*\] (\w+)[^:\n]*: (.*)$/gm)];
  const said = lines.filter(([, , , role]) => role === "USER").map(([, , , , words = ""]) => withoutContext(words));
  const newest = lines.at(-1);
  const time = newest ? `${newest[1]} ${newest[2]}` : clock().slice(0, 16).replace("T", " ");
  const known = memory === "(empty)" ? "" : memory;
  const facts = said
    .map((words) => /^(?:please )?remember(?: that|:|,)? +(.+)$/i.exec(words)?.[1])
    .filter((fact) => fact !== undefined)
    .map((fact) => `- ${fact.trim()}`);
  const fresh = [...new Set(facts)].filter((fact) => !known.split("\n").includes(fact));
  const topics = said.map((words) => quote(words, 80)).join(" ");
  return {
    history_entry: `[${time}] ${lines.length} messages (summary by the demo model). The user said: ${topics || "nothing."}`,
    memory_update: [known, ...fresh].filter(Boolean).join("\n"),
  };
}
