/** The command line, inside this process with a fake terminal, or as the real program. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { main } from "../../src/cli/main.js";
import { temporaryFolder } from "./workspace.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
export const program = join(root, "bin", "nanogate.js");

export type Printed = { readonly code: number | null; readonly out: string; readonly err: string };

/** Runs a command here; nobody looks at it unless told so. */
export async function runMain(args: readonly string[], looksOn: { terminal?: boolean } = {}): Promise<Printed> {
  const { terminal = false } = looksOn;
  let out = "";
  let err = "";
  const code = await main(args, {
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += text),
    outIsTerminal: terminal,
    errIsTerminal: terminal,
    columns: 60,
  });
  return { code, out, err };
}

/** A home with these settings; without any, the demo model answers. */
export function openHome(config: object = { agents: { defaults: { model: "demo" } } }): string {
  const home = temporaryFolder();
  writeFileSync(join(home, "config.json"), JSON.stringify(config));
  return home;
}

/** Settings for a fake model server. */
export const servedBy = (url: string, defaults: object = {}): object => ({
  agents: { defaults: { model: "gpt-4o", provider: "custom", ...defaults } },
  providers: { custom: { apiKey: "sk-secret", apiBase: url } },
});

export type RunOptions = {
  readonly home: string;
  /** What comes through the pipe; undefined: there is nothing to read. */
  readonly input?: string | Buffer;
  readonly env?: NodeJS.ProcessEnv;
  readonly onStart?: (child: ChildProcess) => void;
  /** As somebody whom the system refuses what the modes of files forbid, which it does not refuse to root. */
  readonly as?: "anybody";
};

/** What has to stand before a command so that modes of files count for root, too. */
const withoutPrivilege = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] as const;
const isRoot = process.getuid?.() === 0;
/** Can the program be run by somebody to whom modes of files mean something? */
export const hasAnybody = !isRoot || spawnSync(withoutPrivilege[0], [withoutPrivilege[1], "true"]).status === 0;

/** Runs the program as its users do. */
export function runProgram(args: readonly string[], { home, input, env, onStart, as }: RunOptions): Promise<Printed> {
  const before = as === "anybody" && isRoot ? withoutPrivilege : [];
  const [command = "", ...rest] = [...before, process.execPath, program, ...args, "--home", home];
  const child = spawn(command, rest, {
    env: { PATH: process.env["PATH"], HOME: home, TZ: "UTC", ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => void (out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => void (err += text));
  child.stdin?.on("error", () => {}).end(input);
  onStart?.(child);
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve({ code, out, err }));
  });
}

/** Builds the program if its sources are newer; two test files do not build at the same time. */
export async function buildProgram(): Promise<void> {
  const built = join(root, "dist", "bundle", "main.cjs.cache");
  const building = join(root, "dist", ".building");
  mkdirSync(join(root, "dist"), { recursive: true });
  for (let waited = 0; ; waited += 100) {
    if (changedAt(built) > Math.max(newestIn(join(root, "src")), newestIn(join(root, "test", "lab")))) return;
    try {
      mkdirSync(building);
      break;
    } catch {
      if (waited > 20_000) rmSync(building, { recursive: true, force: true }); // whoever built has died
      await sleep(100);
    }
  }
  const { status, stderr } = spawnSync(process.execPath, ["scripts/bundle.js"], { cwd: root, encoding: "utf8" });
  rmSync(building, { recursive: true });
  if (status !== 0) throw new Error(`The program cannot be built:\n${stderr}`);
}

const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const newestIn = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => changedAt(join(folder, name))),
    changedAt(join(root, "scripts", "bundle.js")),
  );
