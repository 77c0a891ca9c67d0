/** A new user's workspace: templates are copied where nothing is yet, and never over anything. And the fence around it. */
import { constants } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { errorCode } from "../util/errors.js";
import { makeFolder } from "../util/folder.js";
import { createFence, type Fence } from "./tools/fence.js";

type Places = { readonly home: string; readonly workspace: string };

/** What belongs to nanogate itself and no tool may touch. */
const ownPlaces = ({ home, workspace }: Places) => ({
  folders: [join(workspace, "sessions"), join(workspace, "cron"), join(home, "cron"), join(home, "state")],
  files: [join(home, "config.json"), join(home, "nanogate.json")],
});

export function workspaceFence(
  places: Places,
  readable: readonly string[] = [],
  barred: readonly string[] = [],
): Fence {
  const { folders, files } = ownPlaces(places);
  return createFence({
    workspace: places.workspace,
    userHome: homedir(),
    forbidden: [...folders, ...files, ...barred],
    readable,
  });
}

/** What comes with the program and is copied; built-in skills are used where they are. */
export async function prepareWorkspace(places: Places, templates: string): Promise<void> {
  const { workspace } = places;
  // A sandbox can hide only what is there, so our own folders come before the first tool.
  const folders = [join(workspace, "memory"), join(workspace, "skills"), ...ownPlaces(places).folders];
  for (const folder of folders) makeFolder(folder);
  for (const folder of ["", "memory"]) {
    for (const entry of await readdir(join(templates, folder), { withFileTypes: true })) {
      if (entry.isFile()) await copyNew(join(templates, folder, entry.name), join(workspace, folder, entry.name));
    }
  }
}

async function copyNew(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
