/** What all commands have in common. */
import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { buildProgram, openHome, program, runMain } from "../support/cli.js";

beforeAll(buildProgram);

describe("nanogate", () => {
  it("helps when it is asked for help in words, too", async () => {
    const [words, flag] = [await runMain(["help"]), await runMain(["--help"])];
    expect(words).toEqual(flag);
    expect(words.code).toBe(0);
    for (const command of ["chat", "init", "ledger"]) {
      expect(await runMain(["help", command])).toEqual(await runMain([command, "--help"]));
    }
    expect((await runMain(["help", "chat"])).out).toContain("--message");
  });

  it("does not take an empty --home for the usual one", async () => {
    const { code, err } = await runMain(["doctor", "--home", ""]);
    expect(code).toBe(2);
    expect(err).toContain("It names no folder.");
  });

  it("lists the ledger by that word, too, with the same options", async () => {
    const home = openHome();
    for (const options of [[], ["--all"], ["--json"], ["--all", "--limit", "3"]]) {
      const listed = await runMain(["ledger", "list", ...options, "--home", home]);
      expect(listed).toEqual(await runMain(["ledger", ...options, "--home", home]));
      expect(listed.code).toBe(0);
    }
  });
});

const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"], { stdio: "ignore" }).status === 0;

describe.runIf(hasScript)("on a terminal", () => {
  const shown = (TERM: string): string => {
    const command = `${process.execPath} ${program} --home ${openHome()}`;
    const env = { PATH: process.env["PATH"], TERM };
    return spawnSync("script", ["-qec", command, "/dev/null"], { env, encoding: "utf8" }).stdout;
  };

  it("there are colours, unless it is a dumb one", () => {
    expect(shown("xterm")).toContain("\u001b[");
    expect(shown("dumb")).not.toContain("\u001b[");
    expect(shown("dumb")).toContain("nanogate chat");
  });
});
