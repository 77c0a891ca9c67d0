/** Where the package lies, from source, from a build, or from a bundle. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type PackageInfo = { readonly root: string; readonly version: string };

/** Looks for nanogate's own package.json, upwards from this file. */
export function findPackage(): PackageInfo {
  for (let root = dirname(fileURLToPath(import.meta.url)); ; root = dirname(root)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, string>;
      if (name === "nanogate" && version !== undefined) return { root, version };
    } catch {
      // Not here.
    }
    if (dirname(root) === root) throw new Error("nanogate's package.json is missing; install the package again.");
  }
}
