/** A build is made beside the one in use and takes its place when it is complete: somebody may be running from there. */
import { accessSync, renameSync, rmSync } from "node:fs";

/** Where the new version of a folder is made. */
export const besides = (folder) => `${folder}.new`;

export function putInPlace(folder) {
  accessSync(besides(folder)); // nothing is taken away for nothing
  const old = `${folder}.old`;
  rmSync(old, { recursive: true, force: true });
  try {
    renameSync(folder, old);
  } catch (error) {
    if (error.code !== "ENOENT") throw error; // the first build of all
  }
  renameSync(besides(folder), folder);
  rmSync(old, { recursive: true, force: true });
}
