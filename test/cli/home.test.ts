/** The home folder: who may look into it, and what is said where it cannot be made or written. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { buildProgram, hasAnybody, openHome, program, runProgram } from "../support/cli.js";
import { openGateway } from "../support/gateway-process.js";
import { canMount } from "../support/small-disk.js";
import { temporaryFolder } from "../support/workspace.js";

beforeAll(buildProgram);

const commands = [
  ["gateway", ["gateway"]],
  ["chat", ["chat", "-m", "hi"]],
] as const;

/** Nobody may write there until the test is over. */
function close(folder: string): void {
  chmodSync(folder, 0o500);
  onTestFinished(() => chmodSync(folder, 0o700));
}

/** What went wrong, and what to do. */
const sentence = (reason: RegExp): RegExp => new RegExp(`^nanogate: .*${reason.source}.*\\n  → .*\\n$`);

describe.each(commands)("a home for nanogate %s", (name, command) => {
  it.runIf(hasAnybody)("that cannot be made is a sentence with the system's own reason", async () => {
    const above = temporaryFolder();
    close(above);
    const home = join(above, "some", "home");
    const { code, err } = await runProgram(command, { home, as: "anybody" });
    expect(err).toMatch(sentence(/home cannot be made: EACCES/));
    expect(err).toContain("--home");
    expect(code).toBe(1);
  });

  it.runIf(hasAnybody)("whose state cannot be written is a sentence", async () => {
    const home = openHome({ agents: { defaults: { model: "demo" } }, gateway: { port: 0 } });
    for (const folder of ["state", "workspace", "cron"]) mkdirSync(join(home, folder));
    if (name === "gateway") close(join(home, "state"));
    else {
      mkdirSync(join(home, "workspace", "sessions"));
      close(join(home, "workspace", "sessions"));
    }
    const { code, err } = await runProgram(command, { home, as: "anybody" });
    expect(err).toMatch(sentence(/cannot be used/));
    expect(code).toBe(1);
  });

  it.runIf(canMount)("on a disk that is read-only is a sentence", () => {
    const disk = temporaryFolder();
    const mount = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"';
    const run = [process.execPath, program, ...command, "--home", join(disk, "home")];
    const { status, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", mount, disk, ...run], { encoding: "utf8" });
    expect(stderr).toMatch(sentence(/EROFS/));
    expect(status).toBe(1);
  });
});

describe("a home that is made", () => {
  const modeOf = (path: string): number => statSync(path).mode & 0o777;

  it.each([
    ["chat", ["chat", "-m", "hi"]],
    ["cron add", ["cron", "add", "--every", "1h", "--message", "x", "--silent"]],
    ["doctor", ["doctor"]],
    ["memory log", ["memory", "log"]],
  ])("by %s is its owner's alone", async (_, command) => {
    const home = join(temporaryFolder(), "home");
    await runProgram(command, { home });
    expect(modeOf(home)).toBe(0o700);
  });

  it("by the gateway is its owner's alone; one that was there keeps its mode", async () => {
    const home = join(temporaryFolder(), "home");
    const env = { NANOBOT_GATEWAY__PORT: "0" };
    await (await openGateway({}, home, env)).stop();
    expect(modeOf(home)).toBe(0o700);
    chmodSync(home, 0o755);
    await (await openGateway({}, home, env)).stop();
    expect(modeOf(home)).toBe(0o755);
  });
});
