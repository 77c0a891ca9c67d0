/** What a backend is told of a chat: rotating conversations against the whole history with every message. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { tokensOfText } from "../src/agent/tokens.js";
import { storeTurn } from "../src/agent/turn.js";
import type { Backend } from "../src/backends/backend.js";
import { createRotation } from "../src/backends/rotation.js";
import { createBackendThinking } from "../src/backends/thinking.js";
import { openSqliteLedger } from "../src/gateway/ledger-sqlite.js";
import { openSessions } from "../src/session/open.js";
import { systemClock } from "../src/world.js";
import { atMost, type Bench, turnOf } from "./harness.js";

const lengths = [65, 500];
const windowSize = 20;

export const rotation: Bench = {
  name: "rotation",
  title: `Tokens that a chat with a backend costs: windows of ${windowSize} messages, against the history with every message`,
  async run(folder) {
    const results = [];
    for (const messages of lengths) {
      const rotating = await talk(join(folder, `rotating-${messages}`), messages, windowSize);
      // A window of one message is what the document complains about: the last hundred messages, every time.
      const injecting = await talk(join(folder, `injecting-${messages}`), messages, 1);
      results.push({ messages, rotating, injecting });
    }
    return {
      table: results.flatMap(({ messages, rotating, injecting }) =>
        (["handed over", "new to the model", "sent to the model"] as const).map((what) => ({
          tokens: `${messages} messages, ${what}`,
          rotating: rotating[what],
          "every time": injecting[what],
          ratio: rotating[what] / injecting[what],
        })),
      ),
      targets: results.flatMap(({ messages, rotating, injecting }) =>
        (["handed over", "new to the model"] as const).map((what) =>
          atMost(`rotation: tokens ${what}, ${messages} messages`, rotating[what] / injecting[what], 0.2),
        ),
      ),
      notes: [
        "Handed over: what we give to the backend. Sent: the whole conversation that the backend sends to its model with",
        "each message, without its own prompt. New: the part that does not repeat the request before, which a cache does",
        "not have. A backend that resumes still sends everything: what is saved is what is new, not what is sent.",
      ],
    };
  },
};

type Tokens = { "handed over": number; "new to the model": number; "sent to the model": number };

async function talk(folder: string, messages: number, window: number): Promise<Tokens> {
  const { backend, tokens } = countingBackend();
  const log = { warn: (): void => {} };
  const ledger = await openSqliteLedger({
    file: join(folder, "ledger.sqlite"),
    now: () => Date.now(),
    reach: () => {},
  });
  const sessions = openSessions({ workspace: folder, clock: systemClock, log });
  const settings = { windowSize: window, maxAgeMs: 1e9 };
  const think = createBackendThinking({
    backend,
    rotation: createRotation({ backend, handles: ledger.handles, settings, log }),
    sessions,
    clock: systemClock,
    system: async () => "",
    memory: async () => "",
    leaving: () => {},
    settings: { bootstrapMessages: 100, bootstrapTokens: 32_000 },
  });
  const from = { channel: "bench", chat: "1" };
  for (let number = 0; number < messages; number++) {
    const text = String(turnOf(number)[0]?.["content"]);
    const { rows } = await think({ session: "bench:1", from, text, signal: new AbortController().signal });
    await storeTurn(sessions, "bench:1", rows);
  }
  await sessions.close();
  await ledger.close();
  return tokens;
}

/** Holds conversations as the claude command does, and counts. */
function countingBackend(): { backend: Backend; tokens: Tokens } {
  const tokens: Tokens = { "handed over": 0, "new to the model": 0, "sent to the model": 0 };
  const conversations = new Map<string, { total: number; unsent: number }>();
  const answer = String(turnOf(0)[3]?.["content"]);
  const backend: Backend = {
    name: "counting",
    isHandle: () => true,
    async run({ handle = randomUUID(), prompt }) {
      const before = conversations.get(handle) ?? { total: 0, unsent: 0 };
      const said = tokensOfText(prompt);
      tokens["handed over"] += said;
      tokens["new to the model"] += before.unsent + said;
      tokens["sent to the model"] += before.total + said;
      const answered = tokensOfText(answer);
      conversations.set(handle, { total: before.total + said + answered, unsent: answered });
      return { kind: "answered", text: answer, handle, usage: { input: 0, output: 0, cached: 0 }, toolsUsed: [] };
    },
    forget: async () => {},
  };
  return { backend, tokens };
}
