/** The list of tools, and how a call finds its tool. */
import type { ToolCall } from "../../message.js";
import { type CronParts, cronTool } from "./cron.js";
import { editFileTool } from "./edit-file.js";
import { type ExecParts, execTool } from "./exec.js";
import type { Fence } from "./fence.js";
import { listDirTool } from "./list-dir.js";
import { messageTool, type Send } from "./message.js";
import type { PublicAddresses } from "./public-address.js";
import { readFileTool } from "./read-file.js";
import { type Remember, rememberTool } from "./remember.js";
import { type Spawn, spawnTool } from "./spawn.js";
import type { Tool, ToolContext } from "./tool.js";
import { webFetchTool, type WebFetchParts } from "./web-fetch.js";
import { type SearchSettings, webSearchTool } from "./web-search.js";
import { writeFileTool } from "./write-file.js";

/** What is absent takes its tool with it: a subagent, for instance, has no `send`, `spawn` and `cron`. */
export type ToolParts = {
  readonly fence: Fence;
  /** What commands and pages may dial. */
  readonly addresses: PublicAddresses;
  readonly exec?: Omit<ExecParts, "fence" | "addresses">;
  readonly search?: SearchSettings;
  readonly fetch?: Omit<WebFetchParts, "addresses">;
  readonly send?: Send;
  readonly spawn?: Spawn;
  readonly remember?: Remember;
  readonly cron?: CronParts;
};

/** In nanobot's order, which is the order the model sees. */
export function createTools({
  fence,
  addresses,
  exec,
  search,
  fetch,
  send,
  spawn,
  remember,
  cron,
}: ToolParts): readonly Tool[] {
  return [
    readFileTool(fence),
    writeFileTool(fence),
    editFileTool(fence),
    listDirTool(fence),
    ...(exec ? [execTool({ ...exec, fence, addresses })] : []),
    ...(search ? [webSearchTool(search)] : []),
    ...(fetch ? [webFetchTool({ ...fetch, addresses })] : []),
    ...(send ? [messageTool(fence, send)] : []),
    ...(spawn ? [spawnTool(spawn)] : []),
    ...(remember ? [rememberTool(remember)] : []),
    ...(cron ? [cronTool(cron)] : []),
  ];
}

export async function runTool(tools: readonly Tool[], call: ToolCall, context: ToolContext): Promise<string> {
  const { name, arguments: text } = call.function;
  const tool = tools.find(({ spec }) => spec.name === name);
  if (tool) return tool.call(text, context);
  return `Error: Tool '${name}' not found. Available: ${tools.map(({ spec }) => spec.name).join(", ")}`;
}
