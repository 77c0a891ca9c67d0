/** The providers we know, in the order in which they are asked for. */

export type ProviderSpec = {
  /** nanobot's name, in snake_case; in config.json it is camelCase. */
  readonly name: string;
  /** Parts of a model's name that speak for this provider. */
  readonly keywords: readonly string[];
  /** Absent where only the owner can know it. */
  readonly baseUrl?: string;
  /** Environment variables that hold its key, the best known first. */
  readonly keyEnv: readonly string[];
  /**
   * `vendor`: serves its own models. `gateway`: serves everybody's. `direct`: wherever the owner says, with a key or
   * without. `local`: a server on one's own machine, without a key. `oauth`: needs a sign-in that we do not do.
   */
  readonly kind: "vendor" | "gateway" | "direct" | "local" | "oauth";
  /** Prefixes of a model's name that are meant for us and not for the server, besides the provider's own name. */
  readonly prefixes?: readonly string[];
  /** Which part of the model's name goes out: without our prefix (the rule), after the last slash, or all of it. */
  readonly wireName?: "after-last-slash" | "verbatim";
  /** In the URL of a server of this kind. */
  readonly port?: string;
  /** What to use when nobody has said which model. */
  readonly defaultModel?: string;
};

/**
 * The first eighteen are nanobot 0.1.4.post4's, in its order; the rest came later. Three of them would share
 * OPENAI_API_KEY there, an artefact of its client library: with the key of OpenAI they would only be refused, so here
 * each has a variable of its own.
 */
export const providerSpecs: readonly ProviderSpec[] = [
  {
    name: "custom",
    keywords: [],
    baseUrl: "http://localhost:8000/v1",
    keyEnv: [],
    kind: "direct",
    wireName: "verbatim",
  },
  {
    name: "azure_openai",
    keywords: ["azure", "azure-openai"],
    keyEnv: ["AZURE_OPENAI_API_KEY"],
    kind: "direct",
    prefixes: ["azure"],
  },
  {
    name: "openrouter",
    keywords: ["openrouter"],
    baseUrl: "https://openrouter.ai/api/v1",
    keyEnv: ["OPENROUTER_API_KEY"],
    kind: "gateway",
    defaultModel: "anthropic/claude-sonnet-4.5",
  },
  {
    name: "aihubmix",
    keywords: ["aihubmix"],
    baseUrl: "https://aihubmix.com/v1",
    keyEnv: ["AIHUBMIX_API_KEY"],
    kind: "gateway",
    wireName: "after-last-slash",
  },
  {
    name: "siliconflow",
    keywords: ["siliconflow"],
    baseUrl: "https://api.siliconflow.cn/v1",
    keyEnv: ["SILICONFLOW_API_KEY"],
    kind: "gateway",
  },
  {
    name: "volcengine",
    keywords: ["volcengine", "volces", "ark"],
    baseUrl: "https://ark.cn-beijing.volces.com/api/v3",
    keyEnv: ["VOLCENGINE_API_KEY", "ARK_API_KEY"],
    kind: "gateway",
  },
  {
    name: "anthropic",
    keywords: ["anthropic", "claude"],
    baseUrl: "https://api.anthropic.com/v1", // Anthropic's own door for OpenAI's protocol
    keyEnv: ["ANTHROPIC_API_KEY"],
    kind: "vendor",
    defaultModel: "claude-sonnet-4-5",
  },
  {
    name: "openai",
    keywords: ["openai", "gpt"],
    baseUrl: "https://api.openai.com/v1",
    keyEnv: ["OPENAI_API_KEY"],
    kind: "vendor",
    defaultModel: "gpt-5-mini",
  },
  {
    name: "openai_codex",
    keywords: ["openai-codex"],
    baseUrl: "https://chatgpt.com/backend-api",
    keyEnv: [],
    kind: "oauth",
  },
  {
    name: "github_copilot",
    keywords: ["github_copilot", "copilot"],
    baseUrl: "https://api.githubcopilot.com",
    keyEnv: [],
    kind: "oauth",
  },
  {
    name: "deepseek",
    keywords: ["deepseek"],
    baseUrl: "https://api.deepseek.com",
    keyEnv: ["DEEPSEEK_API_KEY"],
    kind: "vendor",
    defaultModel: "deepseek-chat",
  },
  {
    name: "gemini",
    keywords: ["gemini"],
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai/",
    keyEnv: ["GEMINI_API_KEY"],
    kind: "vendor",
    defaultModel: "gemini-2.5-flash",
  },
  {
    name: "zhipu",
    keywords: ["zhipu", "glm", "zai"],
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    keyEnv: ["ZAI_API_KEY", "ZHIPUAI_API_KEY"],
    kind: "vendor",
    prefixes: ["zai"],
  },
  {
    name: "dashscope",
    keywords: ["qwen", "dashscope"],
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    keyEnv: ["DASHSCOPE_API_KEY"],
    kind: "vendor",
  },
  {
    name: "moonshot",
    keywords: ["moonshot", "kimi"],
    baseUrl: "https://api.moonshot.ai/v1",
    keyEnv: ["MOONSHOT_API_KEY"],
    kind: "vendor",
  },
  {
    name: "minimax",
    keywords: ["minimax"],
    baseUrl: "https://api.minimax.io/v1",
    keyEnv: ["MINIMAX_API_KEY"],
    kind: "vendor",
  },
  { name: "vllm", keywords: ["vllm"], keyEnv: ["HOSTED_VLLM_API_KEY"], kind: "local", prefixes: ["hosted_vllm"] },
  {
    name: "groq",
    keywords: ["groq"],
    baseUrl: "https://api.groq.com/openai/v1",
    keyEnv: ["GROQ_API_KEY"],
    kind: "vendor",
    defaultModel: "llama-3.3-70b-versatile",
  },
  {
    name: "mistral",
    keywords: ["mistral"],
    baseUrl: "https://api.mistral.ai/v1",
    keyEnv: ["MISTRAL_API_KEY"],
    kind: "vendor",
    defaultModel: "mistral-large-latest",
  },
  {
    name: "stepfun",
    keywords: ["stepfun", "step-"],
    baseUrl: "https://api.stepfun.com/v1",
    keyEnv: ["STEPFUN_API_KEY"],
    kind: "vendor",
  },
  { name: "xai", keywords: ["xai", "grok"], baseUrl: "https://api.x.ai/v1", keyEnv: ["XAI_API_KEY"], kind: "vendor" },
  {
    name: "byteplus",
    keywords: ["byteplus"],
    baseUrl: "https://ark.ap-southeast.bytepluses.com/api/v3",
    keyEnv: ["BYTEPLUS_API_KEY"],
    kind: "gateway",
  },
  {
    name: "huggingface",
    keywords: ["huggingface"],
    baseUrl: "https://router.huggingface.co/v1",
    keyEnv: ["HF_TOKEN"],
    kind: "gateway",
  },
  {
    name: "nvidia",
    keywords: ["nvidia"],
    baseUrl: "https://integrate.api.nvidia.com/v1",
    keyEnv: ["NVIDIA_API_KEY"],
    kind: "gateway",
  },
  {
    name: "ollama",
    keywords: ["ollama"],
    baseUrl: "http://localhost:11434/v1",
    keyEnv: [],
    kind: "local",
    port: "11434",
  },
  {
    name: "lm_studio",
    keywords: ["lm-studio", "lmstudio"],
    baseUrl: "http://localhost:1234/v1",
    keyEnv: [],
    kind: "local",
    port: "1234",
  },
  {
    name: "atomic_chat",
    keywords: ["atomic-chat"],
    baseUrl: "http://localhost:1337/v1",
    keyEnv: [],
    kind: "local",
    port: "1337",
  },
  { name: "ovms", keywords: ["ovms"], baseUrl: "http://localhost:8000/v3", keyEnv: [], kind: "local" },
];
