/** Puts the page together: the gateway's API, the stream of events, the conversations, what is open. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { News, Said } from "../../../src/gateway/live.js";
import { type Api, createApi } from "../api/client.js";
import { follow } from "../api/follow.js";
import { Problem } from "../api/problem.js";
import { type Conversations, createConversations } from "../chat/conversations.js";
import { createOpenChats, type OpenChats } from "../chat/open-chats.js";
import { createOutbox, type Outbox } from "../chat/outbox.js";
import { randomId } from "./random-id.js";
import { readRoute, type Route } from "./route.js";
import { createShelf } from "./shelf.js";
import { createTheme, type ThemeChoice } from "./theme.js";
import { hopefulWait } from "./wait.js";

export type Connection = "connecting" | "open" | "lost" | "locked";

export type Page = {
  readonly api: Api;
  readonly route: ReadonlySignal<Route>;
  readonly theme: ThemeChoice;
  readonly connection: ReadonlySignal<Connection>;
  readonly conversations: Conversations;
  readonly outbox: Outbox;
  readonly chats: OpenChats;
  /** Begins to listen; again after somebody has entered the token. */
  listen(): void;
};

export const newChat = (): string => `web:${randomId(10)}`;

export function createPage(browser: Window & typeof globalThis): Page {
  const connection = signal<Connection>("connecting");
  const route = signal<Route>({ view: "chat", query: {} });
  const chats = createOpenChats(
    createShelf(() => browser.localStorage, "nanogate.chats"),
    newChat,
  );
  const go = (): void => {
    route.value = readRoute(browser.location.hash);
    const { view, subject } = route.value;
    if (view === "chat" && subject !== undefined) chats.show(subject);
  };
  go();
  browser.addEventListener("hashchange", go);
  const api = createApi({
    fetch: (input, init) => browser.fetch(input, init),
    onLocked: () => void (connection.value = "locked"),
  });
  const wait = (ms: number, signal?: AbortSignal): Promise<void> => hopefulWait(browser, ms, signal);
  const conversations = createConversations({ api, over: (id) => outbox.over(id), nextId: () => randomId(16) });
  const outbox = createOutbox({
    api,
    shelf: createShelf(() => browser.sessionStorage, "nanogate.outbox"),
    tell: (session, happening) => conversations.of(session).happen(happening),
    wait,
  });
  const page: Page = {
    api,
    route,
    theme: createTheme(
      createShelf(() => browser.localStorage, "nanogate.theme"),
      browser.document.documentElement,
    ),
    connection,
    conversations,
    outbox,
    chats,
    listen() {
      const lost = (problem: unknown): void => {
        connection.value = problem instanceof Problem && problem.status === 401 ? "locked" : "lost";
      };
      const connected = (): void => {
        connection.value = "open";
        conversations.connected();
        outbox.reclaim();
      };
      const open = (signal: AbortSignal): Promise<Response> => api.stream("api/events", { signal });
      const heard = (event: News | Said): void => conversations.hear(event);
      void follow({ open, connected, heard, lost, wait }, new AbortController().signal);
    },
  };
  return page;
}

export const PageContext = createContext<Page | undefined>(undefined);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("there is no page around this");
  return page;
}
