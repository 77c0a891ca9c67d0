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
  /** Lets the owner's commands in, where a token is needed. */
  readonly key?: string;
};

const askMs = 5000;

const fileOf = (home: string): string => join(home, "state", "gateway.json");

/** Returns how to take it back. */
export async function announce(home: string, running: Running): Promise<() => Promise<void>> {
  await mkdir(join(home, "state"), { recursive: true });
  await replaceFile(fileOf(home), async (file) => {
    await file.chmod(0o600);
    await writeFile(file, `${JSON.stringify(running)}\n`);
  });
  return () => rm(fileOf(home), { force: true });
}

export type Asked =
  | { readonly kind: "running"; readonly running: Running; readonly status: Status }
  /** It is there and does not answer. */
  | { readonly kind: "mute"; readonly running: Running }
  | { readonly kind: "none" };

/** The gateway that runs on a home, as it describes itself. */
export async function askGateway(home: string, fetch: World["fetch"], patienceMs = askMs): Promise<Asked> {
  const running = await readRunning(home);
  if (!running) return { kind: "none" };
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const answer = await fetch(`${addressOf(running)}/status`, { signal, headers: keyOf(running) });
    const status = (await answer.json()) as Status;
    // The file may be from before a power cut, and the port somebody else's by now.
    return status.pid === running.pid ? { kind: "running", running, status } : { kind: "none" };
  } catch {
    return signal.aborted ? { kind: "mute", running } : { kind: "none" };
  }
}

/** What a request of the owner's commands carries. */
export const keyOf = ({ key }: Running): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

async function readRunning(home: string): Promise<Running | undefined> {
  try {
    return JSON.parse(await readFile(fileOf(home), "utf8")) as Running;
  } catch {
    return undefined;
  }
}

/** A gateway that listens everywhere listens here too. */
export function addressOf({ host, port }: Pick<Running, "host" | "port">): string {
  const here = ["0.0.0.0", "::", ""].includes(host) ? "127.0.0.1" : host;
  return `http://${here.includes(":") ? `[${here}]` : here}:${port}`;
}
