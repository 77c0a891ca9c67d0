/** A workspace of its own for each test, gone afterwards. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openSessions, type SessionOptions } from "../../src/session/open.js";

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nanogate-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}

/** A clock that stands still until it is moved. */
export function handClock(start: string): { (): string; now: string } {
  const clock = Object.assign(() => clock.now, { now: start });
  return clock;
}

export function openWorkspace(files: Readonly<Record<string, string | Buffer>> = {}) {
  const workspace = temporaryFolder();
  const folder = join(workspace, "sessions");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const clock = handClock("2026-06-30T12:34:56.654321");
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  return {
    workspace,
    folder,
    clock,
    warnings,
    log,
    names: () =>
      readdirSync(folder)
        .filter((name) => name !== ".nanogate.lock")
        .sort(),
    bytes: (name: string) => readFileSync(join(folder, name)),
    text: (name: string) => readFileSync(join(folder, name), "utf8"),
    open: (options: Partial<SessionOptions> = {}) => openSessions({ workspace, clock, log, ...options }),
  };
}
