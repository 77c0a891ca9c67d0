/** The HTTP door before a house with real parts, and clients that speak to it over a real connection. */
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createMemoryFiles } from "../../src/agent/memory-files.js";
import { createFence } from "../../src/agent/tools/fence.js";
import type { Live, Viewer } from "../../src/gateway/live.js";
import type { Overview } from "../../src/http/api.js";
import { createAuth } from "../../src/http/auth.js";
import type { GuardSettings } from "../../src/http/guard.js";
import { createConversations } from "../../src/http/conversations.js";
import { createDoor, type DoorParts } from "../../src/http/door.js";
import { type HttpParts, listen } from "../../src/http/server.js";
import { openStore } from "../../src/session/open.js";
import { type HouseOptions, openHouse } from "./house.js";

const overview: Overview = {
  version: "0.0.0",
  model: "test/scripted",
  uptimeSeconds: 1,
  ready: true,
  channels: [],
  lanes: { lanes: 0, queued: 0 },
  ledger: { open: 0, unsent: 0, dead: 0, oldestOpenAt: undefined, outcomes: {} },
  residentBytes: 1,
  eventLoopDelayMs: 0,
};

export type DoorOptions = HouseOptions &
  Pick<DoorParts, "clock"> &
  Pick<HttpParts, "maxConnections"> & {
    readonly guard?: Partial<GuardSettings>;
    readonly tokens?: readonly string[];
    /** Done before the door sees a request. */
    readonly before?: (request: IncomingMessage) => Promise<void>;
  };

export async function openDoor(options: DoorOptions = {}) {
  const house = await openHouse(options);
  const auth = createAuth({ tokens: options.tokens ?? [], now: () => Date.now() });
  const store = openStore({ workspace: house.folder });
  const memory = {
    folder: join(house.folder, "memory"),
    state: join(house.folder, "state"),
    fence: createFence({ workspace: house.folder, userHome: house.folder, forbidden: [] }),
    clock: () => "2026-01-01T00:00:00",
    log: { warn: (message: string) => void house.warnings.push(message) },
    moveCursor: async () => {},
  };
  const { gateway, ledger, delivery } = house;
  const watching = new Set<Viewer>();
  const live: Live = {
    ...house.live,
    watch(viewer) {
      const stop = house.live.watch(viewer);
      watching.add(viewer);
      return () => {
        watching.delete(viewer);
        stop();
      };
    },
  };
  const log = { warn: (message: string) => void house.warnings.push(message) };
  const server = await listen(
    { host: "127.0.0.1", port: 0 },
    {
      health: {
        answer: async (path) => (path === "/healthz" ? { code: 200, type: "text/plain", body: "ok" } : undefined),
      },
      guard: { host: "127.0.0.1", names: [], origins: [], ...options.guard },
      auth,
      ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
      openDoor: async () => {
        const door = createDoor({
          live,
          accept: (message) => gateway.acceptOwn(message),
          outcomeOf: async (id) => (await ledger.reports.trace(id))?.entry.outcome,
          delivery,
          localDoors: ["fake"],
          auth,
          modelName: "test/scripted",
          version: "0.0.0",
          pageFolder: join(house.folder, "web"),
          mediaOf: (door) => join(house.folder, "media", door),
          now: () => Date.now(),
          resume: () => gateway.resume(),
          overview: async () => overview,
          conversations: createConversations({ sessions: house.sessions, store }),
          reports: ledger.reports,
          usage: ledger.usage,
          occurrences: ledger.occurrences,
          memory: { scope: "workspace", of: () => createMemoryFiles(memory) },
          ...(options.clock && { clock: options.clock }),
          log,
        });
        const { before } = options;
        if (!before) return door;
        return (request, response) => void before(request).then(() => door(request, response));
      },
      log,
    },
  );
  onTestFinished(async () => {
    await house.close();
    await server.close();
  });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    house,
    url,
    /** How many look on. */
    watching: (): number => watching.size,
    post: (path: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
      fetch(`${url}${path}`, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), ...init }),
  };
}

/** The events of a stream, as they come. */
export async function* eventsOf(response: Response): AsyncGenerator<Record<string, unknown>> {
  let text = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as Record<string, unknown>;
    }
  }
}
