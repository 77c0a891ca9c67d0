/** The tool that writes a file of the workspace, all or nothing. */
import * as z from "zod/mini";
import type { Fence } from "./fence.js";
import { defineTool, type Tool } from "./tool.js";

export const writeFileTool = (fence: Fence): Tool =>
  defineTool({
    name: "write_file",
    description: "Write content to a file of the workspace, replacing what was there. Creates folders as needed.",
    input: z.object({
      path: z.string().check(z.describe("The file path to write to")),
      content: z.string().check(z.describe("The content to write")),
    }),
    async run({ path, content }) {
      const written = await fence.write(path, content);
      return `Successfully wrote ${Buffer.byteLength(content, "utf8")} bytes to ${written}`;
    },
  });
