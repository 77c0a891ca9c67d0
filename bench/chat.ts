/** `nanogate chat -m hi` from nothing to the answer, against a Node that does nothing at all; and its peak memory. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, median, race } from "./harness.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const program = join(root, "bin", "nanogate.js");
const rounds = 40;
const mostMegabytes = 100;

export const chat: Bench = {
  name: "chat",
  title: "One question to a program that has to start first",
  async run(folder) {
    spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`data: ${answer}\n\ndata: [DONE]\n\n`);
      });
    });
    await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
    const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const ask = (name: string, config: object): string[] => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "config.json"), JSON.stringify(config));
      return [program, "chat", "-m", "hi", "--home", join(folder, name)];
    };
    const commands = {
      "node -e 0": ["-e", "0"],
      "demo model": ask("demo", {}),
      "OpenAI protocol": ask("openai", {
        agents: { defaults: { model: "gpt-4o", provider: "custom" } },
        providers: { custom: { apiKey: "none", apiBase } },
      }),
    };
    const contestants = Object.fromEntries(
      Object.entries(commands).map(([name, args]) => [name, { work: () => run(folder, args), rounds }]),
    ) as Record<keyof typeof commands, { work: () => Promise<void>; rounds: number }>;
    const times = await race(contestants);
    const nothing = median(times["node -e 0"]);
    const measured = [];
    for (const [name, args] of Object.entries(commands)) {
      const ms = median(times[name as keyof typeof commands]);
      measured.push({
        command: name,
        "ms p50": ms,
        "x node -e 0": ms / nothing,
        "peak MB": await peakMegabytes(folder, args),
      });
    }
    server.close();
    const [, demo, openai] = measured;
    return {
      table: measured,
      targets: [
        atMost("demo model: time against node -e 0", demo?.["x node -e 0"] ?? Number.NaN, 4),
        atMost("OpenAI protocol: time against node -e 0", openai?.["x node -e 0"] ?? Number.NaN, 5),
        atMost("peak memory", Math.max(...measured.map((row) => row["peak MB"])), mostMegabytes, "MB"),
      ],
      notes: [
        "Each run is a new process in a workspace that exists; the demo model is found after looking for a local server.",
      ],
    };
  },
};

const answer = JSON.stringify({ choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] });

const environment = (home: string) => ({ PATH: process.env["PATH"], HOME: home });

/** Runs a command as a user would. */
function run(home: string, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { env: environment(home), stdio: "ignore" });
  return new Promise((resolve, reject) => {
    child
      .on("error", reject)
      .on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`It ended with ${code}.`))));
  });
}

/** The same, asked for its largest size in memory when it ends. */
function peakMegabytes(home: string, args: readonly string[]): Promise<number> {
  const report = join(home, "report.cjs");
  writeFileSync(report, reportScript);
  const child = spawn(process.execPath, ["--require", report, ...args], {
    env: environment(home),
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  let told = "";
  (child.stdio[3] as Readable).setEncoding("utf8").on("data", (text: string) => void (told += text));
  return new Promise((resolve) => child.on("close", () => resolve(Number(told))));
}

/** Of the process alone: what the system calls its maximum also counts the parent it was forked from. */
const reportScript = `
const { readFileSync, writeSync } = require("node:fs");
process.on("exit", () => {
  let peak = process.resourceUsage().maxRSS;
  try {
    peak = Number(/^VmHWM:\\s*(\\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  } catch {}
  writeSync(3, String(peak / 1024));
});
`;
