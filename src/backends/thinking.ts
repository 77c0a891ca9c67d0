/**
 * A turn that a backend thinks through. Our own session stays the truth: the question and the answer are rows like any
 * others, so a chat can change between a model and a backend, or lose all that a backend has, and loses nothing.
 */
import { createHash } from "node:crypto";
import type { Thought, TurnInput } from "../agent/turn.js";
import type { Row } from "../message.js";
import { pythonJson } from "../session/python-json.js";
import type { SessionManager } from "../session/manager.js";
import type { Session } from "../session/session.js";
import { turnRows } from "../session/turn-rows.js";
import type { Clock } from "../world.js";
import { type Backend, noUsage } from "./backend.js";
import { bootstrapPrompt, lastSaid } from "./bootstrap.js";
import type { Exchanged, Rotation, Talked } from "./rotation.js";

export type BackendThinkingParts = {
  readonly backend: Backend;
  readonly rotation: Rotation;
  readonly sessions: SessionManager;
  readonly clock: Clock;
  /** What the backend is told about its task in this chat. */
  readonly system: (input: TurnInput) => Promise<string>;
  /** What is remembered of earlier times; empty if nothing is. */
  readonly memory: (session: Session) => Promise<string>;
  /** A window of the chat is over: an occasion to bring it into memory. Nobody waits. */
  readonly leaving: (session: Session) => void;
  readonly settings: {
    /** So many of the last messages begin a conversation. */
    readonly bootstrapMessages: number;
    readonly bootstrapTokens: number;
  };
};

export function createBackendThinking(parts: BackendThinkingParts) {
  const { backend, rotation, sessions, clock, settings } = parts;

  const talk = async (
    input: TurnInput,
    session: Session,
    message: string,
    earlier: readonly Row[],
  ): Promise<Talked> => {
    const exchange = await exchangeOf(input, message);
    return rotation.talk({
      ...exchange,
      place: placeAfter(session, []),
      bootstrap: async (note) =>
        bootstrapPrompt({
          said: lastSaid(session, settings.bootstrapMessages),
          memory: await parts.memory(session),
          note,
          message,
          limit: settings.bootstrapTokens,
        }),
      interrupted: earlier.length > 0 || (input.resume?.started.size ?? 0) > 0,
      leaving: () => parts.leaving(session),
    });
  };

  const exchangeOf = async (input: TurnInput, message: string) => ({
    chat: input.session,
    message,
    files: input.media ?? [],
    system: await parts.system(input),
    signal: input.signal,
    ...(input.on && { on: input.on }),
    starting: (call: string) =>
      input.starting?.({ id: call, type: "function", function: { name: backend.name, arguments: "{}" } }),
  });

  return async function think(input: TurnInput): Promise<Thought> {
    const session = await sessions.getOrCreate(input.session);
    session.settle();
    // What an interrupted turn still owed belongs to the past, whatever becomes of this one.
    if (session.hasUnsaved) await sessions.save(session);
    const message = messageOf(input);
    const earlier = (input.resume?.rows ?? []).map(({ stored }) => stored);
    const known = answerIn(earlier);
    if (known !== undefined) {
      // The answer was there and only had to be written down.
      return thoughtOf(backend.name, rowsOf(message, earlier, clock()), {
        text: known,
        complete: true,
        usage: noUsage,
        toolsUsed: [],
      });
    }
    // It may still be at work, without anybody who would hear its answer.
    for (const call of input.resume?.started ?? []) await backend.abandon?.(call);
    const said: Exchanged & Partial<Talked> = input.stateless
      ? await rotation.once(await exchangeOf(input, message))
      : await talk(input, session, message, earlier);
    const answer = answerRow(said);
    try {
      input.signal.throwIfAborted();
      await input.keep?.(answer, answer);
    } catch (error) {
      await said.settle?.();
      throw error;
    }
    const rows = rowsOf(message, [...earlier, answer], clock());
    await said.settle?.(placeAfter(session, rows));
    return thoughtOf(backend.name, rows, said);
  };
}

/** The bare words; and where the files are that came with them, if the words do not say so. */
function messageOf({ text, media = [] }: TurnInput): string {
  const unnamed = media.filter((path) => !text.includes(path)).map((path) => `[file: ${path}]`);
  const message = [text.toWellFormed(), ...unnamed].filter((part) => part.trim() !== "").join("\n");
  return message === "" ? "[a message without words]" : message;
}

const answerRow = ({ text, toolsUsed }: Exchanged): Row => ({
  role: "assistant",
  content: text.toWellFormed(),
  ...(toolsUsed.length > 0 && { tools_used: [...new Set(toolsUsed)] }),
});

function rowsOf(message: string, rows: readonly Row[], now: string): Row[] {
  return turnRows([{ role: "user", content: message }, ...rows], 0).map(({ tools_used: used, ...row }) => ({
    ...row,
    timestamp: now,
    ...(used !== undefined && { tools_used: used }),
  }));
}

const thoughtOf = (model: string, rows: readonly Row[], said: Exchanged): Thought => {
  const { text, complete, usage, toolsUsed } = said;
  return { rows, reply: text, end: complete ? "answered" : "out-of-steps", toolsUsed, usage, model };
};

/** The answer that an earlier attempt had come to. */
function answerIn(rows: readonly Row[]): string | undefined {
  const last = rows.at(-1);
  const isAnswer = last?.["role"] === "assistant" && last["tool_calls"] === undefined;
  return isAnswer && typeof last["content"] === "string" ? last["content"] : undefined;
}

/** Where a conversation stands once these rows are added: how long it is, and how it ends. When that was does not matter. */
export function placeAfter(session: Session, added: readonly Row[]): string {
  const length = session.length + added.length;
  const last = added.at(-1) ?? session.slice(Math.max(0, session.length - 1))[0];
  const words = pythonJson([last?.["role"] ?? null, last?.["content"] ?? null]);
  return `${length} ${createHash("sha256").update(words).digest("hex").slice(0, 16)}`;
}
