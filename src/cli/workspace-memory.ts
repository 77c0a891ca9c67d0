/** The memory a command works on. */
import { createMemoryFolders } from "../agent/memory-folders.js";
import type { MemoryFiles } from "../agent/memory-files.js";
import { ToolError } from "../agent/tools/tool.js";
import { workspaceFence } from "../agent/workspace.js";
import { findHome, makeHome } from "../config/home.js";
import { loadSettings } from "../config/load.js";
import { asDriver, openSessions } from "../session/open.js";
import { UserError } from "../util/errors.js";
import { stderrLog as log, systemClock as clock } from "../world.js";
import type { MemoryOptions } from "./memory.js";

/** Opens the memory that the options name, and lets go of it afterwards. */
export async function withWorkspaceMemory<T>(
  options: MemoryOptions,
  work: (files: MemoryFiles) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(findHome(options.home, process.env), process.env);
  const places = { home: settings.home, workspace: options.workspace ?? settings.workspace };
  const { scope } = settings.memory;
  if (scope === "chat" && options.session === undefined) {
    throw new UserError("Here each chat has a memory of its own.", "Say whose: --session telegram:42");
  }
  makeHome(settings.home);
  const { driver, segmentSize } = settings.sessions;
  // A change that a crash left half done may still have to move a session's cursor.
  const sessions = openSessions({ workspace: places.workspace, driver: asDriver(driver), segmentSize, clock, log });
  const folders = createMemoryFolders({ ...places, scope, fence: workspaceFence(places), sessions, clock, log });
  try {
    return await work(folders.of(options.session ?? ""));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    throw new UserError(error.message, "Put the file itself in place of the link.", { cause: error });
  } finally {
    folders.close();
    await sessions.close();
  }
}
