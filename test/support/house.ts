/** A whole gateway with real parts (ledger, lanes, sessions, loop), a scripted model and a channel of our own. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createThinking, storeTurn, type Thought, type TurnInput } from "../../src/agent/turn.js";
import type { Tool } from "../../src/agent/tools/tool.js";
import type { Channel, Receipt, Sending } from "../../src/channels/channel.js";
import { createAccess } from "../../src/gateway/access.js";
import { createDelivery } from "../../src/gateway/delivery.js";
import { createGateway, type GatewaySettings } from "../../src/gateway/gateway.js";
import { createLanes } from "../../src/gateway/lanes.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { createLive } from "../../src/gateway/live.js";
import type { Ledger } from "../../src/gateway/ledger.js";
import type { Inbound, Row } from "../../src/message.js";
import type { SessionManager } from "../../src/session/manager.js";
import { openSessions } from "../../src/session/open.js";
import { type Line, scriptedModel } from "./scripted-model.js";
import { temporaryFolder } from "./workspace.js";

export type HouseOptions = {
  readonly model?: readonly Line[];
  readonly tools?: readonly Tool[];
  /** Somebody else who thinks. */
  readonly thinking?: (parts: {
    readonly sessions: SessionManager;
    readonly ledger: Ledger;
    readonly clock: () => string;
    readonly log: { readonly warn: (message: string) => void };
  }) => (input: TurnInput) => Promise<Thought>;
  readonly send?: (message: Sending) => Promise<Receipt>;
  /** What the channel can do besides. */
  readonly channel?: Partial<Channel>;
  /** Other channels than the one called `fake`. */
  readonly channels?: (time: HouseTime) => ReadonlyMap<string, Channel>;
  readonly settings?: Partial<GatewaySettings>;
  readonly limit?: number;
  /** The folder of an earlier house: its successor goes on there. */
  readonly folder?: string;
  /** A house with a fault, to see that the lab finds it. */
  readonly mutate?: (ledger: Ledger) => Ledger;
  readonly store?: (sessions: SessionManager, key: string, rows: readonly Row[]) => Promise<unknown>;
  /** Throws where the process should die. */
  readonly reach?: (point: string) => void;
};

/** The house's own time: it passes when the house is told so. */
export type HouseTime = {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** Stands for a process that was killed: whatever is still running finds the doors shut. */
export class Killed extends Error {}

export async function openHouse(options: HouseOptions = {}) {
  const folder = options.folder ?? temporaryFolder();
  mkdirSync(folder, { recursive: true });
  const heard: string[] = [];
  const sends: Sending[] = [];
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const time = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => time.now;
  let dead = false;
  const reach = (point: string): void => {
    if (dead) throw new Killed(point);
    try {
      options.reach?.(point);
    } catch (error) {
      // Any other error is a write or a send that failed.
      if (error instanceof Killed) dead = true;
      throw error;
    }
  };
  const sound = await openSqliteLedger({ file: join(folder, "ledger.sqlite"), now, reach });
  const ledger = options.mutate?.(sound) ?? sound;
  let clock = 0;
  const isoClock = (): string => new Date(Date.UTC(2026, 0, 1) + clock++).toISOString().replace("Z", "000");
  const sessions = openSessions({ workspace: folder, clock: isoClock, log });
  const { model, requests } = scriptedModel(options.model ?? [{ text: "ok" }]);
  const thinkOtherwise = options.thinking?.({ sessions, ledger, clock: isoClock, log });
  const think = createThinking({
    model,
    tools: options.tools ?? [],
    sessions,
    clock: isoClock,
    prompt: async () => "S",
    settings: { maxIterations: 10, toolResultMaxChars: 4000, toolCompaction: "view", maxTokens: 100 },
    store: { viewMessages: 100, toolsUsed: true, failed: "nothing", outOfSteps: "sentence" },
  });
  const channel: Channel = {
    run: async () => {},
    split: (text) => text.split("|"),
    ...options.channel,
    async send(message) {
      sends.push(message);
      const receipt = options.send ? await options.send(message) : { id: `r${sends.length}` };
      heard.push(`${message.to.chat}: ${message.kind === "text" ? message.text : message.path}`);
      return receipt;
    },
  };
  const lanes = createLanes({ limit: options.limit ?? 8 });
  /** What has passed, whatever the clock (`time.now`) is set to. */
  let passed = 0;
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  const slept: number[] = [];
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (dead) return reject(new Killed());
      slept.push(ms);
      const stop = (): void => {
        sleepers.delete(sleeper);
        reject(signal.reason as Error);
      };
      const wake = (): void => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const sleeper = { until: passed + ms, wake };
      sleepers.add(sleeper);
      signal.addEventListener("abort", stop, { once: true });
    });
  const channels = options.channels?.({ now, sleep }) ?? new Map([["fake", channel]]);
  const delivery = createDelivery({ outbox: ledger.outbox, channels, now, sleep, log, reach });
  const live = createLive();
  const gateway = createGateway({
    ledger,
    channels,
    access: createAccess(new Map([...channels.keys()].map((name) => [name, ["*"]]))),
    lanes,
    delivery,
    agent: {
      think: thinkOtherwise ?? think,
      store: async (key, rows, again) =>
        void (await (options.store ? options.store(sessions, key, rows) : storeTurn(sessions, key, rows, again))),
      runCommand: async (text) => {
        if (text.trim() === "/help") return { kind: "reply", text: "help" };
        return text.trim() === "/stop" ? { kind: "stop" } : undefined;
      },
      stopSubagents: () => 0,
    },
    settings: { maxQueue: 20, sendProgress: false, sendToolHints: false, ...options.settings },
    live,
    now,
    sleep,
    log,
    reach,
  });
  let count = 0;
  return {
    folder,
    time,
    ledger,
    gateway,
    live,
    lanes,
    delivery,
    sessions,
    requests,
    heard,
    sends,
    warnings,
    /** How long somebody wanted to sleep, each time. */
    slept,
    say: (chat: string, text: string, id = `${chat}/${count++}`): Promise<void> =>
      gateway.accept({ id, from: { channel: "fake", chat }, sender: ["ann"], text, media: [] } satisfies Inbound),
    /** Until nothing moves any more. */
    async settle(): Promise<void> {
      await lanes.idle();
      await delivery.idle();
    },
    /** Time passes, and whoever has slept enough wakes up; nobody is waited for. */
    wake(ms: number): void {
      time.now += ms;
      passed += ms;
      for (const sleeper of sleepers) {
        if (sleeper.until > passed) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
    /** Lets time pass, until nothing moves any more. */
    async later(ms: number): Promise<void> {
      this.wake(ms);
      await new Promise((done) => setImmediate(done));
      await this.settle();
    },
    outcomes: async () =>
      (await ledger.reports.entries("all", 1000)).map(({ text, outcome }) => `${text}: ${outcome}`).reverse(),
    async rows(chat: string): Promise<string[]> {
      const session = await openSessions({ workspace: folder, clock: isoClock, log }).getOrCreate(`fake:${chat}`);
      return session.slice(0).map(({ role, content }) => `${String(role)}: ${String(content)}`);
    },
    /** Leaves everything as a kill would: nothing is finished, nothing more is written. */
    kill(): void {
      dead = true;
      lanes.stopAll(new Killed());
      delivery.stop();
    },
    async close(): Promise<void> {
      dead = false;
      await gateway.shutdown(1000);
      await ledger.close();
      await sessions.close();
    },
  };
}
