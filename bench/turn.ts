/** What a turn costs besides the model: at any length of the session, for the request alone, and while memory is written. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildRequest } from "../src/agent/request.js";
import { createApp } from "../src/app.js";
import { loadSettings } from "../src/config/load.js";
import { openSessions } from "../src/session/open.js";
import { systemWorld } from "../src/world.js";
import { grownSession } from "./drivers.js";
import { atLeast, atMost, type Bench, conversation, median, milliseconds, percentile, race } from "./harness.js";

const lengths = [10, 100_000];
const [short = 0, long = 0] = lengths;
const rowsInView = 200;
const chats = 100;
const window = 20;

export const turn: Bench = {
  name: "turn",
  title: "A whole turn without tools, durable, with a model that answers at once",
  async run(folder) {
    const app = await openApp(join(folder, "lengths"), 10_000, async (sessions) => {
      for (const rows of lengths) await grownSession(sessions, keyOf(rows), rows);
    });
    const view = conversation(rowsInView);
    const request = { system: "s".repeat(8000), past: view, turn: [{ role: "user", content: "hi" }], limit: 60_000 };
    const times = await race({
      short: { work: () => sayWithin(app, keyOf(short)), rounds: 300 },
      long: { work: () => sayWithin(app, keyOf(long)), rounds: 300 },
      request: { work: () => buildRequest(request), rounds: 300 },
    });
    await app.close(0);
    const alone = await repliesOf(join(folder, "alone"), 10_000);
    const busy = await repliesOf(join(folder, "busy"), window);
    return {
      table: [
        { what: `turn at ${short} rows`, ...shares(times.short) },
        { what: `turn at ${long} rows`, ...shares(times.long) },
        { what: `request from ${rowsInView} rows`, ...shares(times.request) },
        { what: `reply, one of ${chats} at once`, ...shares(alone.times) },
        { what: `reply, each of them also due for memory`, ...shares(busy.times) },
      ],
      targets: [
        atMost(`turn: time at ${long} rows against ${short}`, median(times.long) / median(times.short), 1.5),
        atMost(`turn: p50 at ${long} rows`, median(times.long), 5, "ms"),
        atMost(`request: p50 from ${rowsInView} rows`, median(times.request), 5, "ms"),
        atMost(
          "replies: p50 with memory due in every chat, against none",
          median(busy.times) / median(alone.times),
          1.5,
        ),
        atLeast("memory: chats of which HISTORY.md tells, afterwards", busy.remembered, chats, "chats"),
      ],
      notes: ["A turn is everything from the question to the durable row: prompt, memory, request, loop, save."],
    };
  },
};

const keyOf = (rows: number): string => `bench:${rows}`;
const shares = (times: readonly number[]) => ({ "ms p50": median(times), "ms p99": percentile(times, 0.99) });

type App = Awaited<ReturnType<typeof createApp>>;
type Fill = (sessions: ReturnType<typeof openSessions>) => Promise<void>;

async function openApp(home: string, memoryWindow: number, fill: Fill): Promise<App> {
  mkdirSync(home);
  writeFileSync(join(home, "config.json"), JSON.stringify({ agents: { defaults: { model: "demo", memoryWindow } } }));
  const sessions = openSessions({ workspace: join(home, "workspace") });
  await fill(sessions);
  await sessions.close();
  return createApp({ settings: loadSettings(home, {}), world: systemWorld({ warn() {} }) });
}

const say = (app: App, session: string) =>
  app.answer({ session, from: { channel: "bench", chat: "1" }, text: "hi", signal: new AbortController().signal });

/** The same with all but the newest rows in memory already, so that every turn shows the model as much. */
async function sayWithin(app: App, key: string): Promise<void> {
  const session = await app.sessions.getOrCreate(key);
  session.lastConsolidated = session.length - short;
  await say(app, key);
}

/** Asks in all chats in the same instant. */
async function repliesOf(home: string, memoryWindow: number): Promise<{ times: number[]; remembered: number }> {
  const keys = Array.from({ length: chats }, (_, number) => `bench:${number}`);
  const app = await openApp(home, memoryWindow, async (sessions) => {
    for (const key of keys) await grownSession(sessions, key, window);
  });
  const times = await Promise.all(keys.map((key) => milliseconds(() => say(app, key))));
  await app.close(60_000);
  const file = join(home, "workspace", "memory", "HISTORY.md");
  const history = existsSync(file) ? readFileSync(file, "utf8") : "";
  return { times, remembered: history.match(/^\[\d{4}-\d\d-\d\d \d\d:\d\d\]/gm)?.length ?? 0 };
}
