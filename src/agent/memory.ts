/**
 * Consolidation: once the reply is out, what is old is summarised into MEMORY.md and HISTORY.md and the session's cursor
 * moves on. The log itself never changes. A failure changes nothing; after three the rows are archived as they are, so
 * that nothing is ever only in a prompt.
 */
import type { Row, SessionKey } from "../message.js";
import { complete, type Model, type ToolSpec } from "../providers/provider.js";
import type { SessionManager } from "../session/manager.js";
import { parsePythonJson, pythonJson } from "../session/python-json.js";
import { pythonRepr } from "../session/python-repr.js";
import type { Session } from "../session/session.js";
import { reasonOf } from "../util/errors.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import type { Clock, Log } from "../world.js";
import type { MemoryFiles } from "./memory-files.js";
import { cutText, tokensOfText } from "./tokens.js";

export type MemoryParts = {
  readonly sessions: SessionManager;
  readonly model: Model;
  readonly clock: Clock;
  readonly log: Log;
  /** The files that hold a session's memory: one folder for all, or one per chat. */
  readonly filesOf: (session: SessionKey) => MemoryFiles;
  /** Consolidation starts at so many unconsolidated rows and leaves half of them. */
  readonly window: number;
};

export type Memory = ReturnType<typeof createMemory>;

/** How often a model may fail on the same rows before they are archived raw. */
const patience = 3;
/** How often it is asked anew because somebody has edited MEMORY.md meanwhile. */
const conflicts = 3;

export function createMemory({ sessions, model, clock, log, filesOf, window }: MemoryParts) {
  const perSession = createKeyedMutex();
  const perMemory = createKeyedMutex();
  const failures = new Map<SessionKey, number>();
  const running = new Set<Promise<unknown>>();

  /** Rows `from` up to `to` into memory; true once they are. One at a time for each MEMORY.md. */
  const consolidateRows = (session: Session, to: number, signal: AbortSignal): Promise<boolean> => {
    const files = filesOf(session.key);
    return perMemory.run(files.folder, async () => {
      while (session.lastConsolidated < to) {
        const from = session.lastConsolidated;
        const chunk = fitting(session.slice(from, to), Math.floor(model.contextTokens / 3));
        await consolidateChunk(session.key, files, chunk.lines, from + chunk.count, signal);
      }
      return true;
    });
  };

  const consolidateChunk = async (
    key: SessionKey,
    files: MemoryFiles,
    lines: readonly string[],
    cursor: number,
    signal: AbortSignal,
  ): Promise<void> => {
    for (let attempt = 0; attempt <= conflicts; attempt++) {
      const basedOn = await files.memory();
      const saved = lines.length === 0 ? { entry: "" } : await askForSummary(model, basedOn, lines, signal);
      if (await files.commit({ session: key, cursor, basedOn, ...saved })) return;
    }
    throw new Error("MEMORY.md was edited each time while it was being summarised");
  };

  const archiveRaw = (session: Session, to: number): Promise<void> => {
    const files = filesOf(session.key);
    return perMemory.run(files.folder, async () => {
      const rows = session.slice(session.lastConsolidated, to);
      const entry = `[${clock().slice(0, 16).replace("T", " ")}] [RAW] ${rows.length} messages\n${rows.flatMap(rowLine).join("\n")}`;
      for (let done = false; !done;) {
        done = await files.commit({ session: session.key, cursor: to, basedOn: await files.memory(), entry });
      }
    });
  };

  /** Everything up to `to`; with a failure counted, and the third one answered by archiving the rows as they are. */
  const consolidate = async (
    session: Session,
    to: number,
    signal: AbortSignal,
  ): Promise<"done" | "failed" | "archived"> => {
    try {
      await consolidateRows(session, to, signal);
      failures.delete(session.key);
      return "done";
    } catch (error) {
      if (signal.aborted) return "failed";
      const count = (failures.get(session.key) ?? 0) + 1;
      failures.set(session.key, count);
      log.warn(`memory of ${session.key}: consolidation failed (${count} of ${patience}): ${reasonOf(error)}`);
      if (count < patience) return "failed";
      await archiveRaw(session, to);
      failures.delete(session.key);
      return "archived";
    }
  };

  return {
    /** What the model is shown in every prompt. */
    text: (key: SessionKey): Promise<string> => filesOf(key).memory(),

    /** Brings the rows before `to` into memory, now. */
    consolidate: (session: Session, to: number, signal: AbortSignal) =>
      perSession.run(session.key, () => consolidate(session, to, signal)),

    /** Starts a consolidation in the background if there is enough to do and none is running. */
    consolidateSoon(session: Session, signal: AbortSignal): void {
      const open = session.length - session.lastConsolidated;
      const to = consolidationEnd(session.length, session.lastConsolidated, window);
      if (open < window || to === undefined || perSession.isBusy(session.key)) return;
      const work = perSession.run(session.key, () => consolidate(session, to, signal));
      running.add(work);
      const done = (): void => void running.delete(work);
      work.then(done, done);
    },

    /**
     * `/new`: everything not yet consolidated goes to memory, then the session is emptied. What cannot be summarised in
     * time is archived as it is; either way nothing is lost.
     */
    startAnew(key: SessionKey, signal: AbortSignal): Promise<"done" | "archived"> {
      return perSession.run(key, async () => {
        const session = await sessions.getOrCreate(key);
        const to = session.length;
        let outcome: "done" | "archived" = "done";
        if (session.lastConsolidated < to) {
          try {
            await consolidateRows(session, to, signal);
          } catch (error) {
            log.warn(`memory of ${key}: /new could not summarise: ${reasonOf(error)}`);
            await archiveRaw(session, to);
            outcome = "archived";
          }
        }
        session.clear();
        await sessions.save(session);
        sessions.invalidate(key);
        return outcome;
      });
    },

    /** Resolves when no consolidation is running. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

/** Rows before this one are due: all but the newest half of the window. Undefined if there are none. */
export function consolidationEnd(length: number, cursor: number, window: number): number | undefined {
  const keep = Math.floor(window / 2);
  const end = length - keep;
  return keep > 0 && end > cursor ? end : undefined;
}

/** As many rows from the beginning as a model can read at once, at least one. */
function fitting(rows: readonly Row[], tokens: number): { lines: string[]; count: number } {
  const lines: string[] = [];
  let left = tokens;
  let count = 0;
  for (const row of rows) {
    const line = rowLine(row).map((text) => cutText(text, tokens));
    left -= line.reduce((sum, text) => sum + tokensOfText(text), 0);
    if (left < 0 && count > 0) break;
    lines.push(...line);
    count++;
  }
  return { lines, count };
}

/** A row as nanobot shows it to the model that summarises; a row without content says nothing. */
export function rowLine(row: Row): string[] {
  const { role, content, timestamp, tools_used: used } = row;
  if (content === undefined || content === null || content === "" || (Array.isArray(content) && content.length === 0))
    return [];
  const time = typeof timestamp === "string" && timestamp !== "" ? timestamp.slice(0, 16) : "?";
  const tools = Array.isArray(used) && used.length > 0 ? ` [tools: ${used.join(", ")}]` : "";
  const text = typeof content === "string" ? content : pythonRepr(content);
  return [`[${time}] ${String(role).toUpperCase()}${tools}: ${text}`];
}

const saveMemory: ToolSpec = {
  name: "save_memory",
  description: "Saves the result of the consolidation.",
  parameters: {
    type: "object",
    properties: {
      history_entry: {
        type: "string",
        description:
          "A paragraph on what happened: events, decisions, topics. Starts with [YYYY-MM-DD HH:MM]. Detailed enough to be found by searching.",
      },
      memory_update: {
        type: "string",
        description:
          "The whole long-term memory as markdown, with everything that was in it and still holds, plus what is new. Unchanged if nothing is new.",
      },
    },
    required: ["history_entry", "memory_update"],
  },
};

async function askForSummary(
  model: Model,
  memory: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<{ entry: string; memory?: string }> {
  const question =
    "Summarise this conversation for later and call the save_memory tool with the result.\n\n" +
    `## Current Long-term Memory\n${memory || "(empty)"}\n\n## Conversation to Process\n${lines.join("\n")}`;
  const request = {
    messages: [
      { role: "system", content: "You keep an assistant's memory. Answer only by calling the save_memory tool." },
      { role: "user", content: question },
    ] as const,
    tools: [saveMemory],
    mustCall: saveMemory.name,
  };
  const { toolCalls } = await complete(model.stream(request, signal));
  const [call] = toolCalls;
  if (!call) throw new Error("the model did not call save_memory");
  return readSummary(call.function.arguments);
}

/** nanobot's tolerance: a JSON text of a JSON text, a list around the object, and values that are not texts. */
export function readSummary(text: string): { entry: string; memory?: string } {
  let value: unknown = parsePythonJson(text);
  if (typeof value === "string") value = parsePythonJson(value);
  if (Array.isArray(value)) value = value[0];
  if (typeof value !== "object" || value === null || value instanceof Number)
    throw new Error("save_memory was called without arguments");
  const { history_entry: entry, memory_update: memory } = value as Row;
  const asText = (field: unknown): string => (typeof field === "string" ? field : pythonJson(field));
  const isThere = (field: unknown): boolean => Boolean(field) && !(field instanceof Number && Number(field) === 0);
  return {
    entry: isThere(entry) ? asText(entry) : "",
    ...(isThere(memory) && { memory: asText(memory) }),
  };
}
