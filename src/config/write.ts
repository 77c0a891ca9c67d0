/** Changes config.json and nothing in it that was not asked for: what it does not know it keeps. */
import { join } from "node:path";
import { replaceFile } from "../util/atomic-write.js";
import { makeHome } from "./home.js";
import { readJsonFile, type Tree } from "./json-file.js";
import { merge } from "./load.js";

/** Refuses to touch a file it cannot read. Only the owner may read the result: there are keys in it. */
export async function updateConfig(home: string, changes: Tree): Promise<string> {
  const path = join(home, "config.json");
  const next = merge(readJsonFile(path) ?? {}, changes);
  makeHome(home);
  await replaceFile(path, async (file) => {
    await file.chmod(0o600);
    // As nanobot prints it.
    await file.writeFile(JSON.stringify(next, null, 2));
  });
  return path;
}
