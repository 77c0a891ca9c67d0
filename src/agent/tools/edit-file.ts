/** The tool that replaces a passage of a text file. */
import * as z from "zod/mini";
import type { Fence } from "./fence.js";
import { nearestPassage } from "./nearest-passage.js";
import { decodeText, readBytes, withSeparators } from "./text-lines.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

const editableBytes = 8 * 1024 * 1024;

export const editFileTool = (fence: Fence): Tool =>
  defineTool({
    name: "edit_file",
    description:
      "Replace old_text by new_text in a file of the workspace. old_text must occur exactly, and only once unless " +
      "replace_all is true.",
    input: z.object({
      path: z.string().check(z.describe("The file path to edit")),
      old_text: z.string().check(z.describe("The exact text to find and replace")),
      new_text: z.string().check(z.describe("The text to replace it with")),
      replace_all: z.optional(z.boolean().check(z.describe("Replace every occurrence (default false)"))),
    }),
    async run({ path, old_text: oldText, new_text: newText, replace_all: all = false }, { signal }) {
      if (oldText === "") throw new ToolError("old_text is empty. Give the text to replace, or use write_file.");
      const content = await fence.read(path, async (file) => {
        const bytes = await readBytes(file, editableBytes + 1, signal);
        if (bytes.length > editableBytes) {
          throw new ToolError(
            `${path} has more than ${withSeparators(editableBytes)} bytes. Edit it with exec and sed.`,
          );
        }
        return decodeText(path, bytes);
      });
      const { wanted, replacement } = inLineEndingsOf(content, oldText, newText);
      const pieces = content.split(wanted);
      const count = pieces.length - 1;
      if (count === 0) return notFound(path, content, oldText);
      if (count > 1 && !all) {
        return (
          `Warning: old_text appears ${count} times. Nothing was changed. ` +
          "Add lines around it to make it unique, or set replace_all to true."
        );
      }
      const written = await fence.write(path, pieces.join(replacement));
      return `Successfully edited ${written}${count > 1 ? ` (${count} places)` : ""}`;
    },
  });

/** Models write `\n`; in a file with Windows line endings that has to be found all the same. */
function inLineEndingsOf(content: string, oldText: string, newText: string): { wanted: string; replacement: string } {
  if (content.includes(oldText) || !content.includes("\r\n")) return { wanted: oldText, replacement: newText };
  const windows = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n");
  return { wanted: windows(oldText), replacement: windows(newText) };
}

function notFound(path: string, content: string, oldText: string): string {
  const nearest = nearestPassage(content, oldText);
  if (nearest === undefined) return `Error: old_text not found in ${path}. No similar text found. Read the file first.`;
  const { text, from, to, similarity } = nearest;
  return (
    `Error: old_text not found in ${path}.\n` +
    `The nearest passage (${Math.round(similarity * 100)}% similar) is lines ${from}-${to}:\n${text}`
  );
}
