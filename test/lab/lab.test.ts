/** A small set of kills of the real daemon; `.ci/run` does at least 200, `npm run chaos -- --kills 2000` the big run. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { runLab } from "./lab.js";

describe("the daemon between Telegram, Discord and a model", () => {
  beforeAll(() => {
    execFileSync("npm", ["run", "--silent", "build"], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      stdio: "ignore",
    });
  }, 120_000);

  it("loses nothing and doubles nothing when it is killed", { timeout: 120_000 }, async () => {
    const points = ["after tool start", "after send"];
    const report = await runLab({ seed: 7, kills: points.length, points });
    expect(report.violations).toEqual([]);
    expect(report.messages).toBeGreaterThan(6);
  });
});
