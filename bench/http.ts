/** The HTTP door: requests a second with a model that answers at once, the first streamed word, clients that only wait. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, fdatasyncSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { Agent, createServer, get, request, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, median, percentile, race } from "./harness.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const program = join(root, "bin", "nanogate.js");
const idleClients = 1000;

export const http: Bench = {
  name: "http",
  title: "POST /v1/chat/completions with a model that answers at once, all writes durable; 1,000 idle event streams",
  async run(folder) {
    spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
    const bare = await bareServer();
    const daemon = await startGateway(join(folder, "home"));
    // Before anything else: what is there already would hide what they cost.
    const { before, after } = await idle(daemon);
    const loads = [];
    for (const [connections, requests] of [
      [1, 500],
      [100, 3000],
      [1000, 5000],
    ] as const) {
      // The same requests to a server that does nothing: what the client and the way there take.
      const nothing = await load(bare.url, connections, requests);
      await load(daemon.url, connections, connections);
      loads.push({ connections, nothing, gateway: await load(daemon.url, connections, requests) });
    }
    const alone = await oneByOne(daemon.url, join(folder, "writes"));
    await daemon.end();
    bare.close();
    const perClient = ((after - before) * 1024) / idleClients;
    return {
      table: loads.flatMap(({ connections, nothing, gateway }) => [
        row(`connections: ${connections}`, gateway),
        row(`connections: ${connections}, to a server that does nothing`, nothing),
      ]),
      targets: [
        atMost(`an answer, against ${writesOfATurn} durable writes`, median(alone.answer) / median(alone.writes), 3),
        atMost("the first streamed word, against the same", median(alone.word) / median(alone.writes), 2),
        atMost(`memory for each of ${idleClients} idle event streams`, perClient, 50, "kB"),
      ],
      notes: [
        `One by one: an answer takes ${times(alone.answer)}, the first streamed word ${times(alone.word)}, the writes alone ${times(alone.writes)}.`,
        `Resident: ${Math.round(before)} MB before, ${Math.round(after)} MB with ${idleClients} clients on /api/events.`,
        "Each connection asks again when it is answered, in a conversation of its own.",
      ],
    };
  },
};

type Load = { readonly times: number[]; readonly perSecond: number };

const row = (what: string, { times, perSecond }: Load) => ({
  what,
  "ms p50": median(times),
  "ms p99": percentile(times, 0.99),
  "requests/s": perSecond,
});

/** So many connections, each with its own conversation, until all requests are answered. */
async function load(url: string, connections: number, requests: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let left = requests;
  const start = performance.now();
  const ask = async (user: string): Promise<void> => {
    while (left-- > 0) {
      const begun = performance.now();
      const answer = await post(`${url}/v1/chat/completions`, agent, {
        user,
        messages: [{ role: "user", content: "hi" }],
      });
      if (answer.statusCode !== 200) throw new Error(`It was answered with ${answer.statusCode}.`);
      await once(answer.resume(), "end");
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, at) => ask(`user-${at}`)));
  const perSecond = (1000 * requests) / (performance.now() - start);
  agent.destroy();
  return { times, perSecond };
}

/** What the ledger and the session file write for a turn without tools, each made durable. */
const writesOfATurn = 8;

const times = (values: readonly number[]): string =>
  `${median(values).toFixed(1)} ms (p99 ${percentile(values, 0.99).toFixed(1)})`;

/** One request after the other, and in between what the disk alone takes for a turn. */
async function oneByOne(url: string, path: string) {
  const agent = new Agent({ keepAlive: true });
  const file = openSync(path, "a");
  const row = Buffer.alloc(4096, "x");
  let streaming: Promise<unknown> | undefined;
  const body = { user: "alone", messages: [{ role: "user", content: "hi" }] };
  const raced = await race({
    answer: {
      work: async () => once((await post(`${url}/v1/chat/completions`, agent, body)).resume(), "end"),
      rounds: 300,
    },
    word: {
      work: async () => {
        const answer = await post(`${url}/v1/chat/completions`, agent, { ...body, stream: true });
        streaming = once(answer, "end");
        await new Promise<void>((resolve) => {
          // The role comes at once, with an empty text.
          answer.on("data", (piece: Buffer) => piece.includes('"delta":{"content":"') && resolve());
        });
      },
      after: () => streaming,
      rounds: 300,
    },
    writes: {
      work: () => {
        for (let at = 0; at < writesOfATurn; at++) {
          writeSync(file, row);
          fdatasyncSync(file);
        }
      },
      rounds: 300,
    },
  });
  closeSync(file);
  agent.destroy();
  return raced;
}

async function post(url: string, agent: Agent | undefined, body: object): Promise<IncomingMessage> {
  const asking = request(url, { method: "POST", ...(agent && { agent }) });
  asking.end(JSON.stringify(body));
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return answer;
}

/** The memory of the gateway without anybody, and with many who only listen. */
async function idle({ url, resident }: Gateway): Promise<{ before: number; after: number }> {
  const connect = async (): Promise<IncomingMessage> => {
    const [answer] = (await once(get(`${url}/api/events`, { agent: false }), "response")) as [IncomingMessage];
    return answer.resume();
  };
  // What the first ones cost once is not theirs.
  const first = await Promise.all(Array.from({ length: 50 }, connect));
  const before = await resident();
  const all = [...first];
  while (all.length < idleClients + first.length) all.push(...(await Promise.all(Array.from({ length: 50 }, connect))));
  const after = await resident();
  for (const answer of all) answer.destroy();
  return { before, after };
}

type Gateway = { readonly url: string; readonly resident: () => Promise<number>; readonly end: () => Promise<void> };

async function startGateway(home: string): Promise<Gateway> {
  mkdirSync(home);
  const config = { agents: { defaults: { model: "demo" } }, gateway: { port: 0, heartbeat: { enabled: false } } };
  writeFileSync(join(home, "config.json"), JSON.stringify(config));
  const args = [program, "gateway", "--home", home];
  const environment = { PATH: process.env["PATH"], HOME: home };
  const daemon: ChildProcess = spawn(process.execPath, args, { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const kill = (): void => void daemon.kill("SIGKILL");
  process.once("exit", kill);
  await new Promise<void>((resolve) => {
    daemon.stderr?.on("data", (text: Buffer) => text.includes('"ready"') && resolve());
  });
  const { port } = JSON.parse(readFileSync(join(home, "state", "gateway.json"), "utf8")) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    /** The least of some seconds in which nothing is going on, in megabytes. */
    async resident() {
      const seen: number[] = [];
      for (let second = 0; second < 6; second++) {
        await wait(1000);
        const status = (await (await fetch(`${url}/status`)).json()) as { residentBytes: number };
        seen.push(status.residentBytes / 1024 / 1024);
      }
      return Math.min(...seen);
    },
    async end() {
      process.off("exit", kill);
      daemon.kill("SIGTERM");
      await once(daemon, "exit");
    },
  };
}

async function bareServer(): Promise<{ readonly url: string; readonly close: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((asked, response) => {
    asked.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  server.on("connection", (socket) => sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
