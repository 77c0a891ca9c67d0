/** A workspace with tools around it: what the tests of tools have in common. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { createFence, type Fence } from "../../../src/agent/tools/fence.js";
import type { Tool, ToolContext } from "../../../src/agent/tools/tool.js";

export type Bench = {
  readonly home: string;
  readonly workspace: string;
  readonly fence: Fence;
  /** The absolute path of a name in the workspace. */
  at(name: string): string;
  put(name: string, content: string | Buffer): string;
};

/** The layout of a real home: a workspace with sessions in it, and configuration beside it. */
export function openBench(): Bench {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "nanogate-tools-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const workspace = join(home, "workspace");
  const put = (name: string, content: string | Buffer): string => {
    const path = join(workspace, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  put("sessions/telegram_42.jsonl", "the secret of another chat\n");
  writeFileSync(join(home, "config.json"), '{"apiKey":"the secret key"}');
  const fence = createFence({
    workspace,
    userHome: home,
    forbidden: [join(workspace, "sessions"), join(home, "config.json"), join(home, "nanogate.json")],
  });
  return { home, workspace, fence, put, at: (name) => join(workspace, name) };
}

export const contextOf = (more: Partial<ToolContext> = {}): ToolContext => ({
  session: "telegram:1",
  from: { channel: "telegram", chat: "1" },
  signal: new AbortController().signal,
  ...more,
});

/** Calls a tool as the loop does. */
export const call = (tool: Tool, input: object, more?: Partial<ToolContext>): Promise<string> =>
  tool.call(JSON.stringify(input), contextOf(more));
