import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings } from "../../src/config/load.js";
import { openGatewayApp } from "../support/gateway-app.js";
import { temporaryFolder } from "../support/workspace.js";

function doubtsOf(providers: object): readonly string[] {
  const home = temporaryFolder();
  writeFileSync(join(home, "config.json"), JSON.stringify({ providers }));
  return loadSettings(home, {}).doubts;
}

describe("a name in providers that nobody knows", () => {
  it.each([
    ["a provider", { antropic: { apiKey: "k" } }, "providers.antropic. Did you mean providers.anthropic?"],
    ["a setting", { openai: { apikey_: "k" } }, "providers.openai.apikey_. Did you mean providers.openai.apiKey?"],
  ])("and is nearly that of %s is worth a word", (_, providers, sentence) => {
    expect(doubtsOf(providers)).toEqual([`Nobody knows the key ${sentence}`]);
  });

  it("may be another version's, or the owner's own: then nothing is said", () => {
    expect(doubtsOf({ openai: { api_key: "k", extraBody: {} }, quantumCloud: { apiKey: "k" } })).toEqual([]);
    expect(doubtsOf({ opnai: { apiBase: "http://127.0.0.1:1/v1" }, azureOpenai: {}, azure_openai: {} })).toEqual([]);
  });
});

describe("a name in a channel that nobody knows", () => {
  it("is a warning when the gateway starts, if it is nearly that of a setting", async () => {
    const secret = "sixteen characters";
    const webhook = { enabled: true, secret, port: 0, allow_from: ["ann"], allowForm: ["ben"], poolSize: 3 };
    const config = { channels: { webhook }, tools: { exec: { enable: false } } };
    const { warnings } = await openGatewayApp({ config });
    expect(warnings).toEqual([
      "Nobody knows the key channels.webhook.allowForm. Did you mean channels.webhook.allowFrom?",
    ]);
  });
});
