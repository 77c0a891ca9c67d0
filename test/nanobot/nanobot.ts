/** A running nanobot, spoken to through driver.py, and what both programs are compared by. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { pythonJson, type PythonValue } from "../../src/session/python-json.js";
import type { Session } from "../../src/session/session.js";
import type { Version } from "./install.js";
import type { Step } from "./turns.js";

/** Everything that is stored of a session; metadata, cursor and rows as the text Python prints for them. */
export type Snapshot = {
  readonly key: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly metadata: string;
  readonly lastConsolidated: string;
  readonly rows: readonly string[];
};

export const snapshotOf = (session: Session): Snapshot => ({
  key: session.key,
  createdAt: session.createdAt,
  updatedAt: session.updatedAt,
  metadata: pythonJson(session.metadata),
  lastConsolidated: pythonJson(session.lastConsolidated),
  rows: session.slice(0).map((row) => pythonJson(row)),
});

export const historyOf = (session: Session, max?: number): string[] =>
  session.history(max).map((entry) => pythonJson(entry));

export type Nanobot = ReturnType<typeof startNanobot>;

/** Starts a nanobot. Its home folder is an empty one: nobody's real sessions are ever touched. */
export function startNanobot(version: Version) {
  const installed = inject("nanobots")[version];
  if ("missing" in installed) throw new Error(installed.missing);
  const home = mkdtempSync(join(tmpdir(), "nanogate-home-"));
  const child = spawn(installed.python, [fileURLToPath(new URL("driver.py", import.meta.url))], {
    env: { ...process.env, HOME: home, USERPROFILE: home, PYTHONDONTWRITEBYTECODE: "1" },
  });
  const waiting: { readonly resolve: (line: string) => void; readonly reject: (error: Error) => void }[] = [];
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = `${complaints}${text}`.slice(-4000);
  });
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.resolve(line));
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => {
      for (const { reject } of waiting.splice(0)) reject(new Error(`nanobot ${version} ended: ${complaints}`));
      rmSync(home, { recursive: true, force: true });
      resolve();
    });
  });

  return {
    version,
    /** The same program on a workspace. */
    at(workspace: string) {
      const ask = async <T>(what: string, parts: Readonly<Record<string, unknown>>): Promise<T> => {
        const line = await new Promise<string>((resolve, reject) => {
          waiting.push({ resolve, reject });
          child.stdin.write(`${pythonJson({ workspace, do: what, with: parts }, { ascii: true })}\n`);
        });
        const { answer, error } = JSON.parse(line) as { answer: T; error?: string };
        if (error !== undefined) throw new Error(`nanobot ${version}, ${what}: ${error}`);
        return answer;
      };
      return {
        load: (key: string) => ask<Snapshot>("load", { key }),
        /** Reads the session and writes it back as it is. */
        save: (key: string) => ask<Snapshot>("save", { key }),
        turn: (key: string, steps: readonly Step[]) => ask<Snapshot>("turn", { key, steps }),
        history: (key: string, max?: number) => ask<string[]>("history", { key, max: max ?? null }),
        list: () => ask<{ readonly key: string; readonly file: string }[]>("list", {}),
        /** Dies in the middle of a turn. */
        checkpoint: (key: string, checkpoint: PythonValue) => ask<Snapshot>("checkpoint", { key, checkpoint }),
        /** Begins a turn, without saving: was there something left to settle, and what came of it? */
        resume: (key: string) => ask<{ readonly resumed: boolean; readonly session: Snapshot }>("resume", { key }),
      };
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

export type NanobotAt = ReturnType<Nanobot["at"]>;

/** The same tests for each version that could be installed; the others are skipped and say why. */
export function describeEach(
  wanted: readonly Version[],
  tests: (nanobot: () => Nanobot, version: Version) => void,
): void {
  for (const version of wanted)
    describeWith(`nanobot ${version}`, [version], (start) => tests(() => start(version), version));
}

/** Tests that need all of `wanted` at once. Each is one process for as long as the tests last. */
export function describeWith(
  name: string,
  wanted: readonly Version[],
  tests: (nanobot: (version: Version) => Nanobot) => void,
): void {
  const missing = wanted.flatMap((version) => {
    const installed = inject("nanobots")[version];
    return "missing" in installed ? [installed.missing] : [];
  });
  describe.skipIf(missing.length > 0)([name, ...missing].join(": "), () => {
    const running = new Map<Version, Nanobot>();
    beforeAll(() => {
      for (const version of wanted) running.set(version, startNanobot(version));
    });
    afterAll(async () => {
      for (const nanobot of running.values()) await nanobot.stop();
    });
    tests((version) => {
      const nanobot = running.get(version);
      if (!nanobot) throw new Error(`nanobot ${version} is not running`);
      return nanobot;
    });
  });
}
