/** What a command may see, use up and leave behind. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ExecParts, execTool } from "../../../src/agent/tools/exec.js";
import { createPublicAddresses } from "../../../src/agent/tools/public-address.js";
import { type Bench, call, openBench } from "./bench-of-tools.js";

const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], LANG: "C.UTF-8", SECRET_TOKEN: "sk-secret" };
const execOf = (bench: Bench, more: Partial<ExecParts> = {}) =>
  execTool({ fence: bench.fence, env, sandbox: "off", ...more });

/** Command lines of the processes that carry a word of the test. */
const runningWith = (word: string): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return line.includes(word) && !line.includes("vitest") ? [line] : [];
      } catch {
        return [];
      }
    });

/** A number of seconds nobody else sleeps for. */
const ownSeconds = (): string => `${1000 + Math.floor(Math.random() * 1e6)}.${process.pid}`;

describe("a command", () => {
  it("runs in the workspace and shows output, errors and the exit code", async () => {
    const bench = openBench();
    expect(await call(execOf(bench), { command: "pwd; echo oops >&2; exit 3" })).toBe(
      `${bench.workspace}\n\nSTDERR:\noops\n\n\nExit code: 3`,
    );
    expect(await call(execOf(bench), { command: "true" })).toBe("(no output)\n\nExit code: 0");
  });

  it("has no input to wait for", async () => {
    expect(await call(execOf(openBench()), { command: "cat; echo done" })).toContain("done");
  });

  it("runs in a folder below, and in none outside", async () => {
    const bench = openBench();
    mkdirSync(bench.at("sub"));
    symlinkSync("/etc", bench.at("link"));
    expect(await call(execOf(bench), { command: "pwd", working_dir: "sub" })).toContain(bench.at("sub"));
    for (const working_dir of ["/etc", "..", "link", "~"]) {
      expect(await call(execOf(bench), { command: "pwd", working_dir })).toContain("outside allowed directory");
    }
    expect(await call(execOf(bench), { command: "pwd", working_dir: "sessions" })).toContain("out of reach");
    expect(await call(execOf(bench), { command: "pwd", working_dir: "none" })).toContain("not a folder");
  });

  it("sees a handful of harmless variables, and what the owner allows", async () => {
    const bench = openBench();
    process.env["NANOGATE_TEST_SECRET"] = "sk-secret";
    try {
      const shown = await call(execOf(bench), { command: "env; cat /proc/self/environ | tr '\\0' '\\n'" });
      expect(shown).toContain("blocked");
      const seen = await call(execOf(bench), { command: "env" });
      expect(seen).not.toContain("sk-secret");
      expect(seen).toContain("LANG=C.UTF-8");
      expect(await call(execOf(bench, { allowedEnvKeys: ["SECRET_TOKEN"] }), { command: "env" })).toContain(
        "sk-secret",
      );
    } finally {
      delete process.env["NANOGATE_TEST_SECRET"];
    }
  });

  it("is cut in the middle when it says much, and bounded in memory when it never stops", async () => {
    const bench = openBench();
    const long = await call(execOf(bench), {
      command: "printf 'start'; head -c 50000 /dev/zero | tr '\\0' x; printf end",
    });
    expect(long.length).toBeLessThan(10_200);
    expect(long).toMatch(/^startx{4995}\n\n\.\.\. \(40,008 chars truncated\) \.\.\.\n\nx{4997}end\n\nExit code: 0$/);
    const before = process.memoryUsage().rss;
    expect(await call(execOf(bench), { command: "yes", timeout: 5 })).toMatch(/wrote more than 64 MB|timed out/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  it.each([
    "rm -rf /",
    "rm -rfv x",
    "rm --recursive x",
    "RM -R x",
    "echo hi; mkfs.ext4 /dev/sda",
    "dd if=/dev/zero of=x",
    "echo x > /dev/sda",
    "sudo reboot",
    ":(){ :|:& };:",
    "cat /proc/1/environ",
  ])("is refused at once if it looks dangerous: %s", async (command) => {
    expect(await call(execOf(openBench()), { command })).toContain("Command blocked by safety guard");
  });

  it.each([
    "cat sessions/telegram_42.jsonl",
    "cd sessions && ls",
    "cat ./sessions/*",
    "cat ~/config.json",
    'cat "$HOME/config.json"',
    "cat ../config.json",
  ])("without a sandbox is refused if it names what is out of reach: %s", async (command) => {
    expect(await call(execOf(openBench()), { command })).toContain("out of reach");
  });

  it("is refused if it names an internal address", async () => {
    const bench = openBench();
    const addresses = createPublicAddresses({
      allowed: ["10.1.2.3"],
      resolve: async (host) => [{ address: host === "inner.example" ? "10.0.0.1" : "93.184.215.14", family: 4 }],
    });
    const exec = execOf(bench, { addresses });
    for (const url of [
      "http://127.0.0.1:8080/",
      "http://169.254.169.254/latest",
      "https://inner.example/x",
      "http://0x7f.1",
    ]) {
      expect(await call(exec, { command: `echo '${url}'` })).toContain("internal or private address");
    }
    for (const url of ["http://10.1.2.3/", "https://example.com/"]) {
      expect(await call(exec, { command: `echo ${url}` })).toContain("Exit code: 0");
    }
  });

  it("takes numbers as models write them, within limits", async () => {
    const bench = openBench();
    expect(await call(execOf(bench), { command: "echo ok", timeout: "30" })).toContain("ok");
    expect(await call(execOf(bench), { command: "echo ok", timeout: 601 })).toContain("Invalid parameters");
    expect(await call(execOf(bench), { command: "" })).toContain("Invalid parameters");
  });

  it("that cannot be started says so", async () => {
    const bench = openBench();
    expect(await call(execOf(bench), { command: `: ${"x".repeat(99_000)}` })).toContain("Exit code: 0");
    expect(await call(execOf(bench), { command: "x".repeat(200_000) })).toContain("Invalid parameters");
  });
});

describe("when a command ends, nothing of it stays", () => {
  const children = (seconds: string): string =>
    [
      `sleep ${seconds} &`,
      `(sleep ${seconds} &)`,
      `setsid sleep ${seconds} &`,
      `nohup setsid sh -c 'trap "" TERM; sleep ${seconds}; true' >/dev/null 2>&1 &`,
      `env -i /bin/sh -c 'setsid sleep ${seconds} & wait' &`,
    ].join("\n");

  it("after its time is up", async () => {
    const seconds = ownSeconds();
    const start = performance.now();
    const result = await call(execOf(openBench()), { command: `echo begun; ${children(seconds)}\nwait`, timeout: 1 });
    expect(result).toContain("Error: Command timed out after 1 seconds\nOutput so far:\nbegun");
    expect(runningWith(seconds)).toEqual([]);
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  it("after it was stopped", async () => {
    const seconds = ownSeconds();
    const stop = new AbortController();
    const command = `${children(seconds)}\ntrap '' TERM; wait; sleep ${seconds}`;
    const running = call(execOf(openBench()), { command, timeout: 600 }, { signal: stop.signal });
    const outcome = expect(running).rejects.toThrow("enough");
    for (let tries = 0; tries < 500 && runningWith(seconds).length < 5; tries++) await sleep(20);
    stop.abort(new Error("enough"));
    await outcome;
    expect(runningWith(seconds)).toEqual([]);
  });

  it("after it ended by itself and left something in the background", async () => {
    const seconds = ownSeconds();
    const command = `sleep ${seconds} & setsid sleep ${seconds} & echo left`;
    expect(await call(execOf(openBench()), { command, timeout: 600 })).toBe("left\n\n\nExit code: 0");
    expect(runningWith(seconds)).toEqual([]);
  });

  it("and nothing begins if it was stopped before", async () => {
    const bench = openBench();
    const result = call(execOf(bench), { command: "touch made" }, { signal: AbortSignal.abort(new Error("too late")) });
    await expect(result).rejects.toThrow("too late");
    expect(existsSync(bench.at("made"))).toBe(false);
  });
});

describe("without bubblewrap", () => {
  it("commands run all the same if it was only wished for, and not if it is required", async () => {
    const bench = openBench();
    const bwrap = "/nonexistent/bwrap";
    expect(await call(execOf(bench, { sandbox: "auto", bwrap }), { command: "echo ok" })).toContain("ok");
    expect(await call(execOf(bench, { sandbox: "required", bwrap }), { command: "echo ok" })).toContain(
      "Error: Commands may only run in a sandbox",
    );
  });
});

const bwrap = process.env["NANOGATE_TEST_BWRAP"] ?? "bwrap";
const hasSandbox = (() => {
  try {
    execFileSync(bwrap, ["--ro-bind", "/", "/", "--unshare-pid", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasSandbox)("in the sandbox", () => {
  const boxed = (bench: Bench) => execOf(bench, { sandbox: "required", bwrap, env: { ...env, HOME: bench.home } });

  it("the workspace is writable and the rest is not", async () => {
    const bench = openBench();
    expect(await call(boxed(bench), { command: "echo hi > made.txt; touch /usr/x /etc/x /var/x" })).toContain(
      "Read-only",
    );
    expect(readFileSync(bench.at("made.txt"), "utf8")).toBe("hi\n");
    expect(existsSync("/usr/x") || existsSync("/etc/x") || existsSync("/var/x")).toBe(false);
  });

  it("sessions, configuration and the rest of the home are not there", async () => {
    const bench = openBench();
    mkdirSync(join(bench.home, ".ssh"));
    writeFileSync(join(bench.home, ".ssh/id"), "the secret key");
    const command = "cat sess*/* ../conf* ../.ssh/id; find .. -type f -exec cat {} +; ls -la .. sess*";
    expect(await call(boxed(bench), { command })).not.toContain("the secret");
    const escape = "rm -d sess* ; mv sess* elsewhere; umount $PWD/sess*; cat elsewhere/* sess*/*";
    expect(await call(boxed(bench), { command: escape })).not.toContain("the secret");
    expect(readFileSync(bench.at("sessions/telegram_42.jsonl"), "utf8")).toContain("the secret");
  });

  it("other processes, their environment and their sockets are not there", async () => {
    const bench = openBench();
    expect(await call(boxed(bench), { command: "ls -d /proc/[0-9]* | wc -l" })).toMatch(/^[1-6]\n/);
    expect(await call(boxed(bench), { command: "ls /run | grep -v systemd" })).toContain("(no output)");
  });

  it("has no network where the owner wants none", async () => {
    const exec = execOf(openBench(), { sandbox: "required", bwrap, sandboxNetwork: false });
    expect(await call(exec, { command: "cat /proc/net/route | wc -l" })).toMatch(/^1\n/);
  });

  it("nothing stays, not even what gave up its parents and its environment", async () => {
    const seconds = ownSeconds();
    const command = `env -i setsid -f sleep ${seconds}; (env -i setsid sleep ${seconds} &); sleep 1`;
    expect(await call(boxed(openBench()), { command, timeout: 20 })).toContain("Exit code: 0");
    expect(runningWith(seconds)).toEqual([]);
    expect(await call(boxed(openBench()), { command: `${command}; sleep ${seconds}`, timeout: 2 })).toContain(
      "timed out",
    );
    expect(runningWith(seconds)).toEqual([]);
  });
});
