/** What is happening right now, for whoever looks: a terminal, a page, the clock. Nothing here is kept; the ledger is. */
import { keyOf, type Outbound, type SessionKey } from "../message.js";
import type { TurnEvent } from "../agent/loop.js";
import type { FinishedTurn, Item } from "./ledger.js";

export type LiveEvent =
  | TurnEvent
  /** It is safely stored; its turn will come. */
  | { readonly kind: "accepted"; readonly text: string }
  /** The turn is in the session. Its messages are on their way. */
  | { readonly kind: "finished"; readonly turn: FinishedTurn }
  /** The process ends; the message goes on after the next start. */
  | { readonly kind: "postponed" };

export type News = {
  readonly session: SessionKey;
  /** The channel's own id of the message it is about. */
  readonly id: string;
  readonly trace: string;
  readonly event: LiveEvent;
};

/** Something that was said in a chat, by a turn or of our own accord. */
export type Said = { readonly session: SessionKey; readonly message: Outbound };

export type Live = {
  tell(item: Item, event: LiveEvent): void;
  said(message: Outbound): void;
  /** Returns how to stop looking. Whoever comes in the middle of a turn is first told what it has shown so far. */
  watch(viewer: Viewer): () => void;
};

export type Viewer = {
  /** Absent: everything. */
  readonly session?: SessionKey;
  readonly news: (news: News) => void;
  readonly said?: (said: Said) => void;
};

/** A turn with so many steps is not retold from its beginning. */
const mostRetold = 500;

export function createLive(): Live {
  /** By the conversation they look at; under undefined those who look at everything. */
  const viewers = new Map<SessionKey | undefined, Set<Viewer>>();
  /** What unfinished turns have shown, by item. */
  const shown = new Map<number, News[]>();

  const tellEach = (session: SessionKey, tell: (viewer: Viewer) => void): void => {
    viewers.get(undefined)?.forEach(tell);
    viewers.get(session)?.forEach(tell);
  };

  const remember = (item: Item, news: News): void => {
    const { event } = news;
    if (event.kind === "finished" || event.kind === "postponed") return void shown.delete(item.id);
    const past = shown.get(item.id) ?? [];
    shown.set(item.id, past);
    const last = past.at(-1);
    if (event.kind === "text" && last?.event.kind === "text") {
      past[past.length - 1] = { ...last, event: { kind: "text", text: last.event.text + event.text } };
    } else {
      past.push(news);
      if (past.length > mostRetold) past.splice(1, 1);
    }
  };

  return {
    tell(item, event) {
      const news: News = { session: item.session, id: item.message.id, trace: item.trace, event };
      remember(item, news);
      tellEach(item.session, (viewer) => viewer.news(news));
    },
    said(message) {
      const session = keyOf(message.to);
      tellEach(session, (viewer) => viewer.said?.({ session, message }));
    },
    watch(viewer) {
      const { session } = viewer;
      for (const past of shown.values()) {
        if (session === undefined || past[0]?.session === session) for (const news of past) viewer.news(news);
      }
      const beside = viewers.get(session) ?? new Set();
      viewers.set(session, beside.add(viewer));
      return () => {
        beside.delete(viewer);
        if (beside.size === 0 && viewers.get(session) === beside) viewers.delete(session);
      };
    },
  };
}
