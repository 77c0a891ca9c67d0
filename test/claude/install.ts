/**
 * Gets the real claude command from the package registry into the user's cache folder, so that the second run starts at
 * once; deleting that folder is always safe. It is no dependency of ours, and nothing of it is shipped.
 */
import { execFile } from "node:child_process";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { reasonOf } from "../../src/util/errors.js";

declare module "vitest" {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- only an interface can be added to
  interface ProvidedContext {
    /** The command and its version, or why there is none. */
    readonly claude: { readonly command: string; readonly version: string } | { readonly missing: string };
  }
}

const wanted = process.env["NANOGATE_CLAUDE_VERSION"] ?? "latest";
const run = promisify(execFile);
const say = (line: string): void => void process.stdout.write(`test:claude: ${line}\n`);

export async function setup({ provide }: TestProject): Promise<void> {
  const found = await install();
  say(
    "missing" in found
      ? `SKIPPED: ${found.missing}`
      : `claude ${found.version} (NANOGATE_CLAUDE_VERSION=… for another)`,
  );
  provide("claude", found);
}

async function install(): Promise<{ command: string; version: string } | { missing: string }> {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "nanogate", "claude");
  try {
    const { stdout } = await run("npm", ["view", `@anthropic-ai/claude-code@${wanted}`, "version"], {
      timeout: 60_000,
    });
    const version = stdout.trim();
    const place = join(cache, version);
    const command = join(place, "node_modules", ".bin", "claude");
    if (await works(command, version)) return { command, version };
    say(`installing ${version} …`);
    const building = `${place}.${process.pid}`;
    await mkdir(building, { recursive: true });
    const args = ["install", "--prefix", building, "--no-audit", "--no-fund", `@anthropic-ai/claude-code@${version}`];
    await run("npm", args, { timeout: 300_000 });
    await rm(place, { recursive: true, force: true });
    await rename(building, place);
    return (await works(command, version)) ? { command, version } : { missing: "it was installed, but does not start" };
  } catch (error) {
    return { missing: `it cannot be installed here (${reasonOf(error).split("\n")[0]})` };
  }
}

/** Nothing of the environment reaches it: it could be running inside of another one. */
const works = (command: string, version: string): Promise<boolean> =>
  run(command, ["--version"], { env: { PATH: process.env["PATH"], HOME: "/nonexistent" }, timeout: 30_000 }).then(
    ({ stdout }) => stdout.startsWith(version),
    () => false,
  );
