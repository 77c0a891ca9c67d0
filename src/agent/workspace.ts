/** A new user's workspace: templates are copied where nothing is yet, and never over anything. */
import { constants } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../util/errors.js";

/** What comes with the program and is copied; built-in skills are used where they are. */
export async function prepareWorkspace(workspace: string, templates: string): Promise<void> {
  await mkdir(join(workspace, "memory"), { recursive: true });
  await mkdir(join(workspace, "skills"), { recursive: true });
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
