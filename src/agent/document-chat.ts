/**
 * Conversations kept as whole documents: load, answer, save, and nothing else. When a document has grown past half of
 * what the model can read, what was said before this turn is replaced by a summary; this turn always stays as it is.
 */
import type { Row } from "../message.js";
import { complete } from "../providers/provider.js";
import { turnRows } from "../session/turn-rows.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import type { Clock } from "../world.js";
import { compactedView } from "./compaction.js";
import { type LoopParts, runLoop } from "./loop.js";
import { legalMessages } from "./legal.js";
import { rowLine } from "./memory.js";
import { cutText, tokensOf, tokensOfText } from "./tokens.js";
import { noAnswer } from "./turn.js";

/** The two functions of the document store that a chat may use. */
export type HistoryDocuments = {
  loadHistory(agentId: string, chatId: string): Promise<Row[]>;
  saveHistory(agentId: string, chatId: string, history: readonly Row[]): Promise<unknown>;
};

export type DocumentChatParts = LoopParts & {
  readonly histories: HistoryDocuments;
  readonly system: (agentId: string) => Promise<string>;
  readonly clock: Clock;
};

export type CompactResult = { readonly success: true } | { readonly success: false; readonly reason: string };

/** A document is compacted when it fills this much of the model's context. */
const fullAt = 0.5;

export function createDocumentChat(parts: DocumentChatParts) {
  const { histories, model, settings, system, clock } = parts;
  const turns = createKeyedMutex();
  const inTurn = <T>(agentId: string, chatId: string, work: () => Promise<T>): Promise<T> =>
    turns.run(JSON.stringify([agentId, chatId]), work);

  const isFull = (history: readonly Row[], turn: readonly Row[]): boolean =>
    history.length > 0 && tokensOf(legalMessages([...history, ...turn])) > fullAt * model.contextTokens;

  /** One message that stands for all of `history`, read in as many pieces as the model needs. */
  const summarised = async (history: readonly Row[], signal: AbortSignal): Promise<Row[]> => {
    let summary = "";
    for (const piece of pieces(history.flatMap(rowLine), Math.floor(model.contextTokens / 3))) {
      const before = summary === "" ? "" : `The summary so far:\n${summary}\n\n`;
      const messages = [
        { role: "system", content: "Summarise conversations so that they can be continued without the original." },
        { role: "user", content: `${before}What has been said, decided, and left open here?\n\n${piece}` },
      ] as const;
      const { text } = await complete(model.stream({ messages, tools: [] }, signal));
      if (text === null || text.trim() === "") throw new Error("the model returned no summary");
      summary = text;
    }
    return [{ role: "assistant", content: `Conversation summary at T=${clock()}\n\n${summary}` }];
  };

  return {
    /** Answers one message of a chat. What fails leaves the document as it was. */
    processMessage: (agentId: string, chatId: string, text: string, signal: AbortSignal): Promise<string> =>
      inTurn(agentId, chatId, async () => {
        const history = await histories.loadHistory(agentId, chatId);
        const question: Row = { role: "user", content: text.toWellFormed() };
        const from = { channel: agentId, chat: chatId };
        const outcome = await runLoop(parts, {
          system: await system(agentId),
          past: compactedView(history, settings.toolCompaction),
          question,
          context: { session: `${agentId}:${chatId}`, from, signal },
          on: () => {},
          keep: () => {},
        });
        signal.throwIfAborted();
        const turn = turnRows([question, ...outcome.rows], 0);
        // Without a summary the document stays long, which the next request copes with; nothing is lost.
        const before = isFull(history, turn) ? await summarised(history, signal).catch(() => history) : history;
        await histories.saveHistory(agentId, chatId, [...before, ...turn]);
        if (outcome.end === "out-of-steps") return `${outcome.text ?? ""}\n\n[Tool call limit reached]`;
        return outcome.text ?? noAnswer;
      }),

    /** Replaces what was said so far by a summary of it. */
    compactSession: (agentId: string, chatId: string, signal: AbortSignal): Promise<CompactResult> =>
      inTurn(agentId, chatId, async () => {
        const history = await histories.loadHistory(agentId, chatId);
        if (history.length === 0) return { success: false, reason: "There is nothing to compact yet." };
        const compacted = await summarised(history, signal);
        await histories.saveHistory(agentId, chatId, compacted);
        return { success: true };
      }),
  };
}

/** The lines, joined to texts of at most so many tokens each; only a line longer than that is cut. */
function pieces(lines: readonly string[], tokens: number): string[] {
  const found: string[] = [];
  let piece = "";
  for (const line of lines.map((text) => cutText(text, tokens))) {
    if (piece !== "" && tokensOfText(`${piece}\n${line}`) > tokens) {
      found.push(piece);
      piece = "";
    }
    piece = piece === "" ? line : `${piece}\n${line}`;
  }
  return [...found, piece];
}
