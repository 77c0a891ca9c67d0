/** All conversations this page looks at: what is stored of them, what is going on in them, told by one stream. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { News, Said } from "../../../src/gateway/live.js";
import type { MessageTrace } from "../../../src/http/api.js";
import type { SessionKey } from "../../../src/message.js";
import type { Api } from "../api/client.js";
import { createRows, type Rows } from "../transcript/rows.js";
import { type Places, placesOf } from "./placing.js";
import { type Happening, happen, isOver, noTurns, type Turn } from "./turns.js";

export type Conversation = {
  readonly session: SessionKey;
  readonly rows: Rows;
  readonly turns: ReadonlySignal<readonly Turn[]>;
  readonly places: ReadonlySignal<Places>;
  /** Somebody waits for an answer. */
  readonly isBusy: ReadonlySignal<boolean>;
  happen(happening: Happening): void;
};

export type Conversations = {
  of(session: SessionKey): Conversation;
  /** Somebody looks at it: it is loaded and kept up to date. Returns how to look away. */
  look(session: SessionKey): () => void;
  /** What the stream of events tells. */
  hear(event: News | Said): void;
  /** The stream has begun anew. */
  connected(): void;
  /** Changes whenever a message came or ended, anywhere. */
  readonly pulse: ReadonlySignal<number>;
};

export type ConversationsParts = {
  readonly api: Api;
  /** An answer has come, or never will. */
  readonly over: (id: string) => void;
  readonly nextId: () => string;
};

/** Messages with such ids are pressed buttons, not questions. */
export const stopPrefix = "stop-";

export function createConversations({ api, over, nextId }: ConversationsParts): Conversations {
  const known = new Map<SessionKey, Conversation>();
  const viewers = new Map<SessionKey, number>();
  const pulse = signal(0);
  let isConnected = false;

  const of = (session: SessionKey): Conversation => {
    const conversation = known.get(session) ?? createConversation(api, session);
    known.set(session, conversation);
    return conversation;
  };

  const isSeen = (session: SessionKey): boolean => (viewers.get(session) ?? 0) > 0;

  const learnQuestion = async ({ session, id, trace }: News): Promise<void> => {
    const { entry } = await api.get<MessageTrace>(`api/messages/${encodeURIComponent(trace)}`);
    known.get(session)?.happen({ kind: "question", id, text: entry.text });
  };

  return {
    of,
    pulse,
    look(session) {
      viewers.set(session, (viewers.get(session) ?? 0) + 1);
      const conversation = of(session);
      if (isConnected && conversation.rows.total.peek() === undefined) void conversation.rows.refresh();
      return () => {
        viewers.set(session, (viewers.get(session) ?? 1) - 1);
        // What runs there is remembered, for whoever looks next.
        if (!isSeen(session) && !conversation.isBusy.peek()) known.delete(session);
      };
    },
    connected() {
      isConnected = true;
      for (const [session, conversation] of known) {
        conversation.happen({ kind: "connected" });
        if (isSeen(session)) void conversation.rows.refresh("all");
        else known.delete(session);
      }
      pulse.value++;
    },
    hear(event) {
      if ("message" in event) {
        // Answers are told with the turn they end.
        if (event.message.kind !== "text" || event.message.answers !== undefined) return;
        return of(event.session).happen({ kind: "said", id: nextId(), text: event.message.text });
      }
      const { session, id, trace, event: told } = event;
      if (id.startsWith(stopPrefix)) return;
      const conversation = of(session);
      const isNew = !conversation.turns.peek().some((turn) => turn.id === id);
      conversation.happen({ kind: "news", id, trace, event: told });
      if (isNew && told.kind !== "accepted" && told.kind !== "finished") void learnQuestion(event).catch(() => {});
      if (told.kind === "finished") {
        over(id);
        if (isSeen(session)) void conversation.rows.refresh();
        else if (!conversation.isBusy.peek()) known.delete(session);
      }
      if (told.kind === "accepted" || told.kind === "finished" || told.kind === "postponed") pulse.value++;
    },
  };
}

function createConversation(api: Api, session: SessionKey): Conversation {
  const rows = createRows({ api, session });
  const turns = signal(noTurns);
  const list = computed(() => turns.value.list);
  rows.version.subscribe(() => {
    turns.value = happen(turns.peek(), { kind: "stored", newest: rows.newest() }, rows.total.peek() ?? 0);
  });
  return {
    session,
    rows,
    turns: list,
    places: computed(() => placesOf(rows.total.value ?? 0, list.value)),
    isBusy: computed(() => list.value.some((turn) => !isOver(turn))),
    happen(happening) {
      const total = rows.total.peek() ?? 0;
      const next = happen(turns.peek(), happening, total);
      // The rows may have come before the news that they are there.
      const isEnd = happening.kind === "news" && happening.event.kind === "finished";
      turns.value = isEnd ? happen(next, { kind: "stored", newest: rows.newest() }, total) : next;
      if (happening.kind === "over") void rows.refresh();
    },
  };
}
