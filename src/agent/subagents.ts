/** Tasks that run in the background for a chat and report back to it when they are done. */
import { randomUUID } from "node:crypto";
import type { Clock, Log } from "../world.js";
import { reasonOf } from "../util/errors.js";
import { type LoopParts, runLoop } from "./loop.js";
import { runtimeContext } from "./prompt.js";
import type { Spawn, SubagentTask } from "./tools/spawn.js";

export type SubagentParts = LoopParts & {
  /** What it is told about itself, as things stand when it begins. */
  readonly system: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
  /** How many may run at the same time. */
  readonly limit: number;
  /** The program ends: all of them stop. */
  readonly signal: AbortSignal;
  /** Somebody else who does the task, in one go; absent, or undefined for this chat: the model with its tools. */
  readonly once?: (task: SubagentTask) => ((signal: AbortSignal) => Promise<string>) | undefined;
  /** Hands the result to the chat it came from, as a message to be told in its own words. */
  readonly report: (origin: SubagentTask["origin"], text: string) => Promise<void>;
};

export type Subagents = {
  readonly spawn: Spawn;
  /** Stops those of a chat; how many there were. */
  stop(session: string): number;
  idle(): Promise<void>;
};

export function createSubagents(parts: SubagentParts): Subagents {
  const running = new Map<string, { session: string; abort: AbortController; done: Promise<void> }>();

  const withTools = async ({ task, origin }: SubagentTask, signal: AbortSignal): Promise<string> => {
    const { text } = await runLoop(parts, {
      system: await parts.system(),
      past: [],
      question: { role: "user", content: `${runtimeContext(parts.clock(), origin.from)}\n\n${task}` },
      context: { session: origin.session, from: origin.from, signal },
      on: () => {},
      keep: () => {},
    });
    return text ?? "Task completed but no final response was generated.";
  };

  const work = async (given: SubagentTask, signal: AbortSignal): Promise<void> => {
    const { task, label, origin } = given;
    let outcome = "completed successfully";
    let result: string;
    try {
      const once = parts.once?.(given);
      result = await (once ? once(signal) : withTools(given, signal));
    } catch (error) {
      if (signal.aborted) return;
      outcome = "failed";
      result = `Error: ${reasonOf(error)}`;
    }
    await parts.report(origin, announcement(label, outcome, task, result));
  };

  return {
    async spawn(task) {
      if (running.size >= parts.limit) return { kind: "full", running: running.size, limit: parts.limit };
      const id = randomUUID().slice(0, 8);
      const abort = new AbortController();
      const done = work(task, AbortSignal.any([abort.signal, parts.signal]))
        .catch((error: unknown) => parts.log.warn(`subagent ${id}: its report was lost: ${reasonOf(error)}`))
        .finally(() => running.delete(id));
      running.set(id, { session: task.origin.session, abort, done });
      return { kind: "started", id };
    },
    stop(session) {
      const own = [...running.values()].filter((task) => task.session === session);
      for (const { abort } of own) abort.abort();
      return own.length;
    },
    async idle() {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

const announcement = (label: string, outcome: string, task: string, result: string): string =>
  [
    `[Subagent '${label}' ${outcome}]`,
    `Task: ${task}`,
    `Result:\n${result}`,
    'Summarize this naturally for the user. Keep it brief (1-2 sentences). Do not mention technical details like "subagent" or task IDs.',
  ].join("\n\n");
