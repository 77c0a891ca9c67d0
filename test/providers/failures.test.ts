import { describe, expect, it } from "vitest";
import {
  type Asked,
  BrokenOffFailure,
  HttpFailure,
  ProtocolFailure,
  sortFailure,
} from "../../src/providers/failures.js";
import type { ModelFailure } from "../../src/providers/provider.js";

const asked: Asked = {
  provider: "azure_openai",
  model: "gpt-4o",
  baseUrl: "https://user:hidden@api.example.com/v1?key=alsohidden",
  secrets: ["abcd-secret-key", "", "Basic dXNlcjpwYXNz"],
};

const http = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  new HttpFailure(status, new Headers(headers), typeof body === "string" ? body : JSON.stringify(body));

const sorted = (status: number, body: unknown, headers?: Readonly<Record<string, string>>) =>
  sortFailure(http(status, body, headers), asked);

describe("a failure is sorted by its status", () => {
  it.each<[number, ModelFailure]>([
    [400, "request"],
    [401, "auth"],
    [402, "limit"],
    [403, "auth"],
    [404, "request"],
    [408, "overload"],
    [409, "overload"],
    [413, "too-long"],
    [422, "request"],
    [425, "overload"],
    [429, "overload"],
    [500, "overload"],
    [502, "overload"],
    [503, "overload"],
    [529, "overload"],
  ])("%i is %s", (status, kind) => {
    expect(sorted(status, { error: { message: "no" } }).kind).toBe(kind);
    expect(sorted(status, "").kind).toBe(kind);
  });
});

describe("a failure is sorted by the words of each server", () => {
  it.each<[string, number, unknown]>([
    [
      "OpenAI",
      400,
      { error: { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" } },
    ],
    [
      "OpenAI, older",
      400,
      {
        error: {
          message:
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        },
      },
    ],
    [
      "OpenAI, one request above the limit per minute",
      429,
      {
        error: {
          message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35000.",
          code: "rate_limit_exceeded",
        },
      },
    ],
    [
      "Anthropic",
      400,
      { error: { type: "invalid_request_error", message: "prompt is too long: 208310 tokens > 200000 maximum" } },
    ],
    [
      "Anthropic, with the answer",
      400,
      { error: { message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" } },
    ],
    [
      "DeepSeek",
      400,
      {
        error: {
          message: "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
          type: "invalid_request_error",
        },
      },
    ],
    [
      "Gemini, in a list",
      400,
      [
        {
          error: {
            code: 400,
            message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            status: "INVALID_ARGUMENT",
          },
        },
      ],
    ],
    [
      "vLLM",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        type: "BadRequestError",
        code: 400,
      },
    ],
    ["Ollama", 500, { error: "the input length exceeds the context length" }],
    [
      "llama.cpp",
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
        },
      },
    ],
    [
      "LM Studio",
      400,
      {
        error:
          "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
      },
    ],
    [
      "OpenRouter",
      400,
      {
        error: {
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens",
          code: 400,
        },
      },
    ],
    ["Groq", 413, { error: { message: "Request too large for model `llama`", code: "rate_limit_exceeded" } }],
    [
      "Mistral",
      400,
      {
        object: "error",
        message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
      },
    ],
    ["Moonshot", 400, { error: { message: "Invalid request: Your request exceeded model token limit: 8192" } }],
    ["xAI", 400, { error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." }],
  ])("too long for %s", (_, status, body) => {
    expect(sorted(status, body).kind).toBe("too-long");
  });

  it.each<[string, ModelFailure, number, unknown]>([
    [
      "OpenAI's empty purse",
      "limit",
      429,
      {
        error: {
          message: "You exceeded your current quota, please check your plan and billing details.",
          code: "insufficient_quota",
        },
      },
    ],
    [
      "Anthropic's empty purse",
      "limit",
      400,
      { error: { message: "Your credit balance is too low to access the Anthropic API." } },
    ],
    ["DeepSeek's empty purse", "limit", 402, { error: { message: "Insufficient Balance" } }],
    [
      "Moonshot's empty purse",
      "limit",
      429,
      { error: { message: "Your account is suspended", type: "exceeded_current_quota_error" } },
    ],
    [
      "OpenRouter's limit of a key",
      "limit",
      403,
      { error: { message: "Key limit exceeded (total limit)", code: 403 } },
    ],
    [
      "Gemini's full minute",
      "overload",
      429,
      [
        {
          error: {
            code: 429,
            message: "You exceeded your current quota. Please retry in 12.5s.",
            status: "RESOURCE_EXHAUSTED",
          },
        },
      ],
    ],
    [
      "Gemini's wrong key",
      "auth",
      400,
      [
        {
          error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" },
        },
      ],
    ],
    [
      "Azure's filter",
      "content",
      400,
      {
        error: {
          code: "content_filter",
          message: "The response was filtered due to Azure OpenAI's content management policy.",
        },
      },
    ],
    ["DeepSeek's filter", "content", 400, { error: { message: "Content Exists Risk" } }],
    [
      "Qwen's filter",
      "content",
      400,
      { error: { code: "data_inspection_failed", message: "Input data may contain inappropriate content." } },
    ],
    [
      "OpenRouter's filter",
      "content",
      403,
      { error: { code: 403, message: "Your input was flagged", metadata: { reasons: ["violence"] } } },
    ],
    [
      "a limit on the answer alone",
      "request",
      400,
      { error: { message: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens" } },
    ],
    ["a proxy's page", "overload", 502, "<html><head><title>502 Bad Gateway</title></head></html>"],
    ["FastAPI's list", "request", 422, { detail: [{ loc: ["body", "messages"], msg: "field required" }] }],
  ])("%s is %s", (_, kind, status, body) => {
    expect(sorted(status, body).kind).toBe(kind);
  });
});

describe("a failure without an answer", () => {
  const broken = (message: string, cause?: unknown) => new TypeError(message, { cause });
  const system = (code: string) => Object.assign(new Error(`${code} somewhere`), { code });

  it.each<[string, unknown]>([
    ["a name that does not exist", broken("fetch failed", system("ENOTFOUND"))],
    ["a closed port", broken("fetch failed", system("ECONNREFUSED"))],
    ["a reset connection", system("ECONNRESET")],
    ["a socket that dies in the middle", broken("terminated", system("UND_ERR_SOCKET"))],
    ["a connection that takes too long", broken("fetch failed", system("UND_ERR_CONNECT_TIMEOUT"))],
    ["the SDK's own timeout", new Error("Request timed out.")],
    ["what should have been JSON", new SyntaxError("Unexpected token '<'")],
  ])("is the network's: %s", (_, error) => {
    expect(sortFailure(error, asked).kind).toBe("network");
  });

  it("that is our own mistake is not taken for the network's", () => {
    expect(sortFailure(new TypeError("x is not a function"), asked).kind).toBe("request");
    expect(sortFailure("thrown text", asked).kind).toBe("request");
  });

  it("names the host, but never what stands around it in the address", () => {
    const { message } = sortFailure(broken("fetch failed", system("ECONNREFUSED")), asked);
    expect(message).toBe("azure_openai at api.example.com: nothing listens there (ECONNREFUSED)");
  });
});

describe("the wait that a server asks for", () => {
  it.each<[string, Readonly<Record<string, string>>, string, number | undefined]>([
    ["in milliseconds", { "retry-after-ms": "1500", "retry-after": "9" }, "", 1500],
    ["in seconds", { "retry-after": "2" }, "", 2000],
    ["none at all", { "retry-after": "0" }, "", 0],
    [
      "as a date by its own clock",
      { "retry-after": "Tue, 03 Nov 2026 10:00:30 GMT", date: "Tue, 03 Nov 2026 10:00:00 GMT" },
      "",
      30_000,
    ],
    ["in words", {}, "Rate limit reached. Please try again in 1m2.5s.", 62_500],
    ["in small words", {}, "Please try again in 6ms.", 6],
    ["in a detail", {}, '"retryDelay": "37s"', 37_000],
    ["nowhere", {}, "Slow down", undefined],
  ])("is read %s", (_, headers, message, wait) => {
    expect(sorted(429, { error: { message } }, headers).retryAfterMs).toBe(wait);
  });
});

describe("what the owner reads", () => {
  it("says who, what and where to mend it", () => {
    const { message, fix, told } = sorted(404, { error: { message: "The model `x` does not exist" } });
    expect(message).toBe("azure_openai answered 404: The model `x` does not exist");
    expect(fix).toBe("Check agents.defaults.model (gpt-4o) and providers.azureOpenai.apiBase.");
    expect(told).not.toContain("azure");
  });

  it("doubts the address of a server that speaks another language, not of one whose answer broke off", () => {
    expect(sortFailure(new ProtocolFailure("a web page"), asked).fix).toContain("/v1");
    const { kind, fix } = sortFailure(new BrokenOffFailure("it broke off"), asked);
    expect(kind).toBe("network");
    expect(fix).toMatch(/^Check the network/);
  });

  it("holds no secret, whoever repeats it", () => {
    const leaks = [
      http(401, { error: { message: "Incorrect key abcd-secret-key for Basic dXNlcjpwYXNz" } }),
      http(401, { error: { message: "You passed sk-proj-abc***xyz and AIzaSyD-1234567890" } }),
      new TypeError('Headers.append: "Bearer abcd-secret-key" is an invalid header value.'),
    ];
    for (const leak of leaks) {
      const { message, fix, cause } = sortFailure(leak, asked);
      const all = `${message} ${fix} ${String(cause)} ${JSON.stringify(cause)} ${(cause as Error).stack}`;
      expect(all).not.toMatch(/abcd-secret|dXNlcjpwYXNz|sk-proj|AIzaSy/);
    }
  });

  it("is short, however long the server speaks", () => {
    expect(sorted(400, { error: { message: "x".repeat(5000) } }).message.length).toBeLessThan(400);
  });
});
