/** `/healthz`, `/readyz`, `/status` and `/metrics`: whether it lives, whether it hears, and how much it does. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Ledger } from "./ledger.js";
import type { Lanes } from "./lanes.js";
import type { ChannelStatus } from "./supervisor.js";

export type HealthParts = {
  readonly ledger: Ledger;
  readonly lanes: Lanes;
  readonly channels: () => readonly ChannelStatus[];
  readonly version: string;
  /** Who answers. */
  readonly model: string;
  /** What cannot be written right now, and why. */
  readonly unwritten: ReadonlyMap<string, string>;
};

export type HealthAnswer = { readonly code: number; readonly type: string; readonly body: string };
export type Health = ReturnType<typeof createHealth>;

export type Status = {
  readonly version: string;
  readonly model: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly ready: boolean;
  readonly channels: readonly ChannelStatus[];
  readonly lanes: { readonly lanes: number; readonly queued: number };
  readonly ledger: Awaited<ReturnType<Ledger["reports"]["summary"]>>;
  /** What cannot be written right now, and why: a full disk, a file that is in the way. */
  readonly unwritten: Readonly<Record<string, string>>;
  readonly residentBytes: number;
  /** The 99th percentile of the last seconds. */
  readonly eventLoopDelayMs: number;
};

const delayWindowMs = 10_000;

export function createHealth({ ledger, lanes, channels, version, model, unwritten }: HealthParts) {
  const resolution = 20;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let since = performance.now();
  /** Of the time since somebody last asked, but not of less than a few seconds. It counts from tick to tick. */
  const eventLoopDelayMs = (): number => {
    const found = Math.max(0, delay.percentile(99) / 1e6 - resolution);
    if (performance.now() - since > delayWindowMs) {
      since = performance.now();
      delay.reset();
    }
    return Number.isFinite(found) ? Math.round(found * 10) / 10 : 0;
  };

  const readiness = () => ({ ready: channels().every(({ state }) => state === "up"), channels: channels() });

  const isReady = (): boolean => readiness().ready;

  const status = async (): Promise<Status> => ({
    version,
    model,
    pid: process.pid,
    uptimeSeconds: Math.round(process.uptime()),
    ...readiness(),
    lanes: lanes.load(),
    ledger: await ledger.reports.summary(),
    unwritten: Object.fromEntries(unwritten),
    residentBytes: process.memoryUsage.rss(),
    eventLoopDelayMs: eventLoopDelayMs(),
  });

  const metrics = async (): Promise<string> => {
    const { Registry, Gauge } = await import("prom-client");
    const registry = new Registry();
    const gauge = (
      name: string,
      help: string,
      values: readonly (readonly [number, Readonly<Record<string, string>>])[],
    ): void => {
      // Without a value it would be shown as a 0 of nobody.
      if (values.length === 0) return;
      const labelNames = Object.keys(values[0]?.[1] ?? {});
      const found = new Gauge({ name: `nanogate_${name}`, help, labelNames, registers: [registry] });
      for (const [value, labels] of values) found.set(labels, value);
    };
    const now = await status();
    gauge("up", "1 while the process runs", [[1, {}]]);
    gauge("ready", "1 if every channel hears its platform", [[now.ready ? 1 : 0, {}]]);
    gauge(
      "channel_up",
      "1 if the channel hears its platform",
      now.channels.map(({ name, state }) => [state === "up" ? 1 : 0, { channel: name }]),
    );
    gauge(
      "channel_last_alive_seconds",
      "When the platform was last heard",
      now.channels.map(({ name, lastAliveMs }) => [(lastAliveMs ?? 0) / 1000, { channel: name }]),
    );
    gauge(
      "channel_restarts",
      "How often the channel was started again",
      now.channels.map(({ name, restarts }) => [restarts, { channel: name }]),
    );
    gauge("lanes", "Sessions at work or waiting", [[now.lanes.lanes, {}]]);
    gauge("queued", "Messages at work or waiting", [[now.lanes.queued, {}]]);
    gauge("unsent", "Messages waiting to be sent", [[now.ledger.unsent, {}]]);
    gauge("unwritten", "Writes that fail and are tried again", [[unwritten.size, {}]]);
    const { oldestOpenAt } = now.ledger;
    const openSeconds = oldestOpenAt === undefined ? 0 : Math.max(0, Date.now() - oldestOpenAt) / 1000;
    gauge("oldest_open_seconds", "How long the oldest message without an outcome is here", [[openSeconds, {}]]);
    gauge(
      "messages",
      "Accepted messages by outcome",
      Object.entries(now.ledger.outcomes).map(([outcome, count]) => [count, { outcome }]),
    );
    gauge("resident_bytes", "Resident memory", [[now.residentBytes, {}]]);
    gauge("event_loop_delay_seconds", "99th percentile of the event loop's delay", [[now.eventLoopDelayMs / 1e3, {}]]);
    return registry.metrics();
  };

  return {
    status,
    isReady,
    /** What is said at one of the paths of health; undefined at any other. */
    async answer(path: string): Promise<HealthAnswer | undefined> {
      if (path === "/healthz") return json(200, { status: "ok" });
      if (path === "/readyz") return json(isReady() ? 200 : 503, readiness());
      if (path === "/status") return json(200, await status());
      if (path === "/metrics") return { code: 200, type: "text/plain; version=0.0.4", body: await metrics() };
      return undefined;
    },
    close: () => delay.disable(),
  };
}

const json = (code: number, value: unknown): HealthAnswer => ({
  code,
  type: "application/json",
  body: JSON.stringify(value),
});
