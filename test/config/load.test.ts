import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings } from "../../src/config/load.js";
import { UserError } from "../../src/util/errors.js";
import { temporaryFolder } from "../support/workspace.js";

type Files = { readonly config?: unknown; readonly own?: unknown; readonly env?: Record<string, string> };

/** Loads settings from a home with these files; a text is written as it is. */
function load({ config, own, env = {} }: Files) {
  const home = temporaryFolder();
  const write = (name: string, content: unknown): void => {
    if (content === undefined) return;
    writeFileSync(join(home, name), typeof content === "string" ? content : JSON.stringify(content));
  };
  write("config.json", config);
  write("nanogate.json", own);
  return { home, settings: () => loadSettings(home, env) };
}

const settingsOf = (files: Files) => load(files).settings();
const defaultsOf = (files: Files) => settingsOf(files).agents.defaults;

/** What the owner is told, with the home left out. */
function complaint(files: Files): string {
  const { home, settings } = load(files);
  try {
    settings();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return `${error.message}\n→ ${error.fix}`.replaceAll(`${home}/`, "");
  }
  return "no complaint";
}

describe("settings", () => {
  it("are nanobot's defaults where nobody says anything", () => {
    const { home, settings } = load({});
    expect(settings()).toMatchObject({
      home,
      workspace: join(home, "workspace"),
      agents: {
        defaults: { provider: "auto", maxTokens: 8192, temperature: 0.1, maxToolIterations: 40, memoryWindow: 100 },
      },
      tools: { exec: { enable: true, timeout: 60 } },
      sessions: { driver: "jsonl", segmentSize: 500 },
      memory: { scope: "workspace" },
      gateway: { heartbeat: { enabled: true, intervalS: 1800, activeHours: "", timezone: "" } },
      cron: { misfire: "once", graceHours: 24, overlap: "skip", limitMinutes: 10, retries: 0 },
    });
  });

  it("are read from what nanobot v0.1.4 writes", () => {
    const { agents, providers } = settingsOf({
      config: {
        agents: {
          defaults: {
            workspace: "~/.nanobot/workspace",
            model: "anthropic/claude-opus-4-5",
            provider: "auto",
            maxTokens: 8192,
            temperature: 0.1,
            maxToolIterations: 40,
            memoryWindow: 50,
            reasoningEffort: null,
          },
        },
        channels: {
          sendProgress: true,
          sendToolHints: false,
          telegram: { enabled: false, token: "", allowFrom: [], proxy: null },
        },
        providers: {
          custom: { apiKey: "", apiBase: null, extraHeaders: null },
          anthropic: { apiKey: "sk", apiBase: null, extraHeaders: null },
        },
        gateway: { host: "0.0.0.0", port: 18790, heartbeat: { enabled: true, intervalS: 1800 } },
        tools: {
          web: { proxy: null, search: { apiKey: "", maxResults: 5 } },
          exec: { timeout: 60, pathAppend: "" },
          restrictToWorkspace: false,
          mcpServers: {},
        },
      },
    });
    expect(agents.defaults).toMatchObject({ memoryWindow: 50, reasoningEffort: "" });
    expect(providers).toEqual({
      custom: { apiKey: "", apiBase: "", extraHeaders: {} },
      anthropic: { apiKey: "sk", apiBase: "", extraHeaders: {} },
    });
  });

  it("are read from what nanobot v0.3.0 writes", () => {
    const settings = settingsOf({
      config: {
        agents: {
          defaults: {
            model: "x",
            contextWindowTokens: 200000,
            timezone: "UTC",
            dream: { intervalH: 2 },
            fallbackModels: [],
            botIcon: "🐈",
            maxMessages: 120,
          },
        },
        channels: { telegram: { enabled: false, streaming: true, webhookPort: 1 } },
        providers: {
          openai: { apiKey: null, apiBase: null, extraHeaders: null, extraBody: null, apiType: "auto", proxy: null },
          mine: { apiKey: "k", apiBase: "http://127.0.0.1/v1" },
        },
        api: { host: "127.0.0.1", port: 8900, timeout: 120, apiKey: "" },
        gateway: { restartMode: "auto" },
        tools: {
          web: { enable: true, search: { provider: "tavily", apiKey: null, baseUrl: "" } },
          exec: { enable: false, allowedEnvKeys: ["A"], sandbox: "bwrap" },
          ssrfWhitelist: ["10.0.0.0/8"],
        },
        transcription: { enabled: true },
        modelPresets: {},
      },
    });
    expect(settings.agents.defaults.contextWindowTokens).toBe(200_000);
    expect(settings.providers).toMatchObject({ openai: { apiKey: "" }, mine: { apiKey: "k" } });
    expect(settings.tools).toMatchObject({
      exec: { enable: false, allowedEnvKeys: ["A"] },
      ssrfWhitelist: ["10.0.0.0/8"],
    });
    expect(settings.tools.web.search.provider).toBeUndefined(); // ours has no tavily, and chooses as if nobody had
  });

  it.each([
    ["camelCase", { maxTokens: 7 }, 7],
    ["snake_case", { max_tokens: 7 }, 7],
    ["both, where camelCase wins", { max_tokens: 6, maxTokens: 7 }, 7],
    ["a number as text", { maxTokens: "7" }, 7],
    ["a float that is whole", { maxTokens: 7.0 }, 7],
  ])("may be spelled in %s", (_, defaults, expected) => {
    expect(defaultsOf({ config: { agents: { defaults } } }).maxTokens).toBe(expected);
  });

  it("of nanogate.json are merged over config.json, leaf by leaf, in either spelling", () => {
    const config = {
      agents: { defaults: { model: "a", maxTokens: 1, memoryWindow: 10 } },
      providers: { openai: { apiKey: "k" } },
    };
    const own = { agents: { defaults: { max_tokens: 2, toolCompaction: "off" } }, memory: { scope: "chat" } };
    const settings = settingsOf({ config, own });
    expect(settings.agents.defaults).toMatchObject({
      model: "a",
      maxTokens: 2,
      memoryWindow: 10,
      toolCompaction: "off",
    });
    expect(settings.providers["openai"]?.apiKey).toBe("k");
    expect(settings.memory.scope).toBe("chat");
  });

  it("are read from a file with a byte order mark", () => {
    expect(defaultsOf({ config: '\ufeff{"agents": {"defaults": {"model": "m"}}}' }).model).toBe("m");
  });

  it.each([
    ["", (home: string) => join(home, "workspace")],
    ["~/ws", () => join(homedir(), "ws")],
    ["here", (home: string) => join(home, "here")],
    ["/else/where", () => "/else/where"],
  ])("put the workspace %j where it belongs", (workspace, expected) => {
    const { home, settings } = load({ config: { agents: { defaults: { workspace } } } });
    expect(settings().workspace).toBe(expected(home));
  });
});

describe("the environment", () => {
  const env = { NANOBOT_AGENTS__DEFAULTS__MODEL: "env", nanobot_agents__defaults__max_tokens: "12" };

  it("fills in what the files leave out, whatever its case", () => {
    expect(defaultsOf({ env })).toMatchObject({ model: "env", maxTokens: 12 });
    expect(defaultsOf({ env, config: { agents: { defaults: { model: "file" } } } })).toMatchObject({
      model: "file",
      maxTokens: 12,
    });
    expect(defaultsOf({ env, config: { agents: { defaults: { maxTokens: 5 } } } }).maxTokens).toBe(5);
  });

  it("can switch a channel on", () => {
    const env = { NANOBOT_CHANNELS__TELEGRAM__ENABLED: "true", NANOBOT_CHANNELS__SEND_PROGRESS: "false" };
    const { channels } = settingsOf({ config: { channels: { telegram: { token: "t" } } }, env });
    expect(channels).toEqual({ sendProgress: false, telegram: { enabled: true, token: "t" } });
  });

  it("can carry keys, lists and objects", () => {
    const settings = settingsOf({
      env: {
        NANOBOT_PROVIDERS__ANTHROPIC__API_KEY: "sk",
        NANOBOT_TOOLS__SSRF_WHITELIST: '["10.0.0.0/8"]',
        NANOBOT_PROVIDERS__OPENAI: '{"apiBase": "http://x/v1"}',
        NANOBOT_STREAM_IDLE_TIMEOUT_S: "90",
        NANOBOT_SOMETHING__ELSE: "1",
      },
    });
    expect(settings.providers).toMatchObject({ anthropic: { apiKey: "sk" }, openai: { apiBase: "http://x/v1" } });
    expect(settings.tools.ssrfWhitelist).toEqual(["10.0.0.0/8"]);
  });

  it("is asked for ${NAME} in any text", () => {
    const config = { providers: { openai: { apiKey: "${KEY}", extraHeaders: { "X-A": "a ${KEY} b" } } } };
    const { openai } = settingsOf({ config, env: { KEY: "sk" } }).providers;
    expect(openai).toMatchObject({ apiKey: "sk", extraHeaders: { "X-A": "a sk b" } });
    expect(complaint({ config })).toBe(
      "providers.openai.apiKey refers to the environment variable KEY, which is not set.\n" +
        "→ Set KEY, or write the value into the configuration.",
    );
  });
});

describe("a wrong configuration stops with the place and the fix", () => {
  const defaults = (values: object) => ({ agents: { defaults: values } });
  const wrongValue = (problem: string, place: string) =>
    `The configuration has a wrong value:\n    ${problem}\n→ Correct it in ${place}.`;

  it.each<[string, Files, string]>([
    [
      "a typo in a root key",
      { config: { provider: {} } },
      "config.json: nobody knows the key provider.\n→ Did you mean providers?",
    ],
    [
      "swapped letters",
      { own: { sesions: {} } },
      "nanogate.json: nobody knows the key sesions.\n→ Did you mean sessions?",
    ],
    [
      "a root key like no other",
      { own: { zzz: 1 } },
      "nanogate.json: nobody knows the key zzz.\n→ Use one of agents, providers, channels, gateway, tools, sessions, memory, backends, rotation, cron.",
    ],
    [
      "a typo in our own section",
      { own: { sessions: { segmentsize: 5 } } },
      "nanogate.json: nobody knows the key sessions.segmentsize.\n→ Did you mean sessions.segmentSize?",
    ],
    [
      "a typo deep in our own file",
      { own: defaults({ maxToken: 5 }) },
      "nanogate.json: nobody knows the key agents.defaults.maxToken.\n→ Did you mean agents.defaults.maxTokens?",
    ],
    [
      "the same in nanobot's file, which may be of another version",
      { config: defaults({ maxToken: 5 }) },
      "no complaint",
    ],
    [
      "any setting of a channel, in either file",
      { own: { channels: { send_tool_hints: true, telegram: { enabled: false, whatever: 1 }, other: 2 } } },
      "no complaint",
    ],
    [
      "our section with a typo in nanobot's file",
      { config: { memory: { scpe: "chat" } } },
      "config.json: nobody knows the key memory.scpe.\n→ Did you mean memory.scope?",
    ],
    [
      "a text for a number",
      { config: defaults({ maxTokens: "many" }) },
      wrongValue('agents.defaults.maxTokens must be a whole number, not "many"', "config.json"),
    ],
    [
      "a negative number",
      { own: defaults({ memory_window: -5 }) },
      wrongValue("agents.defaults.memoryWindow must be at least 2, not -5", "nanogate.json"),
    ],
    [
      "a port that there is not",
      { config: { gateway: { port: 99_999 } } },
      wrongValue("gateway.port must be at most 65535, not 99999", "config.json"),
    ],
    [
      "words for an address",
      { config: { providers: { custom: { apiBase: "localhost:11434" } } } },
      wrongValue(
        'providers.custom.apiBase must be an address like https://host/v1, not "localhost:11434"',
        "config.json",
      ),
    ],
    [
      "a channel that is on or off, nobody knows",
      { config: { channels: { telegram: { enabled: "yes please" } } } },
      wrongValue('channels.telegram.enabled must be true or false, not "yes please"', "config.json"),
    ],
    [
      "a fraction",
      { config: { tools: { exec: { timeout: 1.5 } } } },
      wrongValue("tools.exec.timeout must be a whole number, not 1.5", "config.json"),
    ],
    [
      "a list for an object",
      { config: { providers: [] } },
      wrongValue("providers must be an object, not []", "config.json"),
    ],
    [
      "a list for a section",
      { config: { agents: { defaults: [] } } },
      wrongValue("agents.defaults must be an object, not []", "config.json"),
    ],
    [
      "a text for a flag",
      { config: { tools: { exec: { enable: "maybe" } } } },
      wrongValue('tools.exec.enable must be true or false, not "maybe"', "config.json"),
    ],
    [
      "a number in a list of texts",
      { config: { tools: { ssrfWhitelist: [1] } } },
      wrongValue("tools.ssrfWhitelist.0 must be a text in quotes, not 1", "config.json"),
    ],
    [
      "a choice nobody offers",
      { own: { memory: { scope: "all" } } },
      wrongValue('memory.scope must be workspace or chat, not "all"', "nanogate.json"),
    ],
    [
      "a zone that is none",
      { own: { agents: { defaults: { timezone: "Mars/Base" } } } },
      wrongValue('agents.defaults.timezone must be a time zone like Europe/Berlin, not "Mars/Base"', "nanogate.json"),
    ],
    [
      "a way to treat jobs that nobody knows",
      { own: { cron: { overlap: "queue" } } },
      wrongValue('cron.overlap must be skip or wait, not "queue"', "nanogate.json"),
    ],
    [
      "jobs without any time",
      { own: { cron: { limitMinutes: 0 } } },
      wrongValue("cron.limitMinutes must be more than 0, not 0", "nanogate.json"),
    ],
    [
      "a wrong variable",
      { env: { NANOBOT_AGENTS__DEFAULTS__MAX_TOKENS: "x" } },
      wrongValue('agents.defaults.maxTokens must be a whole number, not "x"', "the environment"),
    ],
    [
      "a key that is no text, without showing it",
      { config: { providers: { openai: { apiKey: 12345 } } } },
      wrongValue("providers.openai.apiKey must be a text in quotes", "config.json"),
    ],
  ])("%s", (_, files, expected) => {
    expect(complaint(files)).toBe(expected);
  });

  it("names every wrong value and each file once", () => {
    expect(complaint({ config: defaults({ maxTokens: 0, temperature: "hot" }), own: { memory: { scope: 1 } } })).toBe(
      "The configuration has wrong values:\n" +
        "    agents.defaults.maxTokens must be at least 1, not 0\n" +
        '    agents.defaults.temperature must be a number, not "hot"\n' +
        "    memory.scope must be workspace or chat, not 1\n" +
        "→ Correct them in config.json and nanogate.json.",
    );
  });

  it.each<[string, string, string]>([
    [
      "a missing comma",
      '{\n  "agents": {}\n  "tools": {}\n}',
      "config.json:3:3 is not valid JSON: a comma is missing before this.",
    ],
    [
      "a comma too many",
      '{\n  "agents": {},\n}',
      "config.json:3:1 is not valid JSON: there is a comma too many before this bracket.",
    ],
    ["single quotes", "{'agents': {}}", "config.json:1:2 is not valid JSON: texts are written in double quotes."],
    ["a comment", '{\n  // mine\n  "agents": {}\n}', "config.json:2:3 is not valid JSON: comments are not allowed."],
    [
      "an end too early",
      '{"agents": {',
      "config.json:1:13 is not valid JSON: the file ends too early; a bracket or a quote is missing.",
    ],
    ["a bare word", '{"agents": x}', "config.json:1:12 is not valid JSON: this is not expected here."],
    ["nothing", " \n", "config.json is empty."],
    ["a list", "[]", "config.json is a list, not an object."],
    ["a number", "5", "config.json is just 5, not an object."],
  ])("%s, with line and column", (_, config, expected) => {
    expect(complaint({ config }).split("\n")[0]).toBe(expected);
  });

  it("a broken file shows the place, and nothing behind it", () => {
    const config = '{"providers": {"openai": {"apiKey" "sk-very-secret-key"}}}';
    expect(complaint({ config })).toContain('{"apiKey" "sk-');
    expect(complaint({ config })).not.toContain("very-secret");
  });

  it("a folder in place of the file", () => {
    const { home, settings } = load({});
    mkdirSync(join(home, "config.json"));
    expect(settings).toThrow("config.json cannot be read");
  });
});
