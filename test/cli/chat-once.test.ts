import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { buildProgram, hasAnybody, openHome, program, runProgram, servedBy } from "../support/cli.js";
import { answers, delta, fails, hangsUp, openFakeOpenAi, says, streams } from "../support/fake-openai.js";

beforeAll(buildProgram);

type StoredRow = { readonly role?: string; readonly content?: string; readonly key?: string };

function rowsOf(home: string, file = "cli_direct.jsonl"): StoredRow[] {
  const text = readFileSync(join(home, "workspace", "sessions", file), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as StoredRow);
}

const contentsOf = (home: string, file?: string) =>
  rowsOf(home, file)
    .slice(1)
    .map(({ content }) => content);

function sessionsOf(home: string): string[] {
  try {
    return readdirSync(join(home, "workspace", "sessions")).filter((name) => name.endsWith(".jsonl"));
  } catch {
    return [];
  }
}

const four = <T>(one: T): T[] => Array.from({ length: 4 }, () => one);

describe("one question", () => {
  it("is answered on stdout, with nothing else there, and is stored when it returns", async () => {
    const server = await openFakeOpenAi(says("Hello ", "you."));
    const home = openHome(servedBy(server.url));
    expect(await runProgram(["chat", "-m", "hi"], { home })).toEqual({ code: 0, out: "Hello you.\n", err: "" });
    expect(contentsOf(home)).toEqual(["hi", "Hello you."]);
    expect(rowsOf(home)[0]?.key).toBe("cli:direct");
  });

  it("is answered by the demo model on a fresh machine, which says so on stderr", async () => {
    const home = openHome({});
    const { code, out, err } = await runProgram(["chat", "-m", "what is 17*23"], { home });
    expect([code, out]).toEqual([0, "17*23 = 391\n"]);
    expect(err).toMatch(/^nanogate: No key is configured .* demo model/);
  });

  it("is answered and stored even if nobody reads stderr", async () => {
    const home = openHome({});
    const onStart = (child: ChildProcess): void => void child.stderr?.destroy();
    const { code, out } = await runProgram(["chat", "-m", "what is 17*23"], { home, onStart });
    expect([code, out]).toEqual([0, "17*23 = 391\n"]);
    expect(contentsOf(home)).toHaveLength(2);
  });

  it.skipIf(!existsSync("/dev/full"))("is stored even if its answer cannot be written, and that is said", () => {
    const home = openHome();
    const stdio = ["ignore", openSync("/dev/full", "w"), "pipe"] as const;
    const { status, stderr } = spawnSync(process.execPath, [program, "chat", "-m", "hi", "--home", home], {
      stdio: [...stdio],
      encoding: "utf8",
    });
    closeSync(stdio[1]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^nanogate: What there is to say could not be written: ENOSPC.*\n$/);
    expect(contentsOf(home)).toHaveLength(2);
  });

  it("may use tools", async () => {
    const home = openHome();
    const { code, out } = await runProgram(["chat", "-m", "list files"], { home });
    expect(code).toBe(0);
    expect(out).toContain("AGENTS.md");
    expect(rowsOf(home).at(-1)).toMatchObject({ role: "assistant", tools_used: ["list_dir"] });
  });

  it("may ask to remember: in the memory that this chat is shown, and no other", async () => {
    const home = openHome({ agents: { defaults: { model: "demo" } }, memory: { scope: "chat" } });
    const ask = async (session: string, text: string) =>
      (await runProgram(["chat", "-s", session, "-m", text], { home })).out;
    await ask("a:1", "remember I like tea");
    expect(await ask("a:1", "what do you remember?")).toContain("- I like tea");
    expect(await ask("a:2", "what do you remember?")).toContain("still empty");
    // Nor can the tools of one chat look into the memory of another.
    expect(await ask("a:2", "list files")).not.toContain("memory");
    expect(await ask("a:2", "read memory/MEMORY.md")).not.toContain("tea");
  });

  it("may run commands as the owner says: with more programs, or in a sandbox or not at all", async () => {
    const env = { PATH: "/no-bubblewrap-here" };
    const asked = async (exec: object) => {
      const home = openHome({ agents: { defaults: { model: "demo" } }, tools: { exec } });
      return (await runProgram(["chat", "-m", "run echo $PATH"], { home, env })).out;
    };
    expect(await asked({ pathAppend: "/more" })).toContain("/no-bubblewrap-here:/more");
    expect(await asked({ sandbox: "bwrap" })).toContain("Commands may only run in a sandbox");
  });

  it("is answered as JSON for scripts", async () => {
    const server = await openFakeOpenAi(says("Hi."));
    const home = openHome(servedBy(server.url));
    const { out } = await runProgram(["chat", "-m", "hi", "--json"], { home });
    expect(JSON.parse(out)).toEqual({
      session: "cli:direct",
      reply: "Hi.",
      tools_used: [],
      usage: { input: 11, output: 7, cached: 0 },
      end: "answered",
    });
  });

  it("goes to the session exactly as -s names it", async () => {
    const home = openHome();
    await runProgram(["chat", "-m", "hi", "-s", "work"], { home });
    expect(sessionsOf(home)).toEqual(["work.jsonl"]);
    expect(rowsOf(home, "work.jsonl")[0]?.key).toBe("work");
  });

  it("comes through a pipe", async () => {
    const home = openHome();
    const { code, out } = await runProgram(["chat"], { home, input: "what is 2+2\n" });
    expect([code, out]).toEqual([0, "2+2 = 4\n"]);
  });

  it("may be a megabyte", async () => {
    const server = await openFakeOpenAi(says("Long."));
    const home = openHome(servedBy(server.url));
    const text = "wörd ".repeat(200_000);
    const { code, out } = await runProgram(["chat"], { home, input: text });
    expect([code, out]).toEqual([0, "Long.\n"]);
    expect(contentsOf(home)[0]).toBe(text);
    expect(JSON.stringify(server.heard[0]?.body).length).toBeLessThan(500_000);
  });

  it.each([
    ["no text", ["chat", "-m", "  "], undefined],
    ["an empty pipe", ["chat"], ""],
    ["nothing at all to read", ["chat"], undefined],
  ])("with %s is refused", async (_, args, input) => {
    const home = openHome();
    const { code, out, err } = await runProgram(args, { home, ...(input !== undefined && { input }) });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe('nanogate: There is nothing to ask.\n  → For instance: nanogate chat -m "hello"\n');
  });

  it("may be about what comes through a pipe: the question first, then a blank line and the text", async () => {
    const home = openHome();
    const command = [process.execPath, program, "chat", "-m", "what is 6*7", "--home", home];
    const run = (pipeline: string) => spawnSync("sh", ["-c", pipeline, ...command], { encoding: "utf8" });
    // A pipe of a shell, one of a program, and a file.
    expect(run('printf "one\ntwo\n" | "$0" "$@"').status).toBe(0);
    await runProgram(["chat", "-m", "what is 6*7"], { home, input: "one\ntwo\n" });
    writeFileSync(join(home, "text"), "one\ntwo\n");
    expect(run(`"$0" "$@" < ${join(home, "text")}`).status).toBe(0);
    const asked = contentsOf(home).filter((content) => content?.startsWith("what is 6*7\n"));
    expect(asked).toEqual(Array.from({ length: 3 }, () => "what is 6*7\n\none\ntwo\n"));
  });

  it("does not wait for a program that left its end of the pipe open, nor for a closed stdin", async () => {
    const home = openHome();
    const child = spawn(process.execPath, [program, "chat", "-m", "what is 6*7", "--home", home], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [answer] = (await once(child.stdout, "data")) as [Buffer];
    expect(String(answer)).toContain("42");
    await once(child, "close");
    const closed = spawnSync("sh", [
      "-c",
      '"$0" "$@" <&-',
      process.execPath,
      program,
      "chat",
      "-m",
      "hi",
      "--home",
      home,
    ]);
    expect(closed.status).toBe(0);
  });

  it("waits for a pipe that takes its time, and says so", async () => {
    const home = openHome();
    const pipe = join(home, "pipe");
    execFileSync("mkfifo", [pipe]);
    const command = [process.execPath, program, "chat", "-m", "what is 6*7", "--home", home];
    const slow = spawn("sh", ["-c", 'cat "$0" | "$@"', pipe, ...command], { stdio: ["ignore", "ignore", "pipe"] });
    const ended = once(slow, "close");
    let told = "";
    slow.stderr.on("data", (text: Buffer) => {
      const before = told;
      told += text.toString();
      const isWaiting = (words: string): boolean => words.includes("Waiting for what comes through the pipe");
      // Nothing is said before we have been waited for.
      if (isWaiting(told) && !isWaiting(before)) writeFileSync(pipe, "late\n");
    });
    await ended;
    expect(told).toContain("Waiting for what comes through the pipe");
    expect(contentsOf(home)[0]).toBe("what is 6*7\n\nlate\n");
  });

  it("of binary rubbish is refused, and nothing is stored", async () => {
    const home = openHome();
    const { code, err } = await runProgram(["chat"], { home, input: Buffer.from([0, 1, 2, 255, 254, 0, 7]) });
    expect(code).toBe(1);
    expect(err).toContain("is not text");
    expect(sessionsOf(home)).toEqual([]);
  });

  it("that is a command needs no model", async () => {
    const home = openHome();
    const ask = async (text: string) => (await runProgram(["chat", "-m", text], { home })).out;
    await ask("hi");
    expect(await ask("/help")).toContain("/new — Start a new conversation");
    expect(await ask("/status")).toContain("Session: 2 messages");
    expect(await ask("/history")).toContain("👤 You: hi");
    expect(await ask("/stop")).toBe("No active task to stop.\n");
    expect(await ask("/new")).toBe("New session started.\n");
    expect(contentsOf(home)).toEqual([]);
  });

  it("asked twice at once on one session is stored twice, in whole turns", async () => {
    const home = openHome();
    const ask = (text: string) => runProgram(["chat", "-m", text], { home });
    const both = await Promise.all([ask("what is 1+1"), ask("what is 2+2")]);
    expect(both.map(({ out }) => out)).toEqual(["1+1 = 2\n", "2+2 = 4\n"]);
    const one = ["what is 1+1", "1+1 = 2"];
    const other = ["what is 2+2", "2+2 = 4"];
    expect([
      [...one, ...other],
      [...other, ...one],
    ]).toContainEqual(contentsOf(home));
  });
});

describe("a question that cannot be answered", () => {
  it("for a wrong key says so and where to put the right one", async () => {
    const server = await openFakeOpenAi(fails(401, { message: "Incorrect API key provided: sk-secret" }));
    const home = openHome(servedBy(server.url));
    const { code, out, err } = await runProgram(["chat", "-m", "hi"], { home });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^nanogate: .*key.*\n {2}→ .*providers\.custom\.apiKey/s);
    expect(err).not.toContain("sk-secret");
    expect(sessionsOf(home)).toEqual([]);
  });

  it("tells scripts as JSON", async () => {
    const server = await openFakeOpenAi(fails(401, { message: "no" }));
    const { code, out } = await runProgram(["chat", "-m", "hi", "--json"], { home: openHome(servedBy(server.url)) });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ session: "cli:direct", error: { kind: "auth" } });
  });

  it.concurrent.each([
    ["a server that is down", "http://127.0.0.1:9/v1", []],
    ["a server that fails", undefined, four(fails(500, { message: "oops" }, { "retry-after": "0" }))],
    ["a line that breaks", undefined, four(streams([delta({ content: "Half an ans" })], "cut"))],
    ["a server that hangs up", undefined, four(hangsUp)],
    ["a web page", undefined, four(answers(200, "text/html", "<html>"))],
  ])("because of %s ends in bounded time with a reason, and stores nothing", async (_, url, script) => {
    const server = await openFakeOpenAi(...script);
    const home = openHome(servedBy(url ?? server.url));
    const { code, out, err } = await runProgram(["chat", "-m", "hi"], { home });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/nanogate: .*\n {2}→ /);
    expect(sessionsOf(home)).toEqual([]);
  });

  it("because it was interrupted stores nothing and ends within a second", async () => {
    const server = await openFakeOpenAi(streams([delta({ content: "I begin" })], "stall"));
    const home = openHome(servedBy(server.url));
    let interruptedAt = Number.NaN;
    const { code, out, err } = await runProgram(["chat", "-m", "hi"], {
      home,
      onStart(child) {
        const timer = setInterval(() => {
          if (server.heard.length === 0) return;
          clearInterval(timer);
          interruptedAt = performance.now();
          child.kill("SIGINT");
        }, 20);
      },
    });
    expect(performance.now() - interruptedAt).toBeLessThan(1000);
    expect([code, out, err]).toEqual([1, "", "nanogate: cancelled; nothing was stored.\n"]);
    expect(sessionsOf(home)).toEqual([]);
  });

  it.runIf(hasAnybody)("in a workspace that is read-only says so", async () => {
    const home = openHome();
    mkdirSync(join(home, "workspace"));
    chmodSync(join(home, "workspace"), 0o500);
    onTestFinished(() => chmodSync(join(home, "workspace"), 0o700));
    const { code, err } = await runProgram(["chat", "-m", "hi"], { home, as: "anybody" });
    expect(code).toBe(1);
    expect(err).toMatch(/^nanogate: .*workspace.*\n {2}→ /);
  });

  it("in a workspace that is a file says so", async () => {
    const home = openHome();
    writeFileSync(join(home, "workspace"), "");
    const { code, out, err } = await runProgram(["chat", "-m", "hi"], { home });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^nanogate: .*workspace.*\n {2}→ /);
    expect(err).not.toMatch(/^ +at /m);
  });

  it("with a wrong option is a usage error", async () => {
    const { code, err } = await runProgram(["chat", "--mesage", "hi"], { home: openHome() });
    expect(code).toBe(2);
    expect(err).toContain("Did you mean --message?");
  });
});

it("a workspace deleted between two questions is made anew", async () => {
  const home = openHome();
  await runProgram(["chat", "-m", "hi"], { home });
  rmSync(join(home, "workspace"), { recursive: true });
  const { code } = await runProgram(["chat", "-m", "what is 1+1"], { home });
  expect(code).toBe(0);
  expect(contentsOf(home)).toEqual(["what is 1+1", "1+1 = 2"]);
});
