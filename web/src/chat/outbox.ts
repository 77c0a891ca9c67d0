/**
 * Questions on their way to the gateway. Each has an id of its own and is handed over again, under the same id, until the
 * gateway says that it is over: through lost connections, restarts of the gateway and reloads of the page.
 */
import type { Outcome } from "../../../src/gateway/ledger.js";
import type { TurnRequest } from "../../../src/http/api.js";
import type { Told } from "../../../src/http/asking.js";
import type { SessionKey } from "../../../src/message.js";
import type { Api } from "../api/client.js";
import { Problem, problemOf } from "../api/problem.js";
import { heardFrom } from "../api/sse.js";
import type { Happening } from "./turns.js";

export type Question = Required<TurnRequest>;

export type Outbox = {
  send(question: Question): void;
  /** Hands over again whatever nobody has heard the end of. */
  reclaim(): void;
  over(id: string): void;
};

export type OutboxParts = {
  readonly api: Api;
  readonly shelf: Shelf<readonly Question[]>;
  readonly tell: (session: SessionKey, happening: Happening) => void;
  readonly wait: (ms: number) => Promise<void>;
};

/** Where something is kept over a reload of the page. */
export type Shelf<T> = { read(): T | undefined; write(value: T): void };

/** A gateway that has not hung up by then has stored it. */
const patienceMs = 8000;

export function createOutbox({ api, shelf, tell, wait }: OutboxParts): Outbox {
  const open = new Map<string, Question>();
  const delivering = new Set<string>();
  /** How often somebody began to listen anew. */
  let reclaims = 0;
  const keep = (): void => shelf.write([...open.values()]);
  const over = (id: string): void => {
    if (open.delete(id)) keep();
  };

  /** Resolves once the gateway has it. */
  const handOver = async (question: Question): Promise<void> => {
    const enough = new AbortController();
    const response = await api.stream("api/turns", { body: question, signal: enough.signal });
    const timer = setTimeout(() => enough.abort(), patienceMs);
    try {
      for await (const heard of heardFrom<Told>(response.body ?? new ReadableStream())) {
        if (heard.kind !== "event") continue;
        // What becomes of it is told to everybody who looks; a repeat is told only that it is over.
        if (heard.event.kind !== "finished" || heard.event.reply !== undefined) return;
        const outcome: Outcome = heard.event.turn.outcome;
        tell(question.session, { kind: "over", id: question.id, outcome });
        return over(question.id);
      }
    } catch (error) {
      if (!enough.signal.aborted) throw error;
      return;
    } finally {
      clearTimeout(timer);
    }
    throw new Problem("The connection broke off.", { fix: "It is tried again." });
  };

  const deliver = async (question: Question): Promise<void> => {
    const { id, session } = question;
    if (delivering.has(id)) return;
    delivering.add(id);
    try {
      for (let failures = 0; open.has(id); failures++) {
        const before = reclaims;
        try {
          await handOver(question);
          // Whoever began to listen meanwhile may have come too late for the end of it: only another question tells.
          if (before !== reclaims) continue;
          return tell(session, { kind: "news", id, event: { kind: "accepted", text: question.text } });
        } catch (error) {
          const problem = problemOf(error);
          if (problem.status >= 400 && problem.status < 500) {
            over(id);
            return tell(session, { kind: "refused", id, problem: problem.message, fix: problem.fix });
          }
          await wait(Math.min(4000, 300 * 2 ** Math.min(failures, 5)));
        }
      }
    } finally {
      delivering.delete(id);
    }
  };

  const send = (question: Question): void => {
    open.set(question.id, question);
    keep();
    const { id, session, text, images } = question;
    tell(session, { kind: "asked", id, text, images });
    void deliver(question);
  };

  return {
    send,
    reclaim: () => {
      reclaims++;
      for (const question of [...(shelf.read() ?? []), ...open.values()]) send(question);
    },
    over,
  };
}
