import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../src/agent/loop.js";
import type { BackendCall, BackendEnd } from "../../src/backends/backend.js";
import { createClaudeCli } from "../../src/backends/claude-cli.js";
import { type HouseOptions, isAlive, openClaude } from "../support/claude-house.js";

function openBackend(options: HouseOptions & { readonly world?: Record<string, string> } = {}) {
  const house = openClaude(options);
  const backend = createClaudeCli({ settings: house.settings, env: { ...house.world, ...options.world } });
  const ask = (prompt: string, more: Partial<BackendCall> = {}): Promise<BackendEnd> =>
    backend.run({ prompt, system: "", signal: new AbortController().signal, ...more });
  return { ...house, backend, ask };
}

async function answered(end: Promise<BackendEnd>) {
  const found = await end;
  if (found.kind !== "answered") throw new Error(`expected an answer, not ${JSON.stringify(found)}`);
  return found;
}

const nobody = "11111111-1111-4111-8111-111111111111";
const watched = () => {
  const events: TurnEvent[] = [];
  return { events, on: (event: TurnEvent) => void events.push(event) };
};
const until = async (is: () => boolean): Promise<void> => {
  for (let tries = 0; !is() && tries < 500; tries++) await new Promise((done) => setTimeout(done, 20));
};

describe("a call of the claude command", () => {
  it("begins a conversation and can go on with it", async () => {
    const { ask, calls } = openBackend();
    const first = await answered(ask("one"));
    expect(first).toMatchObject({ text: "I have heard 1 prompt(s). The last: one", toolsUsed: [] });
    const second = await answered(ask("two", { handle: first.handle ?? "" }));
    expect(second.text).toContain("I have heard 2 prompt(s)");
    expect(second.handle).toBe(first.handle);
    expect(calls().map(({ resumed }) => resumed)).toEqual([null, first.handle]);
  });

  it("is told everything again with every call: flags are not remembered by all versions", async () => {
    const { ask, calls } = openBackend({
      settings: {
        model: "sonnet",
        fallbackModel: "haiku",
        permissionMode: "acceptEdits",
        maxTurns: 9,
        allowedTools: ["Bash(git log:*)", "WebSearch"],
        disallowedTools: ["WebFetch"],
        args: ["--verbose"],
      },
    });
    const { handle = "" } = await answered(ask("one", { system: "Be kind." }));
    await ask("two", { system: "Be kind.", handle });
    const flags = [
      "--model=sonnet",
      "--fallback-model=haiku",
      "--permission-mode=acceptEdits",
      "--max-turns=9",
      "--allowedTools=Bash(git log:*),WebSearch",
      "--disallowedTools=WebFetch",
      "--append-system-prompt=Be kind.",
      "--verbose",
    ];
    expect(calls().map(({ args }) => args)).toEqual([
      ["-p", "--output-format", "json", ...flags],
      ["-p", "--output-format", "json", "--resume", handle, ...flags],
    ]);
  });

  it("gets the prompt through stdin, whatever it begins with and however long it is (003-22)", async () => {
    const { ask, calls } = openBackend();
    const prompt = `--dangerously-skip-permissions\n${"ü".repeat(150_000)}\nend`;
    expect((await answered(ask(prompt))).text).toContain("The last: end");
    expect(calls()[0]?.prompt).toBe(prompt);
    expect(calls()[0]?.args.join(" ")).not.toContain("dangerously");
  });

  it("knows little of our environment, and nothing of a session it may run in", async () => {
    const { ask, calls } = openBackend({
      world: {
        LANG: "de_CH.UTF-8",
        SECRET: "s",
        CLAUDECODE: "1",
        CLAUDE_CODE_SESSION_ID: nobody,
        CLAUDE_CODE_ENTRYPOINT: "cli",
        NODE_OPTIONS: "",
        TELEGRAM_TOKEN: "t",
        ANTHROPIC_API_KEY: "k",
      },
    });
    await ask("one");
    const names = Object.keys(calls()[0]?.env ?? {}).sort();
    expect(names).toEqual([
      "ANTHROPIC_API_KEY",
      "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
      "CLAUDE_CODE_MAX_RETRIES",
      "CLAUDE_CONFIG_DIR",
      "HOME",
      "LANG",
      "NANOGATE_EXEC",
      "PATH",
    ]);
  });

  it("keeps nothing of a call that stands alone (003-13)", async () => {
    const { ask, calls, files } = openBackend();
    await answered(ask("one", { once: true }));
    expect(calls()[0]?.args).toContain("--no-session-persistence");
    expect(files()).toEqual([]);
  });

  it("may read the files that came with the message, and no rule is made of an odd name", async () => {
    const { ask, calls } = openBackend();
    await ask("look", { files: ["/media/a.jpg", "/media/b),Bash(rm:*).jpg", "relative.jpg"] });
    expect(calls()[0]?.args).toContain("--allowedTools=Read(//media/a.jpg)");
  });

  it("makes its folder if there is none", async () => {
    const house = openClaude();
    const folder = join(house.home, "a", "b");
    const backend = createClaudeCli({ settings: { ...house.settings, folder }, env: house.world });
    expect(await backend.run({ prompt: "x", system: "", signal: new AbortController().signal })).toMatchObject({
      kind: "answered",
    });
    expect(house.calls()[0]?.cwd).toBe(folder);
  });

  it("counts the tokens of this call, and does not look at what it costs: that may be a sum over the conversation", async () => {
    const { ask } = openBackend();
    const first = await answered(ask("one"));
    const second = await answered(ask("two", { handle: first.handle ?? "" }));
    expect(first.usage).toEqual({ input: 1, output: 7, cached: 0 });
    const past = Math.ceil("one".length / 3) + Math.ceil(first.text.length / 3);
    expect(second.usage).toEqual({ input: 1 + past, output: 7, cached: past });
  });

  it("follows an id that changes (1.0.37)", async () => {
    const { ask } = openBackend({ version: "1.0.37" });
    const first = await answered(ask("one"));
    const second = await answered(ask("two", { handle: first.handle ?? "" }));
    expect(second.handle).not.toBe(first.handle);
    expect((await answered(ask("three", { handle: second.handle ?? "" }))).text).toContain("heard 3 prompt(s)");
  });
});

describe("what can become of it", () => {
  it("lost: nobody knows the handle, which is told by an exit code and nothing else (003-17)", async () => {
    const { ask } = openBackend();
    const reason = `No conversation found with session ID: ${nobody}`;
    expect(await ask("one", { handle: nobody })).toEqual({ kind: "lost", reason });
    expect(await ask("one", { handle: nobody, on: () => {} })).toEqual({ kind: "lost", reason });
  });

  it.each(["../../etc/passwd", "--help", "-p", "", "11111111-1111-4111-8111-11111111111", `${nobody}\n`])(
    "lost: %j is no id and never reaches the command line (003-22)",
    async (handle) => {
      const { ask, calls } = openBackend();
      expect(await ask("one", { handle })).toMatchObject({ kind: "lost" });
      expect(calls()).toEqual([]);
    },
  );

  it.each([
    ["401", "auth"],
    ["529", "overload"],
    ["too-long", "too-long"],
  ])("failed: the model's server says %s", async (what, failure) => {
    const { ask } = openBackend();
    const end = { kind: "failed", failure, acted: false };
    expect(await ask(`one [api ${what}]`)).toMatchObject(end);
    expect(await ask(`one [api ${what}]`, { on: () => {} })).toMatchObject(end);
    const old = openBackend({ version: "2.1.34" });
    expect(await old.ask(`one [api ${what}]`)).toMatchObject(end);
  });

  it("failed: it broke down; its stack is nobody's answer", async () => {
    const { ask } = openBackend();
    expect(await ask("one [stub crash]")).toEqual({
      kind: "failed",
      failure: "request",
      reason: "it broke down",
      acted: true,
    });
  });

  it.each(["2.1.325", "2.1.34"])("silent: its turns are used up, error or not (%s)", async (version) => {
    const { ask } = openBackend({ version, settings: { maxTurns: 1 } });
    expect(await ask("one [api loop]")).toMatchObject({ kind: "silent", note: expect.stringContaining("steps") });
  });

  it.each(["empty", "no-result", "nothing"])("silent: there is no answer (%s) (003-23)", async (what) => {
    const { ask } = openBackend();
    expect(await ask(`one [stub ${what}]`)).toMatchObject({ kind: "silent", note: expect.stringContaining("answer") });
    expect(await ask(`one [stub ${what}]`, { on: () => {} })).toMatchObject({ kind: "silent" });
  });

  it("unreadable: it printed something else (003-10)", async () => {
    const { ask } = openBackend();
    const raw = "Segmentation fault, or something like it";
    expect(await ask("one [stub garbage]")).toEqual({ kind: "unreadable", raw });
    expect(await ask("one [stub garbage]", { on: () => {} })).toEqual({ kind: "unreadable", raw });
  });

  it("answered without a handle, if it names none", async () => {
    const { ask } = openBackend();
    expect("handle" in (await answered(ask("one [stub no-id]")))).toBe(false);
  });

  it("timed out: what was seen of the answer is kept, and no process is left, however stubborn (003-24)", async () => {
    const { ask, hanging } = openBackend({ settings: { timeoutSeconds: 3 } });
    const ends = await Promise.all([ask("one [api hang]", { on: () => {} }), ask("one [api hang]")]);
    expect(ends).toEqual([
      { kind: "timed-out", seconds: 3, partial: "Let me think" },
      { kind: "timed-out", seconds: 3, partial: "" },
    ]);
    expect(hanging().length).toBeGreaterThanOrEqual(2);
    expect(hanging().filter(isAlive)).toEqual([]);
  });

  it("stopped: throws the reason, and no process is left", async () => {
    const { ask, hanging } = openBackend();
    const stop = new AbortController();
    const end = ask("one [api hang]", { signal: stop.signal });
    await until(() => hanging().length > 0);
    stop.abort(new Error("enough"));
    await expect(end).rejects.toThrow("enough");
    expect(hanging().filter(isAlive)).toEqual([]);
    await expect(ask("one", { signal: stop.signal })).rejects.toThrow("enough");
  });

  it("never started: there is no such command, and what to do is said", async () => {
    const { ask } = openBackend({ command: "/nonexistent/claude" });
    await expect(ask("one")).rejects.toMatchObject({
      message: expect.stringContaining("/nonexistent/claude cannot be started"),
      fix: expect.stringContaining("npm install -g @anthropic-ai/claude-code"),
    });
  });

  it("abandoned: what a process that is dead now had started is ended by its name", async () => {
    const { ask, backend, hanging } = openBackend();
    const stop = new AbortController();
    const end = ask("one [api hang]", { id: "call-7", signal: stop.signal });
    await until(() => hanging().length > 0);
    await backend.abandon?.("call-8");
    expect(hanging().filter(isAlive)).toEqual(hanging());
    await backend.abandon?.("call-7");
    expect(hanging().filter(isAlive)).toEqual([]);
    await end;
  });
});

describe("somebody who watches", () => {
  it("sees the answer grow", async () => {
    const { ask, calls } = openBackend();
    const { events, on } = watched();
    const { text } = await answered(ask("one", { on }));
    expect(events.length).toBeGreaterThan(1);
    expect(events.map((event) => (event.kind === "text" ? event.text : event.kind)).join("")).toBe(text);
    expect(calls()[0]?.args.slice(0, 5)).toEqual([
      "-p",
      "--output-format",
      "stream-json",
      "--verbose",
      "--include-partial-messages",
    ]);
  });

  it("sees tools at work, and that what was said before was not the answer", async () => {
    const { ask } = openBackend();
    const { events, on } = watched();
    const { toolsUsed } = await answered(ask("one [api tool]", { on }));
    expect(toolsUsed).toEqual(["Read"]);
    const call = { id: "toolu_1", type: "function", function: { name: "Read", arguments: '{"file_path":"note.txt"}' } };
    expect(events.slice(0, 5)).toEqual([
      { kind: "text", text: "Let me look." },
      { kind: "restart" },
      { kind: "progress", text: "Let me look." },
      { kind: "tool-call", call, hint: 'Read("note.txt")' },
      { kind: "tool-result", call, result: "a note" },
    ]);
  });

  it("is not shown an error as an answer", async () => {
    const { ask } = openBackend();
    const { events, on } = watched();
    await ask("one [api 401]", { on });
    expect(events).toEqual([]);
  });
});

describe("a conversation that is forgotten", () => {
  it("is gone with its checkpoints, and others stay (003-12)", async () => {
    const { ask, backend, files, place } = openBackend();
    const [mine, other] = [await answered(ask("one")), await answered(ask("two"))];
    mkdirSync(join(place, mine.handle ?? "", "checkpoints"), { recursive: true });
    await backend.forget(mine.handle ?? "");
    expect(files()).toEqual([`${other.handle}.jsonl`]);
    await backend.forget(mine.handle ?? "");
    await backend.forget(nobody);
  });

  it("is looked for nowhere else", async () => {
    const { backend, config, home } = openBackend();
    const elsewhere = join(config, "projects", "-another-project");
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, `${nobody}.jsonl`), "");
    await backend.forget(nobody);
    expect(readdirSync(elsewhere)).toEqual([`${nobody}.jsonl`]);
    writeFileSync(join(home, "precious.jsonl"), "");
    for (const id of ["../../../precious", "../precious", "", ".", "..", `${nobody}/..`, `${nobody}\0`]) {
      await expect(backend.forget(id)).rejects.toThrow(/not the id/);
    }
    expect(existsSync(join(home, "precious.jsonl"))).toBe(true);
  });

  it("is not followed out of the configured folder by a link", async () => {
    const { backend, config, home, place } = openBackend();
    const outside = join(home, "outside");
    mkdirSync(outside);
    mkdirSync(join(config, "projects"));
    writeFileSync(join(outside, `${nobody}.jsonl`), "");
    symlinkSync(outside, place);
    await expect(backend.forget(nobody)).rejects.toThrow(/is not inside/);
    expect(readdirSync(outside)).toEqual([`${nobody}.jsonl`]);
    // A link inside is removed itself, and what it points to stays.
    rmSync(place);
    mkdirSync(place);
    symlinkSync(outside, join(place, nobody));
    await backend.forget(nobody);
    expect(readdirSync(place)).toEqual([]);
    expect(readdirSync(outside)).toEqual([`${nobody}.jsonl`]);
  });
});
