/** One turn: session and memory become a prompt, the loop answers, and what was said is stored as one unit. */
import type { Address, Row, SessionKey } from "../message.js";
import { ModelError, type Usage } from "../providers/provider.js";
import { historyStart } from "../session/history.js";
import type { SessionManager } from "../session/manager.js";
import type { Session } from "../session/session.js";
import { type StoredResult, turnRows } from "../session/turn-rows.js";
import type { Clock } from "../world.js";
import { compactedView } from "./compaction.js";
import { imageParts } from "./images.js";
import { type LoopEnd, type LoopParts, runLoop, type TurnEvent } from "./loop.js";
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
  readonly signal: AbortSignal;
  readonly on?: (event: TurnEvent) => void;
  readonly keep?: (stored: Row) => Promise<void> | void;
};

export type TurnResult = {
  readonly session: Session;
  /** Undefined: a tool has already written to this chat, nothing more is to be said. */
  readonly reply: string | undefined;
  readonly end: LoopEnd["end"];
  readonly toolsUsed: readonly string[];
  readonly usage: Usage;
};

export const noAnswer = "I've completed processing but have no response to give.";

export function createTurn(parts: TurnParts) {
  const { sessions, clock, store, settings } = parts;

  return async function runTurn(input: TurnInput): Promise<TurnResult> {
    const session = await sessions.getOrCreate(input.session);
    session.settle();
    const newest = session.slice(historyStart(session.length, session.lastConsolidated, store.viewMessages));
    const images = await imageParts(input.media ?? []);
    const content = userContent(runtimeContext(clock(), input.from), input.text.toWellFormed(), images);
    const question: Row = { role: "user", content };
    let saidHere = false;
    const said = (to: Address): void => {
      saidHere ||= to.channel === input.from.channel && to.chat === input.from.chat;
    };
    const loop = runLoop(parts, {
      system: await parts.prompt(session),
      past: compactedView(newest, settings.toolCompaction),
      question,
      context: { session: input.session, from: input.from, signal: input.signal, said },
      on: input.on ?? (() => {}),
      keep: input.keep ?? (() => {}),
    });
    const outcome = await loop.catch(async (error: unknown) => {
      if (store.failed === "question" && error instanceof ModelError) {
        session.addRows(turnRows([question], 0));
        await sessions.save(session);
      }
      throw error;
    });
    input.signal.throwIfAborted();
    session.addRows(storedRows(question, outcome, store, clock));
    await sessions.save(session);
    const { end, toolsUsed, usage } = outcome;
    const reply = saidHere ? undefined : replyText(outcome, store, settings.maxIterations);
    return { session, reply, end, toolsUsed, usage };
  };
}

function storedRows(question: Row, { end, rows, toolsUsed }: LoopEnd, store: StoreSettings, clock: Clock): Row[] {
  const stored = turnRows([question, ...rows], 0, store.result);
  const last = stored.at(-1);
  if (!store.toolsUsed || toolsUsed.length === 0 || end !== "answered" || last?.["role"] !== "assistant") return stored;
  return [...stored.slice(0, -1), { ...last, timestamp: clock(), tools_used: toolsUsed }];
}

function replyText({ end, text }: LoopEnd, store: StoreSettings, maxIterations: number): string {
  if (end === "answered") return text ?? noAnswer;
  if (store.outOfSteps === "marker") return `${text ?? ""}\n\n[Tool call limit reached]`;
  return (
    `I reached the maximum number of tool call iterations (${maxIterations}) without completing the task. ` +
    "You can try breaking the task into smaller steps."
  );
}
