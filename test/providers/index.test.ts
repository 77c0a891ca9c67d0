import { describe, expect, it } from "vitest";
import { type ModelSettings, type ModelWorld, openModel } from "../../src/providers/index.js";
import { UserError } from "../../src/util/errors.js";
import { fails, openFakeOpenAi, says } from "../support/fake-openai.js";
import { ask, read } from "../support/reading.js";

const noNetwork = (() => Promise.reject(new TypeError("fetch failed"))) as typeof fetch;
const world = (more: Partial<ModelWorld> = {}): ModelWorld => ({
  env: {},
  fetch: noNetwork,
  sleep: async () => {},
  ...more,
});

async function refusal(settings: ModelSettings, env: Readonly<Record<string, string>> = {}): Promise<UserError> {
  const error: unknown = await openModel(settings, world({ env })).catch((thrown: unknown) => thrown);
  if (!(error instanceof UserError)) throw new Error("it was opened");
  return error;
}

describe("with a key", () => {
  it("the configured model is opened with all its settings, behind retries", async () => {
    const server = await openFakeOpenAi(fails(500, { message: "busy" }), says("hello"));
    const waits: number[] = [];
    const { model, notice } = await openModel(
      {
        model: "deepseek/deepseek-chat",
        provider: "auto",
        providers: { deepseek: { apiKey: "k", apiBase: server.url, extraHeaders: { "x-a": "b" } } },
        maxTokens: 100,
        temperature: 0.2,
        reasoningEffort: null,
        contextTokens: 5000,
      },
      world({ fetch, sleep: async (ms) => void waits.push(ms) }),
    );
    expect(notice).toBeUndefined();
    expect(model).toMatchObject({ name: "deepseek/deepseek-chat", contextTokens: 5000 });
    expect((await read(model, ask("hi"))).reply?.text).toBe("hello");
    expect(waits).toHaveLength(1);
    expect(server.heard[1]).toMatchObject({
      headers: { authorization: "Bearer k", "x-a": "b" },
      body: { model: "deepseek-chat", max_tokens: 100, temperature: 0.2 },
    });
  });

  it("in the environment alone, the provider's own model is opened", async () => {
    const { model, notice } = await openModel({}, world({ env: { OPENAI_API_KEY: "k" } }));
    expect(model.name).toBe("openai/gpt-5-mini");
    expect(notice).toBe("No model is configured: using gpt-5-mini of openai.");
    const onboarded = { model: "anthropic/claude-opus-4-5", providers: { anthropic: { apiKey: "" } } };
    expect((await openModel(onboarded, world({ env: { OPENAI_API_KEY: "k" } }))).model.name).toBe("openai/gpt-5-mini");
    expect((await openModel(onboarded, world({ env: { ANTHROPIC_API_KEY: "k" } }))).model.name).toBe(
      "anthropic/claude-opus-4-5",
    );
    expect((await openModel(onboarded, world({ env: { OPENROUTER_API_KEY: "k" } }))).model.name).toBe(
      "openrouter/anthropic/claude-opus-4-5",
    );
  });

  it("Azure is spoken to in its own way", async () => {
    const server = await openFakeOpenAi(says("x"));
    const base = server.url.replace("/v1", "/");
    const { model } = await openModel(
      { model: "azure/my-gpt", provider: "azureOpenai", providers: { azureOpenai: { apiKey: "k", apiBase: base } } },
      world({ fetch }),
    );
    await read(model, ask("hi"));
    expect(server.heard[0]?.path).toBe("/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21");
    expect(server.heard[0]?.headers).toMatchObject({ "api-key": "k" });
  });

  it("kimi-k2.5 gets the only temperature it takes", async () => {
    const server = await openFakeOpenAi(says("x"));
    const providers = { moonshot: { apiKey: "k", apiBase: server.url } };
    const { model } = await openModel({ model: "moonshot/kimi-k2.5", providers, temperature: 0.1 }, world({ fetch }));
    await read(model, ask("hi"));
    expect(server.heard[0]?.body).toMatchObject({ model: "kimi-k2.5", temperature: 1 });
  });
});

describe("a model that is configured but cannot be used", () => {
  it.each<[string, ModelSettings, string, string]>([
    [
      "no key",
      { model: "deepseek/deepseek-chat" },
      "needs a key for deepseek",
      "Set providers.deepseek.apiKey in config.json, or DEEPSEEK_API_KEY in the environment.",
    ],
    [
      "no key for the named provider",
      { provider: "groq", model: "x", providers: { openai: { apiKey: "k" } } },
      "needs a key for groq",
      "GROQ_API_KEY",
    ],
    ["a model that says nothing", { model: "llama-3" }, "belongs to no provider", "OPENROUTER_API_KEY"],
    ["no address", { model: "vllm/llama" }, "the address of a server", "Set providers.vllm.apiBase in config.json."],
    [
      "no address for Azure",
      { model: "azure/x", providers: { azure_openai: { apiKey: "k" } } },
      "the address of a server",
      "providers.azureOpenai.apiBase",
    ],
    ["a wrong name", { provider: "opnai", model: "gpt-4o" }, "There is no provider opnai.", "agents.defaults.provider"],
    ["a sign-in", { model: "openai-codex/gpt-5" }, "browser sign-in", "agents.defaults.model"],
    [
      "no model",
      { providers: { custom: { apiBase: "http://x/v1" } } },
      "Which model of custom",
      "agents.defaults.model",
    ],
  ])("is an error that says what to set: %s", async (_, settings, message, fix) => {
    const error = await refusal(settings);
    expect(error.message).toContain(message);
    expect(error.fix).toContain(fix);
  });
});

describe("without any key", () => {
  it.each<[string, ModelSettings]>([
    ["nothing is configured", {}],
    [
      "only what nanobot writes for everyone",
      { model: "anthropic/claude-opus-4-5", provider: "auto", providers: { anthropic: { apiKey: "" } } },
    ],
  ])("the demo model answers and says so: %s", async (_, settings) => {
    const { model, notice } = await openModel(settings, world());
    expect(model.name).toBe("demo/demo");
    expect(notice).toContain("demo model");
    expect((await read(model, ask("what is 17*23"))).reply?.text).toBe("17*23 = 391");
  });

  it("a server on this machine comes first", async () => {
    const server = await openFakeOpenAi(says("local words"));
    const rerouted = ((url: string, init: RequestInit) =>
      url.endsWith("/models")
        ? Promise.resolve(Response.json({ data: url.includes("11434") ? [{ id: "llama3.2:3b" }] : [] }))
        : fetch(url.replace("http://127.0.0.1:11434/v1", server.url), init)) as typeof fetch;
    const { model, notice } = await openModel({}, world({ fetch: rerouted }));
    expect(notice).toContain("llama3.2:3b");
    expect(model.name).toBe("ollama/llama3.2:3b");
    expect((await read(model, ask("hi"))).reply?.text).toBe("local words");
    expect(server.heard[0]?.headers).not.toHaveProperty("authorization");
  });
});

it("the demo model can be chosen by name, key or not", async () => {
  const env = { OPENAI_API_KEY: "k" };
  expect((await openModel({ provider: "demo" }, world({ env }))).model.name).toBe("demo/demo");
  expect(await openModel({ model: "demo" }, world({ env }))).toMatchObject({ model: { name: "demo/demo" } });
});
