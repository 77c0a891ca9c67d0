/** The tool that adds a fact to this chat's own memory, where memory is closed to the file tools because others share it. */
import * as z from "zod/mini";
import type { SessionKey } from "../../message.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

/** Resolves once the fact is in the memory of that chat. */
export type Remember = (session: SessionKey, fact: string) => Promise<void>;

const longestFact = 2000;

export const rememberTool = (remember: Remember): Tool =>
  defineTool({
    name: "remember",
    description: "Add a fact to the long-term memory of this chat. It is shown to you in every later conversation.",
    input: z.object({
      fact: z.string().check(z.maxLength(longestFact), z.describe("One sentence, understandable without its context")),
    }),
    async run({ fact }, { session }) {
      const line = fact.trim().replaceAll(/\s+/g, " ");
      if (line === "") throw new ToolError("The fact is empty.");
      await remember(session, line);
      return `Remembered: ${line}`;
    },
  });
