import { describe, expect, it } from "vitest";
import { providerSpecs } from "../../src/providers/provider-table.js";
import { type Choice, chooseProvider, type ProviderSettings } from "../../src/providers/registry.js";

const key = { apiKey: "k" };
type Providers = Readonly<Record<string, ProviderSettings>>;

const chosen = (
  model: string,
  providers: Providers,
  provider?: string,
  env = {},
): Extract<Choice, { kind: "chosen" }> => {
  const choice = chooseProvider(model, providers, provider, env);
  if (choice.kind === "none") throw new Error(`no provider for ${model}: ${choice.why}`);
  return choice;
};
const nameOf = (...question: Parameters<typeof chosen>): string => chosen(...question).spec.name;

describe("the provider of a model", () => {
  it("is chosen as nanobot chooses", () => {
    expect(nameOf("anthropic/claude-opus-4-5", { openrouter: key })).toBe("openrouter");
    expect(nameOf("anthropic/claude-opus-4-5", { openrouter: key, anthropic: key })).toBe("anthropic");
    expect(nameOf("gpt-4o", { custom: key })).toBe("custom");
    expect(nameOf("openai-codex/gpt-5", {})).toBe("openai_codex");
    expect(nameOf("darkmodel", { openai: key, volcengine: key })).toBe("volcengine");
  });

  it.each<[string, string, Providers, string]>([
    ["by its prefix", "deepseek/gpt-x", { openai: key, deepseek: key }, "deepseek"],
    ["by its prefix, in either spelling", "Github-Copilot/gpt-4", { openai: key }, "github_copilot"],
    ["by a keyword, in the order of the table", "claude-gpt", { openai: key, anthropic: key }, "anthropic"],
    ["by a keyword with the other dash", "my_azure_openai_model", { azureOpenai: key, openai: key }, "azure_openai"],
    ["by any key, in the order of the table", "llama-3.3", { groq: key, gemini: key }, "gemini"],
    ["but not by a blank key", "gpt-4o", { openai: { apiKey: "  " }, groq: key }, "groq"],
    ["as one that serves everything", "deepseek/deepseek-chat", { openrouter: key }, "openrouter"],
  ])("is found %s", (_, model, providers, name) => {
    expect(nameOf(model, providers)).toBe(name);
  });

  it("is the one that is named, in any spelling, whatever the model", () => {
    for (const name of ["azure_openai", "azureOpenai", "azure-openai", "AzureOpenai"]) {
      expect(nameOf("claude-3", { azure_openai: { apiBase: "https://x" }, anthropic: key }, name)).toBe("azure_openai");
    }
    expect(chooseProvider("gpt-4o", { openai: key }, "opnai")).toEqual({ kind: "none", why: "unknown-provider" });
  });

  it("may be a server of one's own, without a key", () => {
    const own = { apiBase: "http://10.0.0.5:9000/v1" };
    expect(nameOf("vllm/llama", { vllm: own })).toBe("vllm");
    expect(nameOf("llama3.2", { vllm: own })).toBe("vllm");
    expect(nameOf("llama3.2", { vllm: own, ollama: { apiBase: "http://nas:11434/v1" } })).toBe("ollama");
    expect(nameOf("ollama/llama3.2", {})).toBe("ollama");
    expect(nameOf("custom/x", { custom: own })).toBe("custom");
    expect(nameOf("whatever", { custom: own })).toBe("custom");
    expect(nameOf("gpt-4o", { custom: own, openai: key })).toBe("openai");
    expect(chooseProvider("vllm/llama", {})).toEqual({ kind: "none", why: "no-key" });
  });

  it("may have a name that only the owner knows", () => {
    const mine = { apiBase: "https://llm.example.com/v1", apiKey: "k" };
    expect(chosen("my-server/llama", { "my-server": mine })).toMatchObject({
      model: "llama",
      baseUrl: mine.apiBase,
      apiKey: "k",
    });
    expect(nameOf("llama", { "my-server": mine })).toBe("my_server");
    expect(nameOf("llama", { "my-server": mine }, "myServer")).toBe("my_server");
    expect(nameOf("llama", { "my-server": mine, groq: key })).toBe("groq");
    expect(chooseProvider("llama", { "my-server": { apiKey: "k" } }, "my-server").kind).toBe("none");
  });

  it("is none without any key", () => {
    expect(chooseProvider("gpt-4o", {})).toEqual({ kind: "none", why: "no-key" });
    expect(chooseProvider("gpt-4o", { openai: { apiKey: "", apiBase: "https://x" } })).toEqual({
      kind: "none",
      why: "no-key",
    });
    expect(chooseProvider("gpt-4o", { openai: { apiKey: null } })).toEqual({ kind: "none", why: "no-key" });
  });
});

describe("the key", () => {
  it("comes from the file before the environment", () => {
    const env = { OPENAI_API_KEY: "env", ZHIPUAI_API_KEY: "zhipu" };
    expect(chosen("gpt-4o", {}, "auto", env)).toMatchObject({ apiKey: "env", spec: { name: "openai" } });
    expect(chosen("gpt-4o", { openai: { apiKey: " file\n" } }, "auto", env).apiKey).toBe("file");
    expect(chosen("glm-4", {}, "auto", env)).toMatchObject({ apiKey: "zhipu", spec: { name: "zhipu" } });
  });

  it("of OpenAI in the environment is nobody else's", () => {
    expect(nameOf("some-model", {}, "auto", { OPENAI_API_KEY: "env" })).toBe("openai");
  });

  it("in camelCase wins over the same in snake_case", () => {
    const both = { azureOpenai: { apiKey: "camel" }, azure_openai: { apiKey: "snake" } };
    expect(chosen("azure/x", both).apiKey).toBe("camel");
    expect(chosen("azure/x", Object.fromEntries(Object.entries(both).reverse())).apiKey).toBe("camel");
  });
});

describe("the address", () => {
  it("is the owner's, else the provider's", () => {
    expect(chosen("deepseek-chat", { deepseek: key }).baseUrl).toBe("https://api.deepseek.com");
    expect(chosen("gpt-4o", { openai: { ...key, apiBase: "https://proxy/v1" } }).baseUrl).toBe("https://proxy/v1");
    expect(chosen("gpt-4o", { custom: key }).baseUrl).toBe("http://localhost:8000/v1");
    expect(chosen("azure/x", { azureOpenai: key }).baseUrl).toBeUndefined();
  });

  it("may be pasted whole", () => {
    const apiBase = "https://proxy/v1/chat/completions";
    expect(chosen("gpt-4o", { openai: { ...key, apiBase } }).baseUrl).toBe("https://proxy/v1");
  });

  it("of every known provider is a proper one", () => {
    for (const { baseUrl } of providerSpecs) if (baseUrl !== undefined) expect(() => new URL(baseUrl)).not.toThrow();
    expect(new Set(providerSpecs.map(({ name }) => name)).size).toBe(providerSpecs.length);
  });
});

describe("the name on the wire", () => {
  it.each([
    ["deepseek/deepseek-chat", "deepseek", "deepseek-chat"],
    ["openrouter/anthropic/claude-3", "openrouter", "anthropic/claude-3"],
    ["anthropic/claude-3", "openrouter", "anthropic/claude-3"],
    ["openrouter/auto", "openrouter", "openrouter/auto"],
    ["gemini/gemini-2.5-pro", "gemini", "gemini-2.5-pro"],
    ["groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"],
    ["openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"],
    ["zai/glm-4.6", "zhipu", "glm-4.6"],
    ["dashscope/qwen-max", "dashscope", "qwen-max"],
    ["moonshot/kimi-k2.5", "moonshot", "kimi-k2.5"],
    ["minimax/MiniMax-M2", "minimax", "MiniMax-M2"],
    ["anthropic/claude-opus-4-5", "anthropic", "claude-opus-4-5"],
    ["anthropic/claude-3", "aihubmix", "claude-3"],
    ["Qwen/Qwen3-8B", "siliconflow", "Qwen/Qwen3-8B"],
    ["hosted_vllm/meta-llama/Llama-3", "vllm", "meta-llama/Llama-3"],
    ["custom/some-model", "custom", "custom/some-model"],
    ["gpt-4o", "openai", "gpt-4o"],
  ])("of %s at %s is %s", (model, provider, wire) => {
    const settings = { [provider]: { apiKey: "k", ...(provider === "vllm" && { apiBase: "http://x/v1" }) } };
    expect(chosen(model, settings, provider).model).toBe(wire);
  });
});
