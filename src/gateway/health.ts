/** `/healthz`, `/readyz` and `/metrics` on loopback: whether it lives, whether it hears, and how much it does. */
import { createServer, type Server } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Ledger } from "./ledger.js";
import type { Lanes } from "./lanes.js";
import type { ChannelStatus } from "./supervisor.js";

export type HealthParts = {
  readonly ledger: Ledger;
  readonly lanes: Lanes;
  readonly channels: () => readonly ChannelStatus[];
  readonly version: string;
};

export type Status = {
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly ready: boolean;
  readonly channels: readonly ChannelStatus[];
  readonly lanes: { readonly lanes: number; readonly queued: number };
  readonly ledger: Awaited<ReturnType<Ledger["reports"]["summary"]>>;
  readonly residentBytes: number;
};

export function createHealth({ ledger, lanes, channels, version }: HealthParts) {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();

  const readiness = () => ({ ready: channels().every(({ state }) => state === "up"), channels: channels() });

  const status = async (): Promise<Status> => ({
    version,
    pid: process.pid,
    uptimeSeconds: Math.round(process.uptime()),
    ...readiness(),
    lanes: lanes.load(),
    ledger: await ledger.reports.summary(),
    residentBytes: process.memoryUsage.rss(),
  });

  const metrics = async (): Promise<string> => {
    const { Registry, Gauge } = await import("prom-client");
    const registry = new Registry();
    const gauge = (
      name: string,
      help: string,
      values: readonly (readonly [number, Readonly<Record<string, string>>])[],
    ): void => {
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
    const { oldestOpenAt } = now.ledger;
    const openSeconds = oldestOpenAt === undefined ? 0 : Math.max(0, Date.now() - oldestOpenAt) / 1000;
    gauge("oldest_open_seconds", "How long the oldest message without an outcome is here", [[openSeconds, {}]]);
    gauge(
      "messages",
      "Accepted messages by outcome",
      Object.entries(now.ledger.outcomes).map(([outcome, count]) => [count, { outcome }]),
    );
    gauge("resident_bytes", "Resident memory", [[now.residentBytes, {}]]);
    gauge("event_loop_delay_seconds", "99th percentile of the event loop's delay", [[delay.percentile(99) / 1e9, {}]]);
    return registry.metrics();
  };

  return {
    status,
    isReady: (): boolean => readiness().ready,
    /** Listens on loopback; resolves with the port. */
    async listen(host: string, port: number): Promise<{ server: Server; port: number }> {
      const server = createServer((request, response) => {
        const answer = (code: number, type: string, body: string): void => {
          response.writeHead(code, { "content-type": type, "cache-control": "no-store" }).end(body);
        };
        const json = (code: number, value: unknown): void => answer(code, "application/json", JSON.stringify(value));
        const respond = async (): Promise<void> => {
          const path = (request.url ?? "/").split("?")[0];
          if (request.method !== "GET") return json(405, { error: "only GET" });
          if (path === "/healthz") return json(200, { status: "ok" });
          if (path === "/readyz") {
            const now = readiness();
            return json(now.ready ? 200 : 503, now);
          }
          if (path === "/status") return json(200, await status());
          if (path === "/metrics") return answer(200, "text/plain; version=0.0.4", await metrics());
          return json(404, { error: "there is /healthz, /readyz, /status and /metrics" });
        };
        respond().catch(() => json(500, { error: "internal error" }));
      });
      server.requestTimeout = 5000;
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen(port, host, resolve);
      });
      const address = server.address();
      return { server, port: typeof address === "object" && address ? address.port : port };
    },
    close: () => delay.disable(),
  };
}
