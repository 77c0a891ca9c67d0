/** `nanogate init` in a real terminal. */
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { buildProgram, openHome, program } from "../support/cli.js";

const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"], { stdio: "ignore" }).status === 0;

beforeAll(buildProgram);

describe.runIf(hasScript)("Ctrl-C in nanogate init", () => {
  /** What is typed when the screen shows `sign`; the exit code. */
  const typeAt = (command: string, sign: string, keys: string): Promise<number | null> =>
    new Promise((resolve) => {
      const child = spawn("script", ["-qefc", command, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] });
      let screen = "";
      const look = (text: Buffer): void => {
        screen += text.toString();
        if (!screen.includes(sign)) return;
        child.stdout.off("data", look).resume();
        child.stdin.write(keys);
      };
      child.stdout.on("data", look);
      child.on("close", resolve);
      onTestFinished(() => void child.kill());
    });
  const command = (...args: readonly string[]): string =>
    ["stty cols 80 rows 24;", process.execPath, program, "init", "--home", openHome({}), ...args].join(" ");

  it("at a question is no success", async () => {
    expect(await typeAt(command(), "Whose model", "\u0003")).toBe(1);
  });

  it("while a key is being tried is no success", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((listening) => silent.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void silent.close());
    onTestFinished(() => silent.closeAllConnections());
    const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    const answers = ["--provider", "custom", "--api-base", address, "--api-key", "k"];
    expect(await typeAt(command(...answers), "Trying it", "\u0003")).toBe(1);
  });
});
