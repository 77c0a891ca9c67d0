/** The heart of a turn: ask the model, run the tools it wants, ask again, until it answers or has used up its steps. */
import type { Row, ToolCall } from "../message.js";
import { complete, type Model, ModelError, type Reply, type Usage } from "../providers/provider.js";
import { parsePythonJson, pythonJson } from "../session/python-json.js";
import { firstCharacters } from "../session/turn-rows.js";
import { orAborted } from "../util/abort.js";
import { type ToolCompaction, toolRow } from "./compaction.js";
import { buildRequest } from "./request.js";
import { createThinkFilter, withoutThinking } from "./think.js";
import { tokensOf } from "./tokens.js";
import { runTool } from "./tools/index.js";
import type { Tool, ToolContext } from "./tools/tool.js";

export type LoopParts = {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly settings: LoopSettings;
};

export type LoopSettings = {
  readonly maxIterations: number;
  /** So many characters of a tool result the model is shown. */
  readonly toolResultMaxChars: number;
  readonly toolCompaction: ToolCompaction;
  /** Tokens kept free for the answer. */
  readonly maxTokens: number;
};

/** A turn as the loop sees it. */
export type Turn = {
  readonly system: string;
  readonly past: readonly Row[];
  readonly question: Row;
  readonly context: ToolContext;
  readonly on: (event: TurnEvent) => void;
  /** Told of every finished step before the next begins: the form in which it will be stored, and as the model sees it. */
  readonly keep: (stored: Row, now: Row) => Promise<void> | void;
  /** Told before a tool is run. */
  readonly starting?: (call: ToolCall) => Promise<void> | void;
  /** How far an earlier attempt came that was cut short. */
  readonly resume?: Resume;
};

export type Resume = {
  readonly rows: readonly { readonly now: Row; readonly stored: Row }[];
  /** Ids of calls that were started and have no row: nobody knows how far they came. */
  readonly started: ReadonlySet<string>;
};

/** What can be shown of a turn while it runs. */
export type TurnEvent =
  /** A piece of the answer. */
  | { readonly kind: "text"; readonly text: string }
  /** The pieces so far are void: the model was asked again, or went on to use tools. */
  | { readonly kind: "restart" }
  /** What the model says before it uses tools. */
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "tool-call"; readonly call: ToolCall; readonly hint: string }
  | { readonly kind: "tool-result"; readonly call: ToolCall; readonly result: string };

export type LoopEnd = {
  /** `answered`: `text` is the answer, or null if the model had nothing to say. */
  readonly end: "answered" | "out-of-steps";
  readonly text: string | null;
  /** The turn's rows as they are to be stored, without the question. */
  readonly rows: readonly Row[];
  readonly toolsUsed: readonly string[];
  readonly usage: Usage;
};

export async function runLoop({ model, tools, settings }: LoopParts, turn: Turn): Promise<LoopEnd> {
  const shown: Row[] = [turn.question];
  const stored: Row[] = [];
  let usage: Usage = { input: 0, output: 0, cached: 0 };
  let lastText: string | null = null;
  const add = (form: Row, now: Row): void => {
    shown.push(now);
    stored.push(form);
    if (now["role"] === "assistant") lastText = withoutThinking(now["content"] as string | null) ?? lastText;
  };
  const keep = async (form: Row, now: Row): Promise<void> => {
    await turn.keep(form, now);
    add(form, now);
  };
  const ask = createAsk({ model, tools, settings }, turn);
  const done = (end: LoopEnd["end"], text: string | null): LoopEnd => ({
    end,
    text,
    rows: stored,
    toolsUsed: stored.flatMap(({ role, name }) => (role === "tool" ? [String(name)] : [])),
    usage,
  });
  const useTools = async (calls: readonly ToolCall[], started?: ReadonlySet<string>): Promise<void> => {
    for (const call of calls) {
      turn.on({ kind: "tool-call", call, hint: toolHint(call) });
      const result = (started?.has(call.id) ? interrupted : await toolResult(tools, call, turn)).toWellFormed();
      const cut = truncated(result, settings.toolResultMaxChars);
      const form = toolRow({ id: call.id, name: call.function.name }, result, cut, settings.toolCompaction);
      await keep(form.stored, form.now);
      turn.on({ kind: "tool-result", call, result: cut });
    }
  };

  for (const { now, stored: form } of turn.resume?.rows ?? []) add(form, now);
  const last = shown.at(-1);
  if (last?.["role"] === "assistant" && last["tool_calls"] === undefined) return done("answered", lastText);
  // Only these: a model may give the calls it makes from now on the same ids.
  await useTools(unanswered(shown), turn.resume?.started);

  while (shown.filter(({ role }) => role === "assistant").length < settings.maxIterations) {
    const reply = asPythonStores(await ask(shown));
    usage = added(usage, reply.usage);
    const text = withoutThinking(reply.text);
    if (reply.toolCalls.length === 0) {
      const row = assistantRow(reply, text);
      if (text !== null) await keep(row, row);
      return done("answered", text);
    }
    const row = assistantRow(reply, reply.text);
    await keep(row, row);
    turn.on({ kind: "restart" });
    if (text !== null) turn.on({ kind: "progress", text });
    await useTools(reply.toolCalls);
  }
  return done("out-of-steps", lastText);
}

/** The result of a tool that was running when the process died: it is never run a second time behind one's back. */
const interrupted = "Error: Task interrupted before this tool finished.";

/** Does a tool's row say that nobody knows how far the tool came? */
export const isInterrupted = ({ content }: Row): boolean => content === interrupted;

async function toolResult(tools: readonly Tool[], call: ToolCall, turn: Turn): Promise<string> {
  await turn.starting?.(call);
  return orAborted(runTool(tools, call, turn.context), turn.context.signal);
}

/** The calls of the last assistant row that no tool row has answered yet. */
function unanswered(rows: readonly Row[]): readonly ToolCall[] {
  const at = rows.findLastIndex(({ role }) => role === "assistant");
  const calls = (rows[at]?.["tool_calls"] ?? []) as readonly ToolCall[];
  const answered = new Set(rows.slice(at + 1).map((row) => row["tool_call_id"]));
  return calls.filter(({ id }) => !answered.has(id));
}

/**
 * One call of the model. If it finds the request too long, the request shrinks until it does not; what is too long was
 * learnt then, and the rest of the turn keeps to it.
 */
function createAsk({ model, tools, settings }: LoopParts, turn: Turn): (shown: readonly Row[]) => Promise<Reply> {
  const { signal } = turn.context;
  const specs = tools.map(({ spec }) => spec);
  const overhead = Math.ceil(JSON.stringify(specs).length / 3) + Math.min(settings.maxTokens, model.contextTokens / 2);
  let limit = Math.max(leastRequest, Math.floor(model.contextTokens - overhead));
  let filter = createThinkFilter(() => {});
  const begin = (): void => {
    filter = createThinkFilter((text) => turn.on({ kind: "text", text }));
  };
  const restart = (): void => {
    begin();
    turn.on({ kind: "restart" });
  };

  return async (shown) => {
    signal.throwIfAborted();
    begin();
    for (;;) {
      const messages = buildRequest({ system: turn.system, past: turn.past, turn: shown, limit });
      try {
        const events = model.stream({ messages, tools: specs }, signal);
        const reply = await orAborted(
          complete(events, (text) => filter.push(text), restart),
          signal,
        );
        filter.end();
        return reply;
      } catch (error) {
        const size = tokensOf(messages);
        if (!(error instanceof ModelError) || error.kind !== "too-long" || size <= leastRequest) throw error;
        restart();
        limit = Math.max(leastRequest, Math.floor(Math.min(limit, size) / 2));
      }
    }
  };
}

/** Below so many tokens there is nothing left to cut. */
const leastRequest = 256;

function truncated(text: string, max: number): string {
  const head = firstCharacters(text, max);
  return head.length === text.length ? text : `${head}\n\n[truncated]`;
}

/** nanobot's order: role, content, tool_calls, reasoning_content. */
function assistantRow({ toolCalls, reasoning }: Reply, content: string | null): Row {
  return {
    role: "assistant",
    content,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
  };
}

/**
 * nanobot reads a call's arguments and prints them anew; so do we, that both store the same text. Half a character,
 * which a model can write and no file can hold, becomes a mark.
 */
const asPythonStores = (reply: Reply): Reply => ({
  ...reply,
  text: reply.text?.toWellFormed() ?? null,
  ...(reply.reasoning !== undefined && { reasoning: reply.reasoning.toWellFormed() }),
  toolCalls: reply.toolCalls.map(({ id, type, function: { name, arguments: text } }) => ({
    id: id.toWellFormed(),
    type,
    function: { name: name.toWellFormed(), arguments: pythonArguments(text) },
  })),
});

function pythonArguments(text: string): string {
  try {
    return pythonJson(parsePythonJson(text.trim() === "" ? "{}" : text)).toWellFormed();
  } catch {
    return text.toWellFormed(); // the tool will tell the model that this is no JSON
  }
}

const added = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cached: a.cached + b.cached,
});

const hintChars = 40;

/** A call in a few words: its name and, if it is a text, its first argument. */
export function toolHint({ function: { name, arguments: text } }: ToolCall): string {
  const [first] = Object.values(argumentsOf(text));
  if (typeof first !== "string") return name;
  const head = firstCharacters(first, hintChars);
  return `${name}("${head}${head.length < first.length ? "…" : ""}")`;
}

function argumentsOf(text: string): Row {
  try {
    const value: unknown = JSON.parse(text);
    const object: unknown = Array.isArray(value) ? value[0] : value;
    return typeof object === "object" && object !== null ? (object as Row) : {};
  } catch {
    return {};
  }
}
