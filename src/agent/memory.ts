/**
 * Consolidation: once the reply is out, what is old is summarised into MEMORY.md and HISTORY.md and the session's cursor
 * moves on. The log itself never changes. A failure changes nothing; after three the rows are archived as they are, so
 * that nothing is ever only in a prompt.
 */
import { setImmediate as immediate } from "node:timers/promises";
import type { Row, SessionKey } from "../message.js";
import { complete, type Model, type ToolSpec } from "../providers/provider.js";
import type { SessionManager } from "../session/manager.js";
import { parsePythonJson, pythonJson } from "../session/python-json.js";
import { pythonRepr } from "../session/python-repr.js";
import type { Session } from "../session/session.js";
import { ChangedElsewhere } from "../session/store.js";
import { orAborted } from "../util/abort.js";
import { reasonOf } from "../util/errors.js";
import { createKeyedMutex, type KeyedMutex } from "../util/keyed-mutex.js";
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
  /** What nobody is waiting for. */
  const running = new Set<Promise<void>>();
  const inBackground = (work: Promise<unknown>, trouble: string): void => {
    const done = work
      .catch((error: unknown) => log.warn(`${trouble}: ${reasonOf(error)}`))
      .then(() => void running.delete(done));
    running.add(done);
  };
  /** How to stop those consolidations among it. */
  const stoppable = new Map<SessionKey, AbortController>();

  /**
   * Rows up to `to` into memory. One at a time for each MEMORY.md, so that each model call starts from the last one's text.
   * Who waits for that holds no conversation in memory.
   */
  const summarise = (key: SessionKey, to: number, signal: AbortSignal): Promise<void> => {
    const files = filesOf(key);
    return inTurn(perMemory, files.folder, signal, async () => {
      const session = await sessions.getOrCreate(key);
      await files.recover();
      let refused = 0;
      while (session.lastConsolidated < Math.min(to, session.length)) {
        const from = session.lastConsolidated;
        const chunk = fitting(session.slice(from, to), Math.floor(model.contextTokens / 3));
        const memory = await files.memory();
        const { entry, update } = await summaryOf(chunk.lines, memory, signal);
        const by = { kind: "session", key, cursor: from + chunk.count } as const;
        const changes = update === undefined ? {} : { memory: { from: memory, to: update } };
        if (!(await files.commit({ by, entry, ...changes }))) {
          if (++refused > conflicts) throw new Error("MEMORY.md was edited each time while it was being summarised");
        } else if (session.lastConsolidated <= from) {
          throw new Error("the conversation was changed by another program while it was being summarised");
        }
      }
    });
  };

  const summaryOf = async (lines: readonly string[], memory: string, signal: AbortSignal): Promise<Summary> =>
    lines.length === 0 ? { entry: "" } : orAborted(askForSummary(model, memory, lines, signal), signal);

  /** Everything not yet consolidated into the log, word for word. Needs no model, and waits for none. */
  const archive = async (key: SessionKey, to: number): Promise<void> => {
    const session = await sessions.getOrCreate(key);
    const files = filesOf(key);
    for (;;) {
      await files.recover();
      const from = session.lastConsolidated;
      const cursor = Math.min(to, session.length);
      if (from >= cursor) return;
      const rows = session.slice(from, cursor);
      const time = clock().slice(0, 16).replace("T", " ");
      const entry = `[${time}] [RAW] ${rows.length} messages\n${rows.flatMap(rowLine).join("\n")}`;
      const done = await files.commit({ by: { kind: "session", key, cursor }, entry });
      if (done && session.lastConsolidated <= from) {
        throw new Error("the conversation was changed by another program while it was being archived");
      }
    }
  };

  /** Everything up to `to`; with a failure counted, and the third one answered by archiving the rows as they are. */
  const consolidate = async (key: SessionKey, to: number, signal: AbortSignal): Promise<Consolidation> => {
    try {
      await summarise(key, to, signal);
      failures.delete(key);
      return "done";
    } catch (error) {
      if (signal.aborted) return "failed";
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      log.warn(`memory of ${key}: consolidation failed (${count} of ${patience}): ${reasonOf(error)}`);
      if (count < patience) return "failed";
      await archive(key, to);
      failures.delete(key);
      return "archived";
    }
  };

  const startAnew = async (key: SessionKey, { signal, deadline }: Limits): Promise<"done" | "archived"> => {
    let outcome: "done" | "archived" = "done";
    const session = await sessions.getOrCreate(key);
    // A change that a crash left half done moves the cursor of the old conversation, not of the new one.
    await filesOf(key).recover();
    // A turn may end and add its rows while the others are being summarised.
    while (session.lastConsolidated < session.length) {
      try {
        await summarise(key, session.length, AbortSignal.any([signal, deadline]));
      } catch (error) {
        signal.throwIfAborted();
        log.warn(`memory of ${key}: /new could not summarise: ${reasonOf(error)}`);
        await archive(key, session.length);
        outcome = "archived";
      }
    }
    session.clear();
    await sessions.save(session);
    sessions.invalidate(key);
    failures.delete(key);
    return outcome;
  };

  return {
    /** What the model is shown in every prompt. Each time is an occasion to notice what has been written there since. */
    async text(key: SessionKey): Promise<string> {
      try {
        const files = filesOf(key);
        const text = await files.memory();
        // While the model is at work: nobody waits for it.
        const noticed = immediate().then(() => files.noticeEdits());
        inBackground(noticed, `memory of ${key}: an edit of MEMORY.md could not be recorded`);
        return text;
      } catch (error) {
        log.warn(`memory of ${key}: MEMORY.md is not shown to the model: ${reasonOf(error)}`);
        return "";
      }
    },

    /** Brings the rows before `to` into memory, now. */
    consolidate: ({ key }: Session, to: number, signal: AbortSignal): Promise<Consolidation> =>
      inTurn(perSession, key, signal, () => consolidate(key, to, signal)),

    /** Starts a consolidation in the background if so many rows are open and none is running; half of them are left. */
    consolidateSoon(session: Session, signal: AbortSignal, least: number = window): void {
      const { key } = session;
      const open = session.length - session.lastConsolidated;
      const to = consolidationEnd(session.length, session.lastConsolidated, least);
      if (open < least || to === undefined || perSession.isBusy(key)) return;
      const abort = new AbortController();
      const stop = AbortSignal.any([signal, abort.signal]);
      stoppable.set(key, abort);
      const work = perSession
        .run(key, () => consolidate(key, to, stop))
        .finally(() => void (stoppable.get(key) === abort && stoppable.delete(key)));
      inBackground(work, `memory of ${key}: its rows could not be archived`);
    },

    /**
     * `/new`: everything not yet consolidated goes to memory, then the session is emptied. What cannot be summarised
     * before the deadline is archived as it is; either way nothing is lost. Given up by `signal`, it changes nothing.
     */
    async startAnew(key: SessionKey, limits: Limits): Promise<"done" | "archived"> {
      // What is already being summarised may go on, but no longer than we would ourselves.
      const hurry = (): void => stoppable.get(key)?.abort();
      limits.deadline.addEventListener("abort", hurry);
      if (limits.deadline.aborted) hurry();
      try {
        return await inTurn(perSession, key, limits.signal, () => insisting(() => startAnew(key, limits)));
      } finally {
        limits.deadline.removeEventListener("abort", hurry);
      }
    },

    /** Resolves when nothing is going on in the background. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

export type Consolidation = "done" | "failed" | "archived";

type Limits = {
  /** Nobody wants it any more. */
  readonly signal: AbortSignal;
  /** The time for summaries is over. */
  readonly deadline: AbortSignal;
};

/** Waits for its turn no longer than anybody wants it; what has begun is finished. */
async function inTurn<T>(turns: KeyedMutex, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const result = turns.run(key, () => {
    signal.throwIfAborted();
    begin();
    return work();
  });
  await orAborted(Promise.race([begun, result]), signal);
  return result;
}

/** Another process may write just when a conversation is cleared; it has to be looked at anew then. */
async function insisting<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChangedElsewhere) || tries >= conflicts) throw error;
    }
  }
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

/** One entry for the log, and the new MEMORY.md if there is one. */
type Summary = { readonly entry: string; readonly update?: string };

async function askForSummary(
  model: Model,
  memory: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<Summary> {
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
export function readSummary(text: string): Summary {
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
    ...(isThere(memory) && { update: asText(memory) }),
  };
}
