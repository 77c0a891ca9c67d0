/** Where the running gateway of a home can be asked: it says so in a small file while it listens. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Status } from "../gateway/health.js";
import { replaceFile } from "../util/atomic-write.js";
import type { World } from "../world.js";

export type Running = {
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  readonly startedAt: string;
};

const askMs = 5000;

const fileOf = (home: string): string => join(home, "state", "gateway.json");

/** Returns how to take it back. */
export async function announce(home: string, running: Running): Promise<() => Promise<void>> {
  await mkdir(join(home, "state"), { recursive: true });
  await replaceFile(fileOf(home), (file) => writeFile(file, `${JSON.stringify(running)}\n`));
  return () => rm(fileOf(home), { force: true });
}

/** The gateway that runs on a home, as it describes itself; undefined if none answers. */
export async function askGateway(
  home: string,
  fetch: World["fetch"],
): Promise<{ readonly running: Running; readonly status: Status } | undefined> {
  try {
    const running = JSON.parse(await readFile(fileOf(home), "utf8")) as Running;
    const answer = await fetch(`${addressOf(running)}/status`, { signal: AbortSignal.timeout(askMs) });
    const status = (await answer.json()) as Status;
    // The file may be from before a power cut, and the port somebody else's by now.
    return status.pid === running.pid ? { running, status } : undefined;
  } catch {
    return undefined;
  }
}

/** A gateway that listens everywhere listens here too. */
export function addressOf({ host, port }: Pick<Running, "host" | "port">): string {
  const here = ["0.0.0.0", "::", ""].includes(host) ? "127.0.0.1" : host;
  return `http://${here.includes(":") ? `[${here}]` : here}:${port}`;
}
