import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHealth } from "../../src/gateway/health.js";
import { createAuth } from "../../src/http/auth.js";
import { listen } from "../../src/http/server.js";
import { createLanes } from "../../src/gateway/lanes.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import type { ChannelStatus } from "../../src/gateway/supervisor.js";
import { temporaryFolder } from "../support/workspace.js";

async function openHealth(...states: ChannelStatus["state"][]) {
  const file = join(temporaryFolder(), "ledger.sqlite");
  const ledger = await openSqliteLedger({ file, now: () => Date.now(), reach: () => {} });
  const channels = states.map((state, at) => ({
    name: `c${at}`,
    state,
    lastAliveMs: state === "up" ? 1000 : undefined,
    restarts: at,
    reason: undefined,
  }));
  const unwritten = new Map<string, string>();
  const health = createHealth({
    ledger,
    lanes: createLanes({ limit: 1 }),
    channels: () => channels,
    version: "1.2.3",
    model: "m",
    unwritten,
  });
  const guard = { host: "127.0.0.1", names: [], origins: [] };
  const openDoor = async () => (_: IncomingMessage, response: ServerResponse) => void response.writeHead(404).end("{}");
  const auth = createAuth({ tokens: [], now: () => 0 });
  const log = { warn: () => {} };
  const server = await listen({ host: "127.0.0.1", port: 0 }, { health, guard, auth, openDoor, log });
  onTestFinished(async () => {
    health.close();
    await server.close();
    await ledger.close();
  });
  return {
    ledger,
    unwritten,
    get: async (path: string, method = "GET") => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
      const text = await response.text();
      return { status: response.status, text, json: (): unknown => JSON.parse(text) };
    },
  };
}

describe("health", () => {
  it.each([
    ["no channel at all", [], 200],
    ["all up", ["up", "up"], 200],
    ["one deaf", ["up", "deaf"], 503],
    ["one starting", ["starting"], 503],
    ["one down", ["up", "down"], 503],
  ] as const)("/readyz with %s", async (_, states, status) => {
    const { get } = await openHealth(...states);
    expect(await get("/readyz")).toMatchObject({ status });
    expect(await get("/healthz")).toMatchObject({ status: 200 });
  });

  it("/status tells version, channels, lanes and ledger", async () => {
    const { get, ledger } = await openHealth("up");
    await ledger.inbox.accept(
      { id: "1", from: { channel: "c0", chat: "x" }, sender: [], text: "hi", media: [] },
      "c0:x",
    );
    expect((await get("/status")).json()).toMatchObject({
      version: "1.2.3",
      pid: process.pid,
      ready: true,
      channels: [{ name: "c0", state: "up" }],
      lanes: { lanes: 0, queued: 0 },
      ledger: { open: 1, unsent: 0, dead: 0 },
    });
  });

  it("tells what cannot be written, until it can", async () => {
    const { get, unwritten } = await openHealth("up");
    unwritten.set("The session telegram:42", "EACCES: permission denied");
    expect((await get("/status")).json()).toMatchObject({
      unwritten: { "The session telegram:42": "EACCES: permission denied" },
    });
    expect((await get("/metrics")).text).toContain("nanogate_unwritten 1");
  });

  it("/metrics says nothing of channels where there are none", async () => {
    const { text } = await (await openHealth()).get("/metrics");
    expect(text).not.toContain("nanogate_channel");
    expect(text).toContain("nanogate_ready 1");
  });

  it("/metrics is Prometheus text", async () => {
    const { get } = await openHealth("up", "deaf");
    const { text } = await get("/metrics");
    const lines = text.trim().split("\n");
    const sample = /^[a-z_:][a-z0-9_:]*(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? -?[0-9.e+-]+$/i;
    for (const line of lines) {
      if (line !== "" && !/^# (HELP|TYPE) nanogate_\w+ .+/.test(line)) expect(line).toMatch(sample);
    }
    expect(lines).toContain('nanogate_channel_up{channel="c0"} 1');
    expect(lines).toContain('nanogate_channel_up{channel="c1"} 0');
    expect(lines).toContain("nanogate_ready 0");
    expect(lines).toContain("nanogate_oldest_open_seconds 0");
    const typed = lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(new Set(typed).size).toBe(typed.length);
  });
});
