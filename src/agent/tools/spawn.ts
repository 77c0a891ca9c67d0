/** The tool that hands a task to a subagent, which works in the background and reports back to the chat. */
import * as z from "zod/mini";
import type { Address, SessionKey } from "../../message.js";
import { firstCharacters } from "../../session/turn-rows.js";
import { defineTool, type Tool } from "./tool.js";

export type SubagentTask = {
  readonly task: string;
  /** What people call it. */
  readonly label: string;
  /** Where the result goes. */
  readonly origin: { readonly session: SessionKey; readonly from: Address };
};

/** Starts the task and returns at once. It is the runner that knows how many may work at the same time. */
export type Spawn = (task: SubagentTask) => Promise<
  | { readonly kind: "started"; readonly id: string }
  /** Nothing was started. */
  | { readonly kind: "full"; readonly running: number; readonly limit: number }
>;

const labelChars = 30;

export const spawnTool = (spawn: Spawn): Tool =>
  defineTool({
    name: "spawn",
    description:
      "Start a subagent that works on a task in the background and reports when it is done. For long or independent " +
      "work. It sees nothing of this conversation, so the task has to say everything.",
    input: z.object({
      task: z.string().check(z.minLength(1), z.describe("The task for the subagent to complete")),
      label: z.optional(z.string().check(z.maxLength(200), z.describe("Short label for the task (for display)"))),
    }),
    async run({ task, label }, { session, from }) {
      const shown = label?.trim() || shortened(task);
      const started = await spawn({ task, label: shown, origin: { session, from } });
      return started.kind === "started"
        ? `Subagent [${shown}] started (id: ${started.id}). I'll notify you when it completes.`
        : `Cannot spawn subagent: concurrency limit reached (${started.running}/${started.limit} running). ` +
            "Wait for one to finish, or do the task yourself.";
    },
  });

function shortened(task: string): string {
  const start = firstCharacters(task, labelChars);
  return start.length === task.length ? task : `${start}...`;
}
