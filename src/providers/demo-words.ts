/** What the demo model hears, and the words it has for what a tool did. */
import type { ModelMessage } from "../message.js";
import type { Clock } from "../world.js";
import type { ModelRequest, ToolSpec } from "./provider.js";

export type Step =
  | { readonly say: string }
  | { readonly call: string; readonly with: Readonly<Record<string, unknown>> };
/** What has been done since the user spoke. */
export type Done = { readonly tool: string; readonly input: string; readonly result: string };

export type Scene = {
  readonly text: string;
  readonly done: readonly Done[];
  readonly request: ModelRequest;
  readonly clock: Clock;
};

export function textOf(message: ModelMessage | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("\n");
}

/** What somebody said, without what nanobot put around it. */
export const wordsOf = (message: ModelMessage | undefined): string => withoutContext(textOf(message));

/** nanobot tells the time in a block before the user's words, or behind them; an editor, which file is open. */
export function withoutContext(text: string): string {
  return text
    .replace(/^\s*\[Runtime Context[^\]]*\]\n(?:[\s\S]*?\n\[\/Runtime Context\]\n*|[\s\S]*?(?:\n\n|$))/, "")
    .replace(/\n\n\[Runtime Context[^\]]*\]\n[\s\S]*$/, "")
    .replace(/^\[The file open in the editor: .*\]\n\n/, "")
    .trim();
}

/** What a job by the clock says is to be done, without the lines around it; undefined if it was a person who spoke. */
export function scheduledTask(text: string): string | undefined {
  const [, task] = /^\[Scheduled Task\][\s\S]*?\nScheduled instruction: ([\s\S]*)$/.exec(text) ?? [];
  return task?.replace(/(?:\n\((?:This run is late|If there is nothing worth telling)[^\n]*)+$/, "").trim();
}

export function report({ tool, input, result }: Done): string {
  const shown = result.length > 1500 ? `${result.slice(0, 1500)}\n… (${result.length - 1500} more characters)` : result;
  if (result.startsWith("Error")) return `That did not work. The tool ${tool} says:\n${shown}`;
  if (tool === "list_dir") return `These are the files in ${argument(input, "path") || "."}:\n${shown}`;
  if (tool === "read_file") return `${argument(input, "path")} says:\n${shown}`;
  if (tool === "exec") return `I ran \`${argument(input, "command")}\`:\n${shown}`;
  if (tool === "cron") return `Done: I will remind you. (${shown})`;
  return `The tool ${tool} says:\n${shown}`;
}

function argument(input: string, name: string): string {
  try {
    const value = (JSON.parse(input) as Readonly<Record<string, unknown>>)[name];
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}

/** Arguments that satisfy a tool's schema: the text where text is wanted, the first of the choices, the least number. */
export function fill({ parameters }: ToolSpec, text: string): Readonly<Record<string, unknown>> {
  const { properties, required } = parameters as { properties?: Record<string, Schema>; required?: readonly string[] };
  const wanted = required?.length ? required : Object.keys(properties ?? {}).slice(0, 1);
  return Object.fromEntries(wanted.map((name) => [name, sample(properties?.[name] ?? {}, text)]));
}

type Schema = { readonly type?: unknown; readonly enum?: readonly unknown[]; readonly minimum?: number };

function sample(schema: Schema, text: string): unknown {
  if (schema.enum?.length) return schema.enum[0];
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return [];
  return schema.type === "object" ? {} : text;
}

export const quote = (text: string, max = 120): string => `“${text.length > max ? `${text.slice(0, max)}…` : text}”`;
