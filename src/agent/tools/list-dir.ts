/** The tool that lists a folder of the workspace. */
import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import type { Fence, Listing } from "./fence.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

const defaultEntries = 200;
/** So many entries are looked at, whatever is shown of them. */
const mostEntries = 20_000;
/** Folders nobody means when listing a tree. */
const noise = new Set([".git", "node_modules", "__pycache__", ".venv", "venv"]);

export const listDirTool = (fence: Fence): Tool =>
  defineTool({
    name: "list_dir",
    description: "List a folder of the workspace, sorted by name. With recursive, everything below it as well.",
    input: z.object({
      path: z.string().check(z.describe("The folder to list")),
      recursive: z.optional(z.boolean().check(z.describe("Also list what is in its folders (default false)"))),
      max_entries: z.optional(
        z.int().check(z.gte(1), z.lte(5000), z.describe(`Show at most so many (default ${defaultEntries})`)),
      ),
    }),
    async run({ path, recursive = false, max_entries: most = defaultEntries }, { signal }) {
      const lines: string[] = [];
      let complete = true;
      const add = async (folder: string, top: string): Promise<void> => {
        signal.throwIfAborted();
        const listing = await fence.list(folder, mostEntries);
        complete &&= listing.complete;
        for (const entry of listing.entries) {
          if (lines.length >= mostEntries) complete = false;
          if (!complete && lines.length > most) return;
          const name = relative(top, join(listing.path, entry.name));
          const folderLike =
            entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(fence, listing, entry.name)));
          lines.push(`${folderLike ? "📁" : "📄"} ${name}`);
          // Links are shown, not followed: they could lead in a circle.
          if (recursive && entry.isDirectory() && !noise.has(entry.name)) {
            await add(join(listing.path, entry.name), top).catch((error: unknown) => {
              // A folder that is closed to us, or gone by now, is no reason to show nothing.
              if (!(error instanceof ToolError)) throw error;
            });
          }
        }
      };
      await add(path, await fence.resolve(path));
      if (lines.length === 0) return `Directory ${path} is empty`;
      if (lines.length <= most && complete) return lines.join("\n");
      const total = complete ? `${lines.length}` : `more than ${lines.length}`;
      const shown = lines.slice(0, most);
      return `${shown.join("\n")}\n\n(showing the first ${shown.length} of ${total} entries; raise max_entries or list a folder below)`;
    },
  });

async function leadsToFolder(fence: Fence, { path }: Listing, name: string): Promise<boolean> {
  try {
    return (await stat(await fence.resolve(join(path, name)))).isDirectory();
  } catch {
    return false;
  }
}
