/** A small set of kills of the real daemon; `.ci/run` does at least 200, `npm run chaos -- --kills 2000` the big run. */
import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { buildProgram } from "../support/cli.js";
import { temporaryFolder } from "../support/workspace.js";
import { runLab } from "./lab.js";

describe("the daemon between Telegram, Discord and a model", () => {
  beforeAll(buildProgram);

  it("loses nothing and doubles nothing when it is killed", { timeout: 120_000 }, async () => {
    const points = ["after tool start", "after send", "after occurrence", "after cron accept"];
    const report = await runLab({ seed: 7, kills: points.length, points });
    expect(report).toMatchObject({ violations: [], evidence: [] });
    expect(report.messages).toBeGreaterThan(6);
  });

  it("is not left behind, nor anything of it, by a run that is stopped", { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    vi.stubEnv("TMPDIR", folder);
    const stop = new AbortController();
    const run = runLab({ seed: 7, kills: 5, points: ["after send"], signal: stop.signal, onKill: () => stop.abort() });
    await expect(run).rejects.toThrow("aborted");
    expect(readdirSync(folder)).toEqual([]);
    vi.unstubAllEnvs();
  });
});
