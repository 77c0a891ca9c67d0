/** Where the claude command keeps a conversation, and how one is removed: by a checked id, in one folder, nowhere else. */
import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "../agent/tools/fence.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isSessionId = (id: string): boolean => uuid.test(id);

export type ClaudePlaces = {
  readonly configDir: string;
  /** Where the command works: its conversations lie in a folder named after it. */
  readonly folder: string;
};

/** `/home/ann/.nanogate/workspace/claude` as `-home-ann--nanogate-workspace-claude`. */
export const projectName = (folder: string): string => folder.replaceAll(/[^a-zA-Z0-9]/g, "-");

/** Removes the conversation's file and its folder of checkpoints. What is not there is no error. */
export async function removeSession(id: string, { configDir, folder }: ClaudePlaces): Promise<void> {
  if (!isSessionId(id)) throw new Error(`${JSON.stringify(id)} is not the id of a conversation`);
  const root = await realpath(join(configDir, "projects")).catch(() => undefined);
  if (root === undefined) return;
  const place = await realpath(join(root, projectName(await realpath(folder).catch(() => folder)))).catch(
    () => undefined,
  );
  if (place === undefined) return;
  if (place === root || !isInside(root, place)) throw new Error(`${place} is not inside ${root}`);
  // A link is removed, never followed.
  await rm(join(place, `${id}.jsonl`), { force: true });
  await rm(join(place, id), { recursive: true, force: true });
}
