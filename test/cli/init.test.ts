import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type InitOptions, setUp } from "../../src/cli/init.js";
import { Cancelled, type Choice, type Prompts } from "../../src/cli/prompts.js";
import { UserError } from "../../src/util/errors.js";
import { openFakeTelegram } from "../lab/fake-telegram.js";
import { openFakeApi } from "../support/fake-api.js";
import { openHome, runMain } from "../support/cli.js";
import { temporaryFolder } from "../support/workspace.js";

const config = (home: string): unknown => JSON.parse(readFileSync(join(home, "config.json"), "utf8"));

/** Takes the keys `good` and `Bot good`; everything else is refused. */
const openApi = (flags = 1 << 18) =>
  openFakeApi((path, { headers }) => {
    const { authorization } = headers;
    if (authorization !== "Bearer good" && authorization !== "Bot good")
      return { status: 401, body: { message: "no" } };
    if (path === "/v1/models") return { body: { data: [{ id: "m" }] } };
    if (path === "/api/v10/users/@me") return { body: { username: "Botty" } };
    return path === "/api/v10/applications/@me" ? { body: { flags } } : undefined;
  });

async function openTelegram() {
  const telegram = await openFakeTelegram({ token: "42:good", username: "NanoBot" });
  onTestFinished(() => telegram.close());
  return telegram;
}

const ctrlC = "\u0003";

/** Runs the set-up with answers from a script. */
async function ask(options: InitOptions, script: readonly (string | boolean)[]) {
  const answers = [...script];
  const asked: string[] = [];
  const told: string[] = [];
  const next = <T>(question: string): Promise<T> => {
    asked.push(question);
    if (answers.length === 0) throw new Error(`nobody answers: ${question}`);
    if (answers[0] === ctrlC) throw new Cancelled();
    return Promise.resolve(answers.shift() as T);
  };
  const offered: Choice[] = [];
  const prompts: Prompts = {
    choose: (question, choices) => {
      offered.push(...choices);
      return next(question);
    },
    text: next,
    secret: next,
    confirm: next,
    tell: (kind, text) => void told.push(`${kind}: ${text}`),
    during: (_, work) => work,
  };
  let out = "";
  const terminal = {
    out: (text: string) => void (out += `${text}\n`),
    err: () => {},
    outIsTerminal: false,
    errIsTerminal: false,
    columns: 80,
  };
  const code = await setUp(options, { env: {}, fetch, prompts }, terminal);
  return { code, offered, asked, told, out, left: answers };
}

describe("nanogate init with flags", () => {
  it("without a terminal and without flags says which flags there are", async () => {
    const { code, err } = await runMain(["init", "--home", temporaryFolder()]);
    expect(code).toBe(1);
    for (const flag of [
      "--provider",
      "--api-key",
      "--telegram-token",
      "--telegram-allow",
      "--discord-token",
      "--yes",
    ]) {
      expect(err).toContain(flag);
    }
  });

  it("writes a small config in nanobot's shape that only the owner can read", async () => {
    const [api, telegram, home] = [await openApi(), await openTelegram(), join(temporaryFolder(), "new", "home")];
    const { code, out, err } = await runMain([
      "init",
      "--home",
      home,
      "--provider",
      "openai",
      "--api-key",
      "good",
      "--api-base",
      `${api}/v1`,
      "--telegram-token",
      "42:good",
      "--telegram-allow",
      "@ann, 77",
      "--telegram-api-root",
      telegram.url,
      "--discord-token",
      "good",
      "--discord-allow",
      "5",
      "--discord-api-root",
      `${api}/api`,
    ]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("nanogate gateway");
    expect(config(home)).toEqual({
      agents: { defaults: { provider: "openai", model: "gpt-5-mini" } },
      providers: { openai: { apiKey: "good", apiBase: `${api}/v1` } },
      channels: {
        telegram: { enabled: true, token: "42:good", allowFrom: ["ann", "77"], apiRoot: telegram.url },
        discord: { enabled: true, token: "good", allowFrom: ["5"], apiRoot: `${api}/api` },
      },
    });
    expect(statSync(join(home, "config.json")).mode & 0o777).toBe(0o600);
  });

  it("keeps everything it was not asked about", async () => {
    const home = openHome({
      agents: { defaults: { temperature: 0.5, model: "old" } },
      channels: { feishu: { appId: "x" }, telegram: { proxy: "p", token: "old" } },
      tools: { exec: { timeout: 5 } },
    });
    const args = ["init", "--home", home, "--model", "new", "--telegram-token", "42:x", "--skip-checks"];
    expect((await runMain(args)).code).toBe(0);
    expect(config(home)).toEqual({
      agents: { defaults: { temperature: 0.5, model: "new" } },
      channels: { feishu: { appId: "x" }, telegram: { proxy: "p", token: "42:x", enabled: true } },
      tools: { exec: { timeout: 5 } },
    });
  });

  it.each([
    ["not JSON", "{ not json"],
    ["empty", ""],
    ["a wrong value", '{"gateway": {"port": "many"}}'],
  ])("never overwrites a file it could not read: %s", async (_, text) => {
    const home = temporaryFolder();
    writeFileSync(join(home, "config.json"), text);
    const { code, err } = await runMain(["init", "--home", home, "--model", "m", "--skip-checks"]);
    expect(code).toBe(1);
    expect(err).toContain("config.json");
    expect(readFileSync(join(home, "config.json"), "utf8")).toBe(text);
  });

  it.each([
    ["a key", ["--provider", "openai", "--api-key", "bad"], "openai does not accept this key"],
    ["a Telegram token", ["--telegram-token", "42:bad"], "Telegram does not know this bot token"],
    ["a Discord token", ["--discord-token", "bad"], "Discord does not know this bot token"],
    ["a provider", ["--provider", "opnai", "--api-key", "x"], "Nobody knows a provider opnai"],
    ["a key of nobody", ["--api-key", "x"], "Whose key"],
  ])("says in a sentence that %s is wrong, and writes nothing", async (_, flags, sentence) => {
    const [api, telegram, home] = [await openApi(), await openTelegram(), temporaryFolder()];
    const roots = ["--telegram-api-root", telegram.url, "--discord-api-root", `${api}/api`];
    const base = flags.includes("openai") ? ["--api-base", `${api}/v1`] : [];
    const { code, err } = await runMain(["init", "--home", home, ...flags, ...roots, ...base]);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
    expect(err).not.toContain("42:bad");
    expect(() => statSync(join(home, "config.json"))).toThrow();
  });

  it("does not print a token when nobody can be reached", async () => {
    const args = ["--telegram-token", "42:secret", "--telegram-api-root", "http://127.0.0.1:1"];
    const { code, err } = await runMain(["init", "--home", temporaryFolder(), ...args]);
    expect(code).toBe(1);
    expect(err).toContain("Telegram cannot be reached");
    expect(err).not.toContain("secret");
  });

  it("writes nothing that it could not read", async () => {
    const home = temporaryFolder();
    const flags = ["--yes", "--skip-checks", "--provider", "custom", "--api-base", "localhost:11434"];
    const { code, err } = await runMain(["init", "--home", home, ...flags]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("localhost:11434 is no address") });
    expect(readdirSync(home)).toEqual([]);
  });

  it("with --yes alone makes a home that works", async () => {
    const home = join(temporaryFolder(), "home");
    expect((await runMain(["init", "--home", home, "--yes"])).code).toBe(0);
    expect(config(home)).toEqual({});
  });
});

describe("nanogate init on a home that is set up", () => {
  const before = {
    agents: { defaults: { provider: "anthropic", model: "claude-mine" } },
    providers: { anthropic: { apiKey: "sk-old" } },
    channels: { telegram: { enabled: true, token: "42:old", allowFrom: ["1"] } },
  };
  const quietly = ["--yes", "--skip-checks"];

  it("goes over to the demo when that is asked for", async () => {
    const home = openHome(before);
    expect((await runMain(["init", "--home", home, ...quietly, "--provider", "demo"])).code).toBe(0);
    expect(config(home)).toEqual({ ...before, agents: { defaults: { provider: "demo", model: "claude-mine" } } });
    const { out } = await runMain(["doctor", "--home", home, "--json"]);
    expect(out).toContain("the built-in demo answers");
  });

  it("leaves the model as it is when only the key of its provider is new", async () => {
    const home = openHome(before);
    await runMain(["init", "--home", home, ...quietly, "--provider", "anthropic", "--api-key", "sk-new"]);
    expect(config(home)).toEqual({ ...before, providers: { anthropic: { apiKey: "sk-new" } } });
    await runMain(["init", "--home", home, ...quietly, "--provider", "openai", "--api-key", "k"]);
    expect(config(home)).toMatchObject({ agents: { defaults: { provider: "openai", model: "gpt-5-mini" } } });
  });

  it("says what an empty answer keeps, and keeps it", async () => {
    const home = openHome(before);
    const { asked } = await ask({ home }, ["anthropic", "", "", "", ""]);
    expect(asked.slice(1)).toEqual([
      "The key of anthropic (empty keeps the present one)",
      "Which model? (empty keeps claude-mine)",
      expect.stringMatching(/^Telegram: .* \(empty keeps the present one\)$/),
      expect.stringMatching(/^Discord: .* \(empty: no Discord\)$/),
    ]);
    expect(config(home)).toEqual(before);
  });

  it("offers the model that answers now, by its name", async () => {
    const home = openHome(before);
    const { offered } = await ask({ home }, ["keep", "", ""]);
    expect(offered[0]).toEqual({ value: "keep", label: "The present one", hint: "anthropic, claude-mine" });
    expect(config(home)).toEqual(before);
  });

  it("keeps the address of a server of one's own, and tries a new key there", async () => {
    const api = await openApi();
    const custom = { apiKey: "old", apiBase: `${api}/v1` };
    const home = openHome({ agents: { defaults: { provider: "custom", model: "m" } }, providers: { custom } });
    const { told } = await ask({ home }, ["custom", "", "bad", "good", "", "", ""]);
    expect(told.map((line) => line.slice(0, 35))).toEqual([
      "bad: custom does not accept this ke",
      "good: custom accepts the key.",
    ]);
    expect(config(home)).toMatchObject({ providers: { custom: { ...custom, apiKey: "good" } } });
  });

  it("changes nothing when it is broken off, and does not call that a success", async () => {
    const home = openHome(before);
    const { code } = await ask({ home }, ["openai", ctrlC]);
    expect({ code, config: config(home) }).toEqual({ code: 1, config: before });
  });
});

describe("nanogate init with questions", () => {
  it("asks for model, channels and owner; a wrong token is asked for again", async () => {
    const [api, telegram, home] = [await openApi(), await openTelegram(), temporaryFolder()];
    const options = { home, telegramApiRoot: telegram.url, discordApiRoot: `${api}/api` };
    const { told, left } = await ask(options, [
      "custom",
      `${api}/v1`,
      "bad",
      "good",
      "some-model",
      "42:bad",
      "42:good",
      "77",
      "bad",
      "good",
      "5",
    ]);
    expect(left).toEqual([]);
    expect(told.map((line) => line.slice(0, 40))).toEqual([
      "bad: custom does not accept this key. Co",
      "good: custom accepts the key.",
      "bad: Telegram does not know this bot tok",
      "good: Telegram knows the bot as @NanoBot",
      "bad: Discord does not know this bot toke",
      "good: Discord knows the bot as Botty.",
    ]);
    expect(config(home)).toMatchObject({
      agents: { defaults: { provider: "custom", model: "some-model" } },
      channels: { telegram: { token: "42:good", allowFrom: ["77"] }, discord: { token: "good", allowFrom: ["5"] } },
    });
  });

  it("learns the owner from the first message, which stays for the gateway", async () => {
    const [telegram, home] = [await openTelegram(), temporaryFolder()];
    telegram.say(77, "hello bot");
    const { asked } = await ask({ home, telegramApiRoot: telegram.url }, ["demo", "42:good", "", true, ""]);
    expect(asked).toContain("Are you Ann (@ann), id 77?");
    expect(config(home)).toMatchObject({ channels: { telegram: { allowFrom: ["77"] } } });
    expect(telegram.pending()).toHaveLength(1);
  });

  it("asks again for an address that is none", async () => {
    const [home, api] = [temporaryFolder(), await openApi()];
    const answers = ["custom", "", "localhost:11434", `${api}/v1`, "good", "m", "", ""];
    const { told } = await ask({ home }, answers);
    expect(told.filter((text) => text.startsWith("bad"))).toHaveLength(2);
    expect(config(home)).toMatchObject({ providers: { custom: { apiBase: `${api}/v1` } } });
  });

  it("writes only what was answered", async () => {
    const home = temporaryFolder();
    const { out } = await ask({ home }, ["demo", "", ""]);
    expect(config(home)).toEqual({});
    expect(out).toContain("nanogate gateway");
  });

  it("keeps a token that could not be tried, if the owner wants so", async () => {
    const home = temporaryFolder();
    const { told } = await ask({ home, telegramApiRoot: "http://127.0.0.1:1", provider: "demo" }, [
      "42:x",
      true,
      "1",
      "",
    ]);
    expect(told[0]).toContain("Telegram cannot be reached");
    expect(config(home)).toMatchObject({ channels: { telegram: { token: "42:x", allowFrom: ["1"] } } });
  });

  it("says that nobody may speak when no owner was named", async () => {
    const [api, home] = [await openApi(0), temporaryFolder()];
    const { told, out } = await ask({ home, discordApiRoot: `${api}/api`, provider: "demo" }, ["", "good", ""]);
    expect(told[0]).toContain("Message Content intent is off");
    expect(out).toContain("channels.discord.allowFrom");
  });

  it("does not ask what a flag has answered", async () => {
    const home = temporaryFolder();
    const options = { home, provider: "anthropic", apiKey: "k", model: "m", skipChecks: true };
    const { asked } = await ask(options, ["", ""]);
    expect(asked).toHaveLength(2);
  });

  it("refuses before the first question if the file there cannot be read", async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, "config.json"), "nonsense");
    await expect(ask({ home }, [])).rejects.toThrow(UserError);
  });

  it("offers an existing nanobot home", async () => {
    const home = temporaryFolder();
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(homedir()).toBe(home);
    const nanobot = join(home, ".nanobot");
    mkdirSync(nanobot);
    writeFileSync(join(nanobot, "config.json"), '{"agents": {"defaults": {"model": "x"}}}');
    const used = await ask({}, [nanobot, "keep", "", ""]);
    expect(used.asked[0]).toContain("nanobot home");
    expect(config(nanobot)).toEqual({ agents: { defaults: { model: "x" } } });
    await ask({ provider: "demo" }, [join(home, ".nanogate"), "", ""]);
    expect(config(join(home, ".nanogate"))).toEqual({});
  });
});
