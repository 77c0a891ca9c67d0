/** Puts a command into a bubblewrap sandbox: the workspace writable, the rest read-only, secrets and state not there. */
import { realpath, stat } from "node:fs/promises";
import { sep } from "node:path";
import { runFile } from "../../util/run-file.js";
import type { Fence } from "./fence.js";
import type { Command } from "./process-group.js";

export type Sandbox = {
  /** Undefined: there is no sandbox on this machine. */
  wrap(command: Command): Promise<Command | undefined>;
};

export type SandboxParts = {
  readonly fence: Fence;
  /** The program; a test can name another. */
  readonly bwrap?: string;
  /** Folders below the home folder that commands may read all the same, such as a language's tools. */
  readonly readable?: readonly string[];
  readonly network?: boolean;
};

/** Does bubblewrap work on this machine at all? */
export async function hasSandbox(bwrap = "bwrap"): Promise<boolean> {
  try {
    await runFile(bwrap, ["--ro-bind", "/", "/", "true"], { timeout: 5000 });
    return true;
  } catch {
    return false;
  }
}

export function createSandbox({ fence, bwrap = "bwrap", readable = [], network = true }: SandboxParts): Sandbox {
  // Whether it works here does not change while we run: a kernel without user namespaces stays one.
  let works: Promise<boolean> | undefined;
  return {
    async wrap({ program, args, folder, env }) {
      const walls = [...base, ...(network ? [] : ["--unshare-net"]), ...(await mounts(fence, readable))];
      works ??= probe(bwrap, walls, env);
      if (!(await works)) return undefined;
      return { program: bwrap, args: [...walls, "--chdir", folder, "--", program, ...args], folder, env };
    },
  };
}

const base = [
  "--die-with-parent",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  // The superuser inside could otherwise mount things anew.
  "--cap-drop",
  "ALL",
];

const probeMs = 5000;

async function probe(bwrap: string, args: readonly string[], env: Command["env"]): Promise<boolean> {
  try {
    await runFile(bwrap, [...args, "--", "/bin/sh", "-c", "true"], { env, timeout: probeMs });
    return true;
  } catch {
    return false;
  }
}

type Mount = { readonly at: string; readonly args: readonly string[] };

/** From the root downwards: a mount hides what was mounted below it before. */
async function mounts(fence: Fence, readable: readonly string[]): Promise<string[]> {
  const workspace = await realpath(fence.workspace);
  const home = await realpath(fence.userHome).catch(() => sep);
  const list: Mount[] = [
    { at: "/dev", args: ["--dev", "/dev"] },
    { at: "/proc", args: ["--proc", "/proc"] },
    { at: "/tmp", args: ["--tmpfs", "/tmp"] },
    // Sockets of Docker, D-Bus and the like: whoever reaches them is out of the sandbox.
    { at: "/run", args: ["--tmpfs", "/run"] },
    { at: "/run/systemd/resolve", args: ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"] },
    // Keys, tokens, browser profiles. A home that holds the whole system is none.
    ...(home === sep || home === workspace ? [] : [{ at: home, args: ["--tmpfs", home] }]),
    ...readable.map((path) => ({ at: path, args: ["--ro-bind-try", path, path] })),
    { at: workspace, args: ["--bind", workspace, workspace] },
    ...(await hidden(fence)),
  ];
  const depth = ({ at }: Mount): number => at.split(sep).length;
  return ["--ro-bind", "/", "/", ...list.sort((a, b) => depth(a) - depth(b)).flatMap(({ args }) => args)];
}

/** What does not exist cannot be hidden: the sandbox would have to create it, in the real workspace. */
async function hidden({ forbidden }: Fence): Promise<Mount[]> {
  const list = await Promise.all(
    forbidden.map(async (path) => {
      const real = await realpath(path).catch(() => undefined);
      if (real === undefined) return [];
      const isFolder = (await stat(real)).isDirectory();
      return [{ at: real, args: isFolder ? ["--tmpfs", real] : ["--ro-bind", "/dev/null", real] }];
    }),
  );
  return list.flat();
}
