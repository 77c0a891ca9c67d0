/** The conversations that are open side by side, the one that is looked at, and what they are called. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { SessionKey } from "../../../src/message.js";
import type { Shelf } from "./outbox.js";

export type OpenState = {
  readonly open: readonly SessionKey[];
  readonly current: SessionKey;
  readonly titles: Readonly<Record<SessionKey, string>>;
};

export type OpenChats = {
  readonly state: ReadonlySignal<OpenState>;
  /** In the place of the one that is looked at, unless it is open already. */
  show(session: SessionKey): void;
  beside(session: SessionKey): void;
  focus(session: SessionKey): void;
  close(session: SessionKey): void;
  name(session: SessionKey, title: string): void;
};

const mostTitles = 200;
const longestTitle = 80;

export function createOpenChats(shelf: Shelf<OpenState>, fresh: () => SessionKey): OpenChats {
  const first = fresh();
  const state = signal<OpenState>(shelf.read() ?? { open: [first], current: first, titles: {} });
  const change = (next: Partial<OpenState>): void => {
    state.value = { ...state.value, ...next };
    shelf.write(state.value);
  };
  const isOpen = (session: SessionKey): boolean => state.value.open.includes(session);

  return {
    state,
    show(session) {
      const { open, current } = state.value;
      if (isOpen(session)) return change({ current: session });
      change({ open: open.map((one) => (one === current ? session : one)), current: session });
    },
    beside(session) {
      change({ open: isOpen(session) ? state.value.open : [...state.value.open, session], current: session });
    },
    focus(session) {
      if (isOpen(session) && state.value.current !== session) change({ current: session });
    },
    close(session) {
      const { open, current } = state.value;
      const at = open.indexOf(session);
      const rest = open.filter((one) => one !== session);
      const left = rest.length > 0 ? rest : [fresh()];
      const next = current === session ? left[Math.min(at, left.length - 1)] : current;
      change({ open: left, current: next ?? current });
    },
    name(session, title) {
      const { titles } = state.value;
      const short = title.trim().split("\n")[0]?.slice(0, longestTitle) ?? "";
      if (short === "" || titles[session] === short) return;
      const { [session]: _, ...others } = titles;
      change({ titles: Object.fromEntries([...Object.entries(others), [session, short]].slice(-mostTitles)) });
    },
  };
}

/** `telegram:42` in words. */
export function titleOf(session: SessionKey, titles: OpenState["titles"]): string {
  return titles[session] ?? (session.startsWith("web:") ? "New chat" : session);
}
