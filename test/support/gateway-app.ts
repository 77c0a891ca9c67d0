/** The whole gateway in this process, on a home of its own, with a model server on a real socket. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createGatewayApp } from "../../src/app/gateway.js";
import { loadSettings } from "../../src/config/load.js";
import { systemWorld } from "../../src/world.js";
import { type Answer, openFakeOpenAi } from "./fake-openai.js";
import { temporaryFolder } from "./workspace.js";

export type GatewayAppOptions = {
  readonly answers?: readonly Answer[];
  /** Of an earlier gateway: this one goes on there. */
  readonly home?: string;
  readonly config?: Readonly<Record<string, object>>;
};

export async function openGatewayApp({ answers = [], home = temporaryFolder(), config = {} }: GatewayAppOptions = {}) {
  const model = await openFakeOpenAi(...answers);
  const { agents, gateway, ...rest } = config as Record<string, Record<string, object> | undefined>;
  const settings = {
    agents: { defaults: { model: "test-model", provider: "custom", ...agents?.["defaults"] } },
    providers: { custom: { apiKey: "none", apiBase: model.url } },
    gateway: { port: 0, graceSeconds: 1, ...gateway },
    ...rest,
  };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.json"), JSON.stringify(settings));
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const app = await createGatewayApp({ settings: loadSettings(home, {}), world: systemWorld(log) });
  const ending = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  const port = await new Promise<number>((started, failed) => {
    ended = app.run(ending.signal, { started, ready: () => {} });
    ended.catch(failed);
  });
  const stop = async (): Promise<void> => {
    ending.abort();
    await ended;
  };
  onTestFinished(stop);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    home,
    workspace: join(home, "workspace"),
    model,
    warnings,
    stop,
    post: (path: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
      fetch(`${url}${path}`, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), ...init }),
  };
}
