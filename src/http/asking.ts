/** One message through the door, and everything that becomes of it, until its turn is over. */
import type { Delivery } from "../gateway/delivery.js";
import type { FinishedTurn, Outcome } from "../gateway/ledger.js";
import type { Live, LiveEvent, News } from "../gateway/live.js";
import { type Inbound, keyOf } from "../message.js";

export type AskParts = {
  readonly live: Live;
  readonly accept: (message: Inbound) => Promise<"accepted" | "repeat">;
  /** How a message ended, by the id its sender gave it; undefined while it has not. */
  readonly outcomeOf: (id: string) => Promise<Outcome["kind"] | undefined>;
  readonly delivery: Pick<Delivery, "settled">;
};

/** What whoever asks is told, one after the other; `finished` or `postponed` comes last. */
export type Told =
  | Exclude<LiveEvent, { kind: "finished" }>
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "finished"; readonly turn: Pick<FinishedTurn, "outcome" | "usage">; readonly reply?: string };

export type Asking = {
  /** Rejects if the message could not be stored. */
  readonly over: Promise<void>;
  /** Nobody listens any more. The turn goes on. */
  readonly leave: () => void;
};

export function ask(parts: AskParts, message: Inbound, tell: (told: Told) => void): Asking {
  const { live, accept, outcomeOf, delivery } = parts;
  const { id, from, session = keyOf(from) } = message;
  let leave = (): void => {};
  const over = new Promise<void>((resolve, reject) => {
    let isOver = false;
    const end = (last: Told): void => {
      leave();
      if (isOver) return;
      isOver = true;
      tell(last);
      resolve();
    };
    const hear = ({ event, ...news }: News): void => {
      if (news.id !== id) return;
      if (event.kind === "postponed") end(event);
      // What tools have said on the way comes first.
      else if (event.kind === "finished") void delivery.settled(from).then(() => end(finished(event.turn)));
      else tell(event);
    };
    const stops = [
      live.watch({ session, news: hear }),
      live.watch({
        session: keyOf(from),
        news: () => {},
        said: ({ message: said }) => {
          if (said.kind === "text" && said.answers === undefined) tell({ kind: "said", text: said.text });
        },
      }),
    ];
    leave = () => stops.forEach((stop) => stop());
    const begin = async (): Promise<void> => {
      const kind = (await accept(message)) === "repeat" ? await outcomeOf(id) : undefined;
      // Asked again after it was answered: the answer stands in the conversation.
      if (kind) end({ kind: "finished", turn: { outcome: { kind } } });
    };
    begin().catch((error: unknown) => {
      leave();
      reject(error);
    });
  });
  return { over, leave: () => leave() };
}

function finished({ outcome, usage, messages }: FinishedTurn): Told {
  const texts = messages.flatMap((message) => (message.kind === "text" ? [message.text] : []));
  const turn = { outcome, ...(usage && { usage }) };
  return texts.length === 0 ? { kind: "finished", turn } : { kind: "finished", turn, reply: texts.join("\n\n") };
}
