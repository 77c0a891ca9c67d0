/** Sessions and their memory, in a workspace of its own, with any model. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMemory, type Memory } from "../../src/agent/memory.js";
import { createMemoryFolders } from "../../src/agent/memory-folders.js";
import { createTurn } from "../../src/agent/turn.js";
import { workspaceFence } from "../../src/agent/workspace.js";
import type { ModelMessage, SessionKey } from "../../src/message.js";
import type { Model } from "../../src/providers/provider.js";
import type { DriverName } from "../../src/session/open.js";
import type { Session } from "../../src/session/session.js";
import { call, type Line, scriptedModel, textOf } from "./scripted-model.js";
import { openWorkspace } from "./workspace.js";

export type MemoryHouseOptions = {
  readonly model?: Model;
  readonly window?: number;
  readonly scope?: "workspace" | "chat";
  readonly driver?: DriverName;
};

export function openMemoryHouse(options: MemoryHouseOptions = {}) {
  const house = openWorkspace();
  const { workspace, clock, log } = house;
  const places = { home: join(workspace, "home"), workspace };
  mkdirSync(places.home);
  const sessions = house.open(options.driver ? { driver: options.driver } : {});
  const fence = workspaceFence(places);
  const folders = createMemoryFolders({ ...places, scope: options.scope ?? "workspace", fence, sessions, clock, log });
  const memory: Memory = createMemory({
    sessions,
    model: options.model ?? scriptedModel([]).model,
    clock,
    log,
    filesOf: (key) => folders.of(key),
    window: options.window ?? 10,
  });
  const runTurn = createTurn({
    model: options.model ?? scriptedModel([]).model,
    tools: [],
    sessions,
    clock,
    prompt: async ({ key }) => `Memory: ${await memory.text(key)}`,
    settings: { maxIterations: 10, toolResultMaxChars: 4000, toolCompaction: "view", maxTokens: 1000 },
    store: { viewMessages: options.window ?? 10, toolsUsed: true, failed: "nothing", outOfSteps: "sentence" },
  });
  const path = (name: string): string => join(workspace, "memory", name);
  return {
    ...house,
    sessions,
    memory,
    folders,
    fence,
    home: places.home,
    /** A file of the memory folder; undefined if there is none. */
    read: (name: string): string | undefined => (existsSync(path(name)) ? readFileSync(path(name), "utf8") : undefined),
    write: (name: string, text: string | Buffer): void => {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), text);
    },
    /** Where the changes on their way are kept, of each memory that has any. */
    stateFolders: (): string[] => {
      const root = join(places.home, "state", "memory");
      return readdirSync(root).map((name) => join(root, name));
    },
    /** A turn, and then, in the background, what is due. */
    async say(key: SessionKey, text: string): Promise<string | undefined> {
      const from = { channel: key.split(":")[0] ?? "", chat: key.split(":")[1] ?? "" };
      const { reply, session } = await runTurn({ session: key, from, text, signal: new AbortController().signal });
      memory.consolidateSoon(session, new AbortController().signal);
      return reply;
    },
    /** A session with so many rows: `row 0`, `row 1`, … */
    async filled(key: SessionKey, rows: number): Promise<Session> {
      const session = await sessions.getOrCreate(key);
      addRows(session, rows);
      await sessions.save(session);
      return session;
    },
  };
}

export function addRows(session: Session, count: number): void {
  for (let left = count; left > 0; left--) {
    session.addMessage(session.length % 2 === 0 ? "user" : "assistant", `row ${session.length}`);
  }
}

/** A model that does two things: talk, and consolidate. */
export const talkingModel = (consolidate: Extract<Line, Function>, text = "ok"): Model =>
  scriptedModel([async (request, signal) => (request.mustCall ? consolidate(request, signal) : { text })]).model;

/** What a model answers that is asked to consolidate. */
export const saves = (entry: string, update?: string) => ({
  toolCalls: [call("save_memory", { history_entry: entry, ...(update !== undefined && { memory_update: update }) })],
});

/** The parts of what such a model is asked. */
export function askedIn(messages: readonly ModelMessage[] = []): { memory: string; lines: string[] } {
  const [before = "", after = ""] = textOf(messages[1]).split("\n\n## Conversation to Process\n");
  const memory = before.split("## Current Long-term Memory\n")[1] ?? "";
  return { memory: memory === "(empty)" ? "" : memory, lines: after.split("\n") };
}
