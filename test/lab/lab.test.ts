/** A small set of kills of the real daemon; `.ci/run` does at least 200, `npm run chaos -- --kills 2000` the big run. */
import { beforeAll, describe, expect, it } from "vitest";
import { buildProgram } from "../support/cli.js";
import { runLab } from "./lab.js";

describe("the daemon between Telegram, Discord and a model", () => {
  beforeAll(buildProgram);

  it("loses nothing and doubles nothing when it is killed", { timeout: 120_000 }, async () => {
    const points = ["after tool start", "after send"];
    const report = await runLab({ seed: 7, kills: points.length, points });
    expect(report.violations).toEqual([]);
    expect(report.messages).toBeGreaterThan(6);
  });
});
