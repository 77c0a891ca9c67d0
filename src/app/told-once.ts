/** Remembers across restarts what somebody has been told, so that it is not said at every start. */
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "../util/atomic-write.js";

const remembered = 100;

/** True for the first time only. */
export function createToldOnce(file: string): (text: string) => Promise<boolean> {
  const read = async (): Promise<readonly string[]> => {
    try {
      const found: unknown = JSON.parse(await readFile(file, "utf8"));
      return Array.isArray(found) ? found.map(String) : [];
    } catch {
      return [];
    }
  };
  return async (text) => {
    const told = await read();
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
    if (told.includes(hash)) return false;
    await mkdir(dirname(file), { recursive: true });
    const next = JSON.stringify([...told, hash].slice(-remembered));
    await replaceFile(file, (to) => to.writeFile(`${next}\n`, "utf8"));
    return true;
  };
}
