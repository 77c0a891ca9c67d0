import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings } from "../../src/config/load.js";
import { temporaryFolder } from "../support/workspace.js";

function load(own: object, env: NodeJS.ProcessEnv = {}) {
  const home = temporaryFolder();
  writeFileSync(join(home, "nanogate.json"), JSON.stringify(own));
  return loadSettings(home, env);
}

describe("settings of backends", () => {
  it("say that a model answers, unless they say otherwise", () => {
    const { agents, backends, rotation } = load({});
    expect(agents.defaults.backend).toBe("");
    expect(backends.use).toEqual({});
    expect(backends["claude-cli"]).toMatchObject({ command: "claude", timeoutSeconds: 600, allowedTools: [], env: {} });
    expect(rotation).toEqual({ windowSize: 20, bootstrapMessages: 100, bootstrapTokens: 32_000, maxAgeHours: 24 });
  });

  it("name a backend for a session, a channel or a job, and whether it stands alone", () => {
    const { backends } = load({
      backends: {
        use: { "telegram:42": "claude-cli", telegram: "model", "cron:abc": { backend: "claude-cli", stateless: true } },
      },
    });
    expect(backends.use).toEqual({
      "telegram:42": { backend: "claude-cli", stateless: false },
      telegram: { backend: "model", stateless: false },
      "cron:abc": { backend: "claude-cli", stateless: true },
    });
  });

  it("take variables of the environment", () => {
    const env = { KEY: "k" };
    const own = { backends: { "claude-cli": { env: { ANTHROPIC_API_KEY: "${KEY}" } } } };
    expect(load(own, env).backends["claude-cli"].env).toEqual({ ANTHROPIC_API_KEY: "k" });
  });

  it("take the size of the window from SESSION_WINDOW_SIZE, where the files are silent (003-3)", () => {
    expect(load({}, { SESSION_WINDOW_SIZE: "7" }).rotation.windowSize).toBe(7);
    expect(load({}, { SESSION_WINDOW_SIZE: "" }).rotation.windowSize).toBe(20);
    expect(load({ rotation: { windowSize: 5 } }, { SESSION_WINDOW_SIZE: "7" }).rotation.windowSize).toBe(5);
    for (const wrong of ["0", "-1", "many", "1.5"]) {
      expect(() => load({}, { SESSION_WINDOW_SIZE: wrong })).toThrow(/rotation\.windowSize must be/);
    }
  });

  it.each([
    [{ backends: { "claude-cli": { comand: "x" } } }, /backends\.claude-cli\.comand/],
    [{ backends: { claude: {} } }, /backends\.claude/],
    [{ backends: { use: { telegram: 7 } } }, /backends\.use\.telegram must be an object/],
    [{ rotation: { windowsize: 3 } }, /rotation\.windowsize/],
  ])("are checked: %j", (own, words) => {
    expect(() => load(own)).toThrow(words);
  });
});
