/** Where memory lies: one folder for the workspace, as in nanobot, or one for each chat. */
import { createHash } from "node:crypto";
import { join, relative } from "node:path";
import type { SessionKey } from "../message.js";
import { readableStem } from "../session/key.js";
import type { SessionManager } from "../session/manager.js";
import type { Clock, Log } from "../world.js";
import { createMemoryFiles, type MemoryFiles } from "./memory-files.js";
import type { Fence } from "./tools/fence.js";

export type MemoryFoldersParts = {
  readonly home: string;
  readonly workspace: string;
  readonly scope: "workspace" | "chat";
  readonly fence: Fence;
  readonly sessions: SessionManager;
  readonly clock: Clock;
  readonly log: Log;
};

export function createMemoryFolders({ home, workspace, scope, fence, sessions, clock, log }: MemoryFoldersParts) {
  const open = new Map<string, MemoryFiles>();

  const moveCursor = async (key: SessionKey, cursor: number): Promise<void> => {
    const session = await sessions.getOrCreate(key);
    // After somebody's /new the rows are gone; told twice, the cursor is there already.
    if (cursor > session.length || cursor <= session.lastConsolidated) return;
    session.lastConsolidated = cursor;
    await sessions.save(session);
  };

  const filesOf = (key: SessionKey): MemoryFiles => {
    const name = scope === "workspace" ? "memory" : join("memory", "chats", chatFolder(key));
    const folder = join(workspace, name);
    const state = join(home, "state", "memory", digest(relative(home, folder)).slice(0, 16));
    const files = open.get(folder) ?? createMemoryFiles({ folder, state, fence, clock, log, moveCursor });
    open.set(folder, files);
    return files;
  };

  return {
    /** The files that hold a session's memory. */
    of: filesOf,
    /** Adds a fact to a session's memory, as a change that can be taken back. */
    remember: async (key: SessionKey, fact: string): Promise<void> => {
      const files = filesOf(key);
      for (let tries = 0; tries < maxTries; tries++) {
        const from = await files.memory();
        const to = `${from.trimEnd()}${from.trim() === "" ? "" : "\n"}- ${fact}\n`;
        // It takes care of no rows: the cursor stays where it is.
        if (await files.commit({ by: { kind: "session", key, cursor: 0 }, entry: "", memory: { from, to } })) return;
      }
      throw new Error("the memory was changed by others each time; try again");
    },
    close: (): void => {
      for (const files of open.values()) files.close();
    },
  };
}

const maxTries = 5;

/** Readable, and never the folder of another chat. */
const chatFolder = (key: SessionKey): string => `${readableStem(key).slice(0, 80)}~${digest(key).slice(0, 8)}`;

const digest = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");
