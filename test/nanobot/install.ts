/**
 * Gets the real nanobot, each version in a virtual environment of its own. They are kept in the user's cache folder, so
 * that the second run starts at once; deleting that folder is always safe.
 */
import { execFile } from "node:child_process";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { errorCode, reasonOf } from "../../src/util/errors.js";

export const versions = ["0.1.4.post4", "0.2.2", "0.3.0"] as const;
export type Version = (typeof versions)[number];
/** The environment's interpreter, or why there is none. */
export type Installed = { readonly python: string } | { readonly missing: string };

declare module "vitest" {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- only an interface can be added to
  interface ProvidedContext {
    readonly nanobots: Readonly<Record<Version, Installed>>;
    readonly seed: number;
  }
}

/**
 * What the modules we drive really import. nanobot's full tree is some ninety packages, and nearly all of them are
 * chat platforms and model providers.
 */
const session = ["loguru", "pydantic", "pydantic-settings"];
const loop = [...session, "tiktoken", "httpx", "json-repair", "jinja2", "pyyaml", "filelock"];
const needs: Readonly<Record<Version, { readonly packages: readonly string[]; readonly module: string }>> = {
  "0.1.4.post4": { packages: session, module: "nanobot.session.manager" },
  "0.2.2": { packages: loop, module: "nanobot.agent.loop" },
  "0.3.0": { packages: loop, module: "nanobot.agent.loop" },
};

export async function setup({ provide }: TestProject): Promise<void> {
  const seed = Number(process.env["NANOGATE_SEED"] ?? 20260224);
  say(`seed ${seed} (NANOGATE_SEED=… for another)`);
  const found = await Promise.all(versions.map(async (version) => [version, await install(version)] as const));
  for (const [version, installed] of found) {
    if ("missing" in installed) say(`nanobot-ai ${version} SKIPPED: ${installed.missing}`);
  }
  provide("nanobots", Object.fromEntries(found) as Record<Version, Installed>);
  provide("seed", seed);
}

const say = (line: string): void => void process.stdout.write(`test:nanobot: ${line}\n`);
const run = promisify(execFile);
const windows = process.platform === "win32";
const pythonIn = (folder: string): string => join(folder, ...(windows ? ["Scripts", "python.exe"] : ["bin", "python"]));

async function install(version: Version): Promise<Installed> {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "nanogate", "nanobot-venvs");
  const place = join(cache, version);
  if (await works(version, pythonIn(place))) return { python: pythonIn(place) };
  say(`installing nanobot-ai ${version} …`);
  // Built aside, so that what stands at `place` is always complete, whoever else is installing at the same time.
  const building = `${place}.${process.pid}`;
  try {
    await mkdir(cache, { recursive: true });
    await run(windows ? "python" : "python3", ["-m", "venv", "--clear", building]);
    await pip(pythonIn(building), ["--no-deps", `nanobot-ai==${version}`]);
    await pip(pythonIn(building), needs[version].packages);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    return { missing: why(error) };
  }
  await rm(place, { recursive: true, force: true });
  await rename(building, place);
  if (await works(version, pythonIn(place))) return { python: pythonIn(place) };
  throw new Error(`nanobot-ai ${version} was installed but does not start; needs.packages may lack one it imports now`);
}

const works = (version: Version, python: string): Promise<boolean> =>
  run(python, ["-c", `import ${needs[version].module}`]).then(
    () => true,
    () => false,
  );

async function pip(python: string, packages: readonly string[]): Promise<void> {
  // Without a network an answer within seconds is worth more than many tries.
  const patience = ["--retries", "1", "--timeout", "20"];
  await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...patience, ...packages], {
    timeout: 300_000,
  });
}

/** One line for whoever wonders why nothing was tested. */
function why(error: unknown): string {
  if (errorCode(error) === "ENOENT") return "there is no python3 here";
  const output = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  if (/\bRetrying\b|connection|timed out/i.test(output)) return "the Python package index cannot be reached";
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const said = lines.findLast((line) => line.startsWith("ERROR:")) ?? lines.at(-1) ?? reasonOf(error);
  return `it cannot be installed here (${said.trim().slice(0, 300)})`;
}
