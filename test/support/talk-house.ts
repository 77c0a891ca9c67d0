/** Turns that a backend thinks through, on real sessions and a real ledger; the backend is scripted unless it is given. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { storeTurn, type Thought, type TurnInput } from "../../src/agent/turn.js";
import type { Backend, BackendCall, BackendEnd } from "../../src/backends/backend.js";
import { cleanUp } from "../../src/backends/cleanup.js";
import { createRotation } from "../../src/backends/rotation.js";
import { createBackendThinking } from "../../src/backends/thinking.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { openWorkspace } from "./workspace.js";

export type Answer = Partial<BackendEnd> | ((call: BackendCall) => Promise<Partial<BackendEnd>> | Partial<BackendEnd>);

/** A backend that answers from a script, and always well when the script is over. */
export function scriptedBackend(script: readonly Answer[] = [], name = "scripted") {
  const calls: BackendCall[] = [];
  const forgotten: string[] = [];
  const abandoned: string[] = [];
  const backend: Backend = {
    name,
    isHandle: (handle) => /^[0-9a-f-]{36}$/.test(handle),
    async run(call) {
      const line = script[calls.length];
      calls.push(call);
      const end = typeof line === "function" ? await line(call) : (line ?? {});
      const good = {
        kind: "answered",
        text: `answer ${calls.length}`,
        handle: call.handle ?? randomUUID(),
        usage: { input: 10, output: 5, cached: 2 },
        toolsUsed: [],
      };
      return (
        "kind" in end ? (end.kind === "answered" ? { ...good, ...end } : end) : { ...good, ...end }
      ) as BackendEnd;
    },
    forget: async (handle) => void forgotten.push(handle),
    abandon: async (call) => void abandoned.push(call),
  };
  return { backend, calls, forgotten, abandoned };
}

export type TalkOptions = {
  readonly backend: Backend;
  readonly windowSize?: number;
  readonly bootstrapMessages?: number;
  readonly memory?: string;
  /** An earlier house: its successor goes on there. */
  readonly before?: { readonly house: ReturnType<typeof openWorkspace>; readonly time: { now: number } };
};

export type TalkHouse = Awaited<ReturnType<typeof openTalk>>;

export const chat = "telegram:42";
const dayMs = 24 * 3_600_000;

export async function openTalk(options: TalkOptions) {
  const house = options.before?.house ?? openWorkspace();
  const file = join(house.workspace, "state", "ledger.sqlite");
  const time = options.before?.time ?? { now: Date.UTC(2026, 0, 1) };
  const ledger = await openSqliteLedger({ file, now: () => time.now, reach: () => {} });
  onTestFinished(() => ledger.close().catch(() => {}));
  const sessions = house.open();
  const { handles } = ledger;
  const { backend } = options;
  const left: string[] = [];
  const memory = { text: options.memory ?? "" };
  const settings = { windowSize: options.windowSize ?? 20, maxAgeMs: dayMs };
  const rotation = createRotation({ backend, handles, settings, log: house.log });
  const think = createBackendThinking({
    backend,
    rotation,
    sessions,
    clock: house.clock,
    system: async ({ session }) => `You answer in ${session}.`,
    memory: async () => memory.text,
    leaving: ({ key }) => void left.push(key),
    settings: { bootstrapMessages: options.bootstrapMessages ?? 100, bootstrapTokens: 32_000 },
  });
  const inputOf = (text: string, session: string, more: Partial<TurnInput>): TurnInput => {
    const [channel = "", ...rest] = session.split(":");
    return { session, from: { channel, chat: rest.join(":") }, text, signal: new AbortController().signal, ...more };
  };
  return {
    house,
    file,
    ledger,
    handles,
    sessions,
    time,
    memory,
    warnings: house.warnings,
    /** Chats that left a window. */
    left,
    think: (text: string, session = chat, more: Partial<TurnInput> = {}): Promise<Thought> =>
      think(inputOf(text, session, more)),
    /** One message: thought through and written down. */
    say: async (text: string, session = chat, more: Partial<TurnInput> = {}): Promise<string | undefined> => {
      const { rows, reply } = await think(inputOf(text, session, more));
      await storeTurn(sessions, session, rows);
      return reply;
    },
    active: (session = chat) => handles.active(session, { window: settings.windowSize, maxAgeMs: dayMs }),
    rows: async (session = chat): Promise<string[]> =>
      (await house.open().getOrCreate(session))
        .slice(0)
        .map(({ role, content }) => `${String(role)}: ${String(content)}`),
    cleanUp: () => cleanUp({ handles, backends: [backend], maxAgeMs: dayMs, log: house.log }),
    pass: (ms: number): void => {
      time.now += ms;
    },
  };
}

/** Nobody ever sees an empty answer. */
export const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `message ${at + 1}`);
