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
  /** What it reads; absent: nothing. */
  readonly input?: string;
  /** The name by which {@link endLeftover} finds what is left of it; absent: nobody will ask. */
  readonly id?: string;
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
/** Who multiplies faster than we look cannot be frozen, only killed. */
const mostRounds = 20;

/** In the environment of everything that a command starts. */
const markOf = (id: string): string => `NANOGATE_EXEC=${id}`;

export function startGroup({ program, args, folder, env, input, id = randomUUID() }: Command): ProcessGroup {
  const child = spawn(program, [...args], {
    cwd: folder,
    env: { ...env, NANOGATE_EXEC: id },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    detached: true,
  });
  // Who does not read to the end need not.
  child.stdin?.on("error", () => {}).end(input);
  return { child, end: createEnding(child.pid, markOf(id)) };
}

/**
 * Ends what a process that is dead now has started under this id and could not end itself. Only where the system tells
 * who carries the mark.
 */
export const endLeftover = (id: string): Promise<void> => createEnding(undefined, markOf(id))();

function createEnding(pid: number | undefined, mark: string): () => Promise<void> {
  /** Everyone ever seen, because a child whose parent has died can no longer be told by its parents. */
  const known = new Map<number, Member>();

  /** Sends to the group and to those who left it. False: nobody is there. */
  const signalAll = async (...signals: NodeJS.Signals[]): Promise<boolean> => {
    const alive = await members(pid, mark, known);
    const targets = [...(pid === undefined ? [] : [-pid]), ...(alive ?? [])];
    for (const signal of signals) for (const target of targets) send(target, signal);
    return alive === undefined ? pid !== undefined && send(-pid, 0) : alive.length > 0;
  };

  /** Nobody moves until all are found: who is born between the look and the blow would lose the parent we know it by. */
  const freezeAll = async (): Promise<boolean> => {
    let anybody = false;
    for (let round = 0, before = -1; round < mostRounds && before < known.size; round++) {
      before = known.size;
      anybody = await signalAll("SIGSTOP");
    }
    return anybody;
  };

  const wait = async (patience: number): Promise<boolean> => {
    for (const end = performance.now() + patience; performance.now() < end; await sleep(pollMs)) {
      if (!(await signalAll())) return true;
    }
    return false;
  };

  return async () => {
    if (!(await freezeAll())) return;
    await signalAll("SIGTERM", "SIGCONT");
    if (await wait(graceMs)) return;
    await freezeAll();
    await signalAll("SIGKILL");
    await wait(patienceMs);
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
async function members(
  group: number | undefined,
  mark: string,
  known: Map<number, Member>,
): Promise<number[] | undefined> {
  if (process.platform !== "linux") return undefined;
  const names = await readdir("/proc").catch(() => undefined);
  const pids = names?.map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  if (!pids) return undefined;
  const all = await Promise.all(pids.map((pid) => look(pid, mark)));
  // A number may have gone to somebody else meanwhile, but not with the same hour of birth.
  const isKnown = ({ pid, born }: Member): boolean => known.get(pid)?.born === born;
  const family = new Map(
    all.filter((one) => one.group === group || one.marked || isKnown(one)).map((one) => [one.pid, one]),
  );
  for (let before = -1; before < family.size;) {
    before = family.size;
    for (const one of all) if (family.has(one.parent) || one.parent === group) family.set(one.pid, one);
  }
  for (const [pid, member] of family) known.set(pid, member);
  return [...family.values()].filter(({ alive }) => alive).map(({ pid }) => pid);
}

type Member = { pid: number; parent: number; group: number; born: string; alive: boolean; marked: boolean };

async function look(pid: number, mark: string): Promise<Member> {
  const [stat, environment] = await Promise.all(
    ["stat", "environ"].map((file) => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "")),
  );
  // The name in brackets may hold anything, so the fields are counted behind it.
  const fields = (stat ?? "").slice((stat ?? "").lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    born: fields[19] ?? "",
    // A zombie is only a name waiting to be read.
    alive: !["", "Z", "X"].includes(fields[0] ?? ""),
    marked: (environment ?? "").split("\0").includes(mark),
  };
}
