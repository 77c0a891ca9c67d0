/** Turns on a real session in a workspace of its own, with a scripted model and tools that answer what they are told to. */
import { join } from "node:path";
import type { ToolCompaction } from "../../src/agent/compaction.js";
import type { LoopSettings, TurnEvent } from "../../src/agent/loop.js";
import { createFence } from "../../src/agent/tools/fence.js";
import type { Tool, ToolContext } from "../../src/agent/tools/tool.js";
import { createTurn, type StoreSettings, type TurnInput, type TurnParts } from "../../src/agent/turn.js";
import type { Row } from "../../src/message.js";
import type { Model } from "../../src/providers/provider.js";
import type { Line } from "./scripted-model.js";
import { scriptedModel } from "./scripted-model.js";
import { openWorkspace } from "./workspace.js";

export type HouseOptions = {
  /** What the model says, line by line; or the model itself. */
  readonly lines?: readonly Line[];
  readonly model?: Model;
  readonly tools?: readonly Tool[];
  readonly compaction?: ToolCompaction;
  readonly settings?: Partial<LoopSettings>;
  readonly store?: Partial<StoreSettings>;
  readonly prompt?: TurnParts["prompt"];
  /** Session files that are there already. */
  readonly files?: Readonly<Record<string, string>>;
};

export const key = "cli:direct";
export const from = { channel: "cli", chat: "direct" } as const;

export function openTurns(options: HouseOptions = {}) {
  const house = openWorkspace(options.files);
  const script = scriptedModel(options.lines ?? []);
  const sessions = house.open();
  const parts: TurnParts = {
    model: options.model ?? script.model,
    tools: options.tools ?? [],
    sessions,
    clock: house.clock,
    prompt: options.prompt ?? (async () => "S"),
    settings: {
      maxIterations: 40,
      toolResultMaxChars: 4000,
      toolCompaction: options.compaction ?? "view",
      maxTokens: 1000,
      ...options.settings,
    },
    store: { viewMessages: 100, toolsUsed: true, failed: "nothing", outOfSteps: "sentence", ...options.store },
  };
  const runTurn = createTurn(parts);
  const events: TurnEvent[] = [];
  return {
    ...house,
    sessions,
    requests: script.requests,
    events,
    /** One message, one turn. */
    say: (text: string, more: Partial<TurnInput> = {}) =>
      runTurn({
        session: key,
        from,
        text,
        signal: new AbortController().signal,
        on: (event) => void events.push(event),
        ...more,
      }),
    rows: async (): Promise<readonly Row[]> => (await sessions.getOrCreate(key)).slice(0),
    /** The session file, whole. */
    file: (): string => house.text("cli_direct.jsonl"),
    fence: createFence({ workspace: house.workspace, userHome: house.workspace, forbidden: [join(house.folder)] }),
  };
}

/** A tool that answers with these results, one after the other, and then with the last for ever. */
export function toolSaying(name: string, ...results: readonly string[]) {
  let calls = 0;
  return toolDoing(name, async () => results[Math.min(calls++, results.length - 1)] ?? "");
}

export const toolDoing = (name: string, call: (args: string, context: ToolContext) => Promise<string>): Tool => ({
  spec: { name, description: name, parameters: { type: "object", properties: {} } },
  call,
});
