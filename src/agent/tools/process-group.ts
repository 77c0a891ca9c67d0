/** Starts a command as the leader of its own process group, and ends it with everything it has started. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export type Command = {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

export type ProcessGroup = {
  readonly child: ChildProcess;
  /** Asks all to end, then makes them, in well under a second. Resolves when none is left. */
  end(): Promise<void>;
};

/** Time to tidy up between SIGTERM and SIGKILL. */
const graceMs = 400;
const pollMs = 20;
/** A process stuck in the kernel cannot be killed; then we stop waiting. */
const patienceMs = 500;

export function startGroup({ program, args, folder, env }: Command): ProcessGroup {
  const mark = `NANOGATE_EXEC=${randomUUID()}`;
  const child = spawn(program, [...args], {
    cwd: folder,
    env: { ...env, [mark.slice(0, mark.indexOf("="))]: mark.slice(mark.indexOf("=") + 1) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { pid } = child;

  /** Sends to the group and to those who left it. False: nobody is there. */
  const signalAll = async (signal: NodeJS.Signals | 0): Promise<boolean> => {
    if (pid === undefined) return false;
    const anybody = send(-pid, signal);
    const known = await members(pid, mark);
    for (const member of known ?? []) send(member, signal);
    return known === undefined ? anybody : known.length > 0;
  };

  const wait = async (patience: number): Promise<boolean> => {
    for (let waited = 0; waited < patience; waited += pollMs) {
      if (!(await signalAll(0))) return true;
      await sleep(pollMs);
    }
    return false;
  };

  return {
    child,
    async end() {
      if (!(await signalAll("SIGTERM")) || (await wait(graceMs))) return;
      await signalAll("SIGKILL");
      // Who is born between the look and the blow is found by the next look.
      for (let round = 0; round < 3 && !(await wait(patienceMs / 3)); round++) await signalAll("SIGKILL");
    },
  };
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/**
 * Who is alive of a group, and of those who left it (`setsid`, daemons) but carry its mark in their environment or
 * descend from one that does. One that empties its environment and gives up its parents escapes; only the sandbox
 * holds that. Undefined where the system does not tell.
 */
async function members(group: number, mark: string): Promise<number[] | undefined> {
  if (process.platform !== "linux") return undefined;
  const names = await readdir("/proc").catch(() => undefined);
  const pids = names?.map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  if (!pids) return undefined;
  const all = await Promise.all(pids.map((pid) => look(pid, mark)));
  const family = new Set(all.filter((one) => one.group === group || one.marked).map(({ pid }) => pid));
  for (let before = -1; before < family.size;) {
    before = family.size;
    for (const { pid, parent } of all) if (family.has(parent) || parent === group) family.add(pid);
  }
  return all.filter(({ pid, alive }) => alive && family.has(pid)).map(({ pid }) => pid);
}

type Member = { pid: number; parent: number; group: number; alive: boolean; marked: boolean };

async function look(pid: number, mark: string): Promise<Member> {
  const [stat, environment] = await Promise.all(
    ["stat", "environ"].map((file) => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "")),
  );
  // The name in brackets may hold anything, so the fields are counted behind it: state, parent, group.
  const [state = "", parent, group] = (stat ?? "").slice((stat ?? "").lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    // A zombie is only a name waiting to be read.
    alive: !["", "Z", "X"].includes(state),
    marked: (environment ?? "").split("\0").includes(mark),
  };
}
