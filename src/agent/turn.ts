/** One turn: session and memory become a prompt, the loop answers, and what was said is stored as one unit. */
import type { Address, Row, SessionKey } from "../message.js";
import { ModelError, type Usage } from "../providers/provider.js";
import { historyStart } from "../session/history.js";
import { pythonJson } from "../session/python-json.js";
import type { SessionManager } from "../session/manager.js";
import type { Session } from "../session/session.js";
import { type StoredResult, turnRows } from "../session/turn-rows.js";
import type { Clock } from "../world.js";
import { compactedView } from "./compaction.js";
import { imageParts } from "./images.js";
import { type LoopEnd, type LoopParts, runLoop, type Turn, type TurnEvent } from "./loop.js";
import { runtimeContext, userContent } from "./prompt.js";

export type TurnParts = LoopParts & {
  readonly sessions: SessionManager;
  readonly clock: Clock;
  /** The system prompt of a chat. */
  readonly prompt: (session: Session) => Promise<string>;
  readonly store: StoreSettings;
};

/** How a turn is stored; nanobot's own ways are settings, so that its files can be reproduced byte for byte. */
export type StoreSettings = {
  /** So many of the newest unconsolidated rows the model is shown. */
  readonly viewMessages: number;
  /** What is stored of a tool result, if less than the model saw. */
  readonly result?: StoredResult;
  /** The final row says which tools were used. */
  readonly toolsUsed: boolean;
  /** A turn that failed leaves nothing behind, or, as with nanobot, the question. */
  readonly failed: "nothing" | "question";
  /** How a turn ends that used up its steps. */
  readonly outOfSteps: "sentence" | "marker";
};

export type TurnInput = {
  readonly session: SessionKey;
  readonly from: Address;
  readonly text: string;
  /** Files that came with the message. */
  readonly media?: readonly string[];
  /** It stands alone: nothing that was said before is shown. */
  readonly stateless?: true;
  /** Nobody has asked: the clock has. */
  readonly unasked?: true;
  readonly signal: AbortSignal;
  readonly on?: (event: TurnEvent) => void;
} & Partial<Pick<Turn, "keep" | "starting" | "resume">>;

/** A turn that is thought through, but not written down yet. */
export type Thought = {
  /** What belongs into the session, each row with its timestamp. */
  readonly rows: readonly Row[];
  /** Undefined: a tool has already written to this chat, nothing more is to be said. */
  readonly reply: string | undefined;
  readonly end: LoopEnd["end"];
  readonly toolsUsed: readonly string[];
  readonly usage: Usage;
  /** Whose tokens these are. */
  readonly model?: string;
};

export type TurnResult = Omit<Thought, "rows"> & { readonly session: Session };

export const noAnswer = "I've completed processing but have no response to give.";

/** Answers a message; what was said is only returned. Whoever asks writes it down, by {@link storeTurn}. */
export function createThinking(parts: TurnParts) {
  const { sessions, clock, store, settings } = parts;

  return async function think(input: TurnInput): Promise<Thought> {
    const session = await sessions.getOrCreate(input.session);
    session.settle();
    // What an interrupted turn still owed belongs to the past, whatever becomes of this one.
    if (session.hasUnsaved) await sessions.save(session);
    const newest = input.stateless
      ? []
      : session.slice(historyStart(session.length, session.lastConsolidated, store.viewMessages));
    const images = await imageParts(input.media ?? []);
    const content = userContent(runtimeContext(clock(), input.from), input.text.toWellFormed(), images);
    const question: Row = { role: "user", content };
    let saidHere = false;
    const said = (to: Address): void => {
      saidHere ||= to.channel === input.from.channel && to.chat === input.from.chat;
    };
    const turn: Turn = {
      system: await parts.prompt(session),
      past: compactedView(newest, settings.toolCompaction),
      question,
      context: {
        session: input.session,
        from: input.from,
        signal: input.signal,
        said,
        ...(input.unasked && { unasked: true }),
      },
      on: input.on ?? (() => {}),
      keep: input.keep ?? (() => {}),
      ...(input.starting && { starting: input.starting }),
      ...(input.resume && { resume: input.resume }),
    };
    const outcome = await runLoop(parts, turn).catch(async (error: unknown) => {
      if (store.failed === "question" && error instanceof ModelError) {
        await storeTurn(sessions, input.session, turnRows([question], 0));
      }
      throw error;
    });
    input.signal.throwIfAborted();
    const { end, toolsUsed, usage } = outcome;
    const reply = saidHere ? undefined : replyText(outcome, store, settings.maxIterations);
    const rows = storedRows(question, outcome, store, clock());
    return { rows, reply, end, toolsUsed, usage, model: parts.model.name };
  };
}

/** Answers a message and writes it down, all of it or nothing. */
export function createTurn(parts: TurnParts) {
  const think = createThinking(parts);
  return async function runTurn(input: TurnInput): Promise<TurnResult> {
    const { rows, ...rest } = await think(input);
    return { session: await storeTurn(parts.sessions, input.session, rows), ...rest };
  };
}

/**
 * Appends a turn's rows to the session, durably. With `again` a crash may have come after the rows were written and
 * before that was noted: if the session ends with them, they are there.
 */
export async function storeTurn(
  sessions: SessionManager,
  key: SessionKey,
  rows: readonly Row[],
  again: "again" | "first" = "first",
): Promise<Session> {
  const session = await sessions.getOrCreate(key);
  const tail = session.slice(Math.max(0, session.length - rows.length));
  if (rows.length === 0 || (again === "again" && pythonJson(tail) === pythonJson(rows))) return session;
  session.addRows(rows);
  await sessions.save(session);
  return session;
}

function storedRows(question: Row, { end, rows, toolsUsed }: LoopEnd, store: StoreSettings, now: string): Row[] {
  const stored = turnRows([question, ...rows], 0, store.result).map((row) => ({ ...row, timestamp: now }));
  const last: Row | undefined = stored.at(-1);
  if (!store.toolsUsed || toolsUsed.length === 0 || end !== "answered" || last?.["role"] !== "assistant") return stored;
  return [...stored.slice(0, -1), { ...last, tools_used: toolsUsed }];
}

function replyText({ end, text }: LoopEnd, store: StoreSettings, maxIterations: number): string {
  if (end === "answered") return text ?? noAnswer;
  if (store.outOfSteps === "marker") return `${text ?? ""}\n\n[Tool call limit reached]`;
  return (
    `I reached the maximum number of tool call iterations (${maxIterations}) without completing the task. ` +
    "You can try breaking the task into smaller steps."
  );
}
