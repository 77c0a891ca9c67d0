/** The whole agent with backends, as the settings ask for them; the claude command is the stub. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApp } from "../../src/app.js";
import { claudeSettings, openBackends } from "../../src/app/backends.js";
import { loadSettings } from "../../src/config/load.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { keyOf } from "../../src/message.js";
import { systemWorld } from "../../src/world.js";
import { openClaude } from "../support/claude-house.js";
import { openFakeResponses, responsesKey } from "../support/fake-responses.js";
import { temporaryFolder } from "../support/workspace.js";

type Own = {
  readonly claude?: object;
  readonly backends?: object;
  readonly use?: object;
  readonly everywhere?: string;
  readonly rotation?: object;
  readonly defaults?: object;
};

function openHome({ claude, use, everywhere, rotation, backends, defaults }: Own = {}) {
  const house = openClaude();
  const home = temporaryFolder();
  const own = {
    agents: { defaults: { model: "demo", ...(everywhere !== undefined && { backend: everywhere }), ...defaults } },
    backends: {
      "claude-cli": { command: house.settings.command, configDir: house.config, env: house.settings.env, ...claude },
      ...backends,
      ...(use && { use }),
    },
    ...(rotation && { rotation }),
  };
  writeFileSync(join(home, "nanogate.json"), JSON.stringify(own));
  return { house, home, settings: () => loadSettings(home, {}) };
}

async function openAgent(own: Own = {}) {
  const { house, home, settings } = openHome(own);
  const reports: string[] = [];
  const warnings: string[] = [];
  const app = await createApp({
    settings: settings(),
    world: { ...systemWorld({ warn: (words) => void warnings.push(words) }), env: house.world },
    report: async (_, text) => void reports.push(text),
  });
  onTestFinished(() => app.close(5000));
  const say = async (session: string, text: string): Promise<string | undefined> => {
    const [channel = "", ...rest] = session.split(":");
    const from = { channel, chat: rest.join(":") };
    return (await app.answer({ session, from, text, signal: new AbortController().signal })).reply;
  };
  return { app, say, claude: house, home, reports, warnings };
}

const byClaude = expect.stringContaining("I have heard");

describe("settings choose who answers", () => {
  it("the model, if they say nothing; and nothing is opened for backends", async () => {
    const { app, say, claude, home } = await openAgent();
    expect(await say("telegram:42", "hello")).not.toEqual(byClaude);
    expect(claude.calls()).toEqual([]);
    expect(app.modelName).toContain("demo");
    expect(readdirSync(join(home, "state"))).not.toContain("ledger.sqlite");
  });

  it("a backend everywhere, and the model in one channel", async () => {
    const { app, say, claude } = await openAgent({ everywhere: "claude-cli", use: { telegram: "model" } });
    expect(await say("cli:direct", "hello")).toEqual(byClaude);
    expect(await say("telegram:42", "hello")).not.toEqual(byClaude);
    expect(claude.calls()).toHaveLength(1);
    expect(app.modelName).toBe("claude-cli");
    expect(app.notice).toBeUndefined();
  });

  it("a backend for one chat, with its memory of the window in the ledger of this home", async () => {
    const { say, claude, home } = await openAgent({ use: { "telegram:42": "claude-cli" } });
    await say("telegram:42", "one");
    expect(await say("telegram:42", "two")).toContain("heard 2 prompt(s)");
    expect(await say("telegram:43", "one")).not.toEqual(byClaude);
    const file = join(home, "state", "ledger.sqlite");
    const ledger = await openSqliteLedger({ file, now: () => Date.now(), reach: () => {}, readOnly: true });
    const found = await ledger.handles.active("telegram:42", { window: 20, maxAgeMs: 1e9 });
    expect(found).toMatchObject({ kind: "active", id: claude.calls()[1]?.resumed, count: 2 });
    await ledger.close();
  });

  it("a job whose runs stand alone (003-13)", async () => {
    const { say, claude } = await openAgent({ use: { "cron:abc": { backend: "claude-cli", stateless: true } } });
    await say("cron:abc", "one");
    expect(await say("cron:abc", "two")).toContain("heard 1 prompt(s)");
    expect(claude.calls().map(({ args }) => args.includes("--no-session-persistence"))).toEqual([true, true]);
    expect(claude.files()).toEqual([]);
  });

  it("two backends side by side", async () => {
    const server = await openFakeResponses();
    const responses = { model: "gpt-x", apiKey: responsesKey, apiBase: server.url };
    const { say } = await openAgent({
      backends: { "openai-responses": responses },
      use: { telegram: "claude-cli", discord: "openai-responses" },
    });
    await say("discord:1", "one");
    expect(await say("discord:1", "two")).toContain("heard 2 prompt(s)");
    expect(await say("telegram:1", "one")).toContain("heard 1 prompt(s)");
    expect(server.requests).toHaveLength(2);
  });

  it("subagents by one name, and their tasks stand alone (003-13)", async () => {
    const { settings, house, home } = openHome({ use: { subagent: "claude-cli" } });
    const world = { ...systemWorld({ warn() {} }), env: house.world };
    const backends = await openBackends({ settings: settings(), world });
    const origin = { session: "telegram:42", from: { channel: "telegram", chat: "42" } };
    const once = backends?.subagent({ task: "count", label: "l", origin }, async () => undefined);
    expect(await once?.(new AbortController().signal)).toContain("The last: count");
    expect(house.calls()[0]?.args).toContain("--no-session-persistence");
    await backends?.close();
    const ledger = await openSqliteLedger({
      file: join(home, "state", "ledger.sqlite"),
      now: () => Date.now(),
      reach() {},
    });
    expect(await ledger.handles.old(-1000)).toEqual([]);
    await ledger.close();
  });

  it("by names that exist", async () => {
    await expect(openAgent({ everywhere: "claud-cli" })).rejects.toMatchObject({ fix: "Did you mean claude-cli?" });
    await expect(openAgent({ use: { telegram: "openai-responses" } })).rejects.toMatchObject({
      message: expect.stringContaining("no model"),
    });
  });
});

describe("a chat with the claude command", () => {
  it("is told where it speaks and what the owner wants, and works in a folder of its own", async () => {
    const { say, claude, home } = await openAgent({ everywhere: "claude-cli" });
    writeFileSync(join(home, "workspace", "SOUL.md"), "Speak like a pirate.");
    await say("telegram:42", "hello");
    const { args = [], cwd } = claude.calls()[0] ?? {};
    const system = args.find((arg) => arg.startsWith("--append-system-prompt="));
    expect(system).toContain("(telegram:42)");
    expect(system).toContain("Speak like a pirate.");
    expect(cwd).toBe(join(home, "workspace", "claude"));
  });

  it("begins a window with what is remembered, and after /new with nothing else", async () => {
    const { app, say, claude, home } = await openAgent({ everywhere: "claude-cli" });
    await say("telegram:42", "my secret is 7");
    await app.runCommand("/new", "telegram:42", new AbortController().signal);
    writeFileSync(join(home, "workspace", "memory", "MEMORY.md"), "Ann likes trains.");
    await say("telegram:42", "what do you know?");
    const { prompt = "", resumed } = claude.calls().at(-1) ?? {};
    expect(resumed).toBeNull();
    expect(prompt).toContain("Ann likes trains.");
    expect(prompt).not.toContain("my secret");
  });

  it("has the window it leaves brought into memory in the background, by a call that stands alone", async () => {
    const { app, say, claude } = await openAgent({ everywhere: "claude-cli", rotation: { windowSize: 2 } });
    for (const text of ["one", "two", "three"]) await say("telegram:42", text);
    await app.memory.idle();
    const asked = claude.calls().filter(({ prompt }) => prompt.includes("Summarise this conversation"));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.prompt).toContain("USER: one");
    expect(asked[0]?.args).toContain("--no-session-persistence");
    // Nobody waited for it, and the next window was begun at once.
    expect(claude.calls().some(({ prompt }) => prompt.endsWith("Now respond:\n\nthree"))).toBe(true);
  });

  it("cleans up what is old on occasion", async () => {
    const { home, settings, house } = openHome({ everywhere: "claude-cli", rotation: { maxAgeHours: 1 } });
    const id = "11111111-1111-4111-8111-111111111111";
    const folder = join(home, "workspace", "claude");
    const place = join(house.config, "projects", folder.replaceAll(/[^a-zA-Z0-9]/g, "-"));
    mkdirSync(join(place, id), { recursive: true });
    for (const name of [id, "22222222-2222-4222-8222-222222222222"]) writeFileSync(join(place, `${name}.jsonl`), "");
    const file = join(home, "state", "ledger.sqlite");
    const ledger = await openSqliteLedger({ file, now: () => Date.now() - 2 * 3_600_000, reach: () => {} });
    await ledger.handles.create("telegram:7", id);
    await ledger.close();
    const app = await createApp({ settings: settings(), world: { ...systemWorld({ warn() {} }), env: house.world } });
    const from = { channel: "telegram", chat: "42" };
    await app.answer({ session: keyOf(from), from, text: "hello", signal: new AbortController().signal });
    await app.close(5000);
    expect(readdirSync(place)).toContain("22222222-2222-4222-8222-222222222222.jsonl");
    expect(readdirSync(place).filter((name) => name.startsWith(id))).toEqual([]);
  });

  it("stores what a chat of the model would store, in the same file", async () => {
    const { say, home } = await openAgent({ everywhere: "claude-cli" });
    await say("telegram:42", "hello");
    const lines = readFileSync(join(home, "workspace", "sessions", "telegram_42.jsonl"), "utf8")
      .trim()
      .split("\n");
    expect(lines.slice(1).map((line) => (JSON.parse(line) as { role: string }).role)).toEqual(["user", "assistant"]);
  });
});

describe("the folder of the claude command", () => {
  it.each(["workspace", ".", "workspace/sessions", "state", "/"])(
    "is not %s: all chats can be read there",
    (folder) => {
      const { home, settings } = openHome({ claude: { folder } });
      mkdirSync(join(home, "workspace", "sessions"), { recursive: true });
      mkdirSync(join(home, "state"));
      expect(() => claudeSettings(settings())).toThrow(/conversations of all chats/);
    },
  );

  it("is not a link to such a place either", () => {
    const { home, settings } = openHome({ claude: { folder: "link" } });
    mkdirSync(join(home, "workspace", "sessions"), { recursive: true });
    symlinkSync(join(home, "workspace"), join(home, "link"));
    expect(() => claudeSettings(settings())).toThrow(/conversations of all chats/);
  });

  it("may be any other", () => {
    const { home, settings } = openHome({ claude: { folder: "projects/x" } });
    expect(claudeSettings(settings()).folder).toBe(join(home, "projects", "x"));
  });
});
