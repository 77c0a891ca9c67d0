import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { diagnose, type Finding } from "../../src/cli/doctor.js";
import { openHome } from "../support/cli.js";
import { openClaude } from "../support/claude-house.js";
import { openFakeApi } from "../support/fake-api.js";

type Claude = ReturnType<typeof openClaude>;

async function examine(
  own: (claude: Claude) => object,
  options: { version?: string; env?: Record<string, string> } = {},
) {
  const claude = openClaude(options);
  const home = openHome({ agents: { defaults: { provider: "demo" } } });
  writeFileSync(join(home, "nanogate.json"), JSON.stringify(own(claude)));
  const world = { env: { ...claude.world, ...options.env }, fetch, now: () => Date.now() };
  const findings = await diagnose(home, world);
  return { findings, found: (name: string): Finding | undefined => findings.find((one) => one.name === name), claude };
}

const everywhere =
  (more: object = {}) =>
  ({ settings, config }: Claude) => ({
    agents: { defaults: { backend: "claude-cli" } },
    backends: { "claude-cli": { command: settings.command, configDir: config, env: settings.env, ...more } },
  });
const key = { env: { ANTHROPIC_API_KEY: "k" } };

describe("nanogate doctor on backends", () => {
  it("does not speak of those that nobody uses", async () => {
    const { findings } = await examine(() => ({ backends: { "claude-cli": { command: "/nonexistent" } } }));
    expect(findings.map(({ name }) => name)).not.toContain("claude-cli");
  });

  it("finds the command, its version, and that it is logged in", async () => {
    const { found } = await examine(everywhere(), key);
    expect(found("claude-cli")).toMatchObject({ state: "ok", detail: expect.stringMatching(/2\.1\.325, logged in/) });
    // Nobody would ask it.
    expect(found("model")).toBeUndefined();
  });

  it("looks at the model too, if it is to answer somewhere", async () => {
    const { found } = await examine((claude) => {
      const own = everywhere()(claude);
      return { ...own, backends: { ...own.backends, use: { telegram: "model" } } };
    }, key);
    expect(found("model")).toBeDefined();
    expect(found("claude-cli")?.state).toBe("ok");
  });

  it("says what is missing: the command", async () => {
    const { found } = await examine(everywhere({ command: "/nonexistent/claude" }));
    expect(found("claude-cli")).toMatchObject({
      state: "fail",
      detail: "there is no command /nonexistent/claude",
      fix: expect.stringContaining("npm install -g"),
    });
  });

  it("says what is missing: a login", async () => {
    const { found, claude } = await examine(everywhere());
    expect(found("claude-cli")).toMatchObject({ state: "fail", fix: expect.stringContaining("/login") });
    // Nothing was asked of any model.
    expect(claude.calls()).toEqual([]);
  });

  it("does not ask an old command for its login: it would take the question for a message", async () => {
    const { found, claude } = await examine(everywhere(), { version: "2.1.34" });
    expect(found("claude-cli")).toMatchObject({ state: "warn", detail: expect.stringContaining("2.1.34") });
    expect(claude.calls()).toEqual([]);
    const withKey = await examine(everywhere(), { version: "2.1.34", ...key });
    expect(withKey.found("claude-cli")?.state).toBe("ok");
    const withFile = await examine(
      (house) => {
        mkdirSync(house.config, { recursive: true });
        writeFileSync(join(house.config, ".credentials.json"), "");
        return everywhere()(house);
      },
      { version: "2.1.34" },
    );
    expect(withFile.found("claude-cli")?.state).toBe("ok");
  });

  it("says of a very old one that it lacks something", async () => {
    const { found } = await examine(everywhere(), { version: "1.0.37", ...key });
    expect(found("claude-cli")).toMatchObject({ state: "warn", detail: expect.stringContaining("is old") });
  });

  it("is not content with any program of that name", async () => {
    const { found } = await examine(everywhere({ command: "/bin/true" }));
    expect(found("claude-cli")).toMatchObject({ state: "fail", detail: expect.stringContaining("something else") });
  });

  it("names a backend that does not exist, and a folder that may not be", async () => {
    const typo = await examine(() => ({ agents: { defaults: { backend: "claude" } } }));
    expect(typo.found("backends")).toMatchObject({ state: "fail", fix: "Did you mean claude-cli?" });
    const open = await examine(everywhere({ folder: "." }), key);
    expect(open.found("claude-cli")).toMatchObject({ state: "fail", detail: expect.stringContaining("all chats") });
  });

  it("tries the key of OpenAI without spending tokens", async () => {
    const api = await openFakeApi((_, { headers }) =>
      headers.authorization === "Bearer good" ? { body: { data: [] } } : { status: 401, body: {} },
    );
    const use = (apiKey: string) => () => ({
      backends: {
        "openai-responses": { model: "gpt-x", apiKey, apiBase: `${api}/v1` },
        use: { discord: "openai-responses" },
      },
    });
    expect((await examine(use("good"))).found("openai-responses")).toMatchObject({ state: "ok" });
    expect((await examine(use("bad"))).found("openai-responses")).toMatchObject({ state: "fail" });
    expect((await examine(use(""))).found("openai-responses")).toMatchObject({
      state: "fail",
      detail: "there is no apiKey",
    });
  });
});
