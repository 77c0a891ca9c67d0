import { LLMock } from "@copilotkit/aimock";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ModelMessage } from "../../src/message.js";
import { createOpenAi, type OpenAiOptions } from "../../src/providers/openai.js";
import type { ModelError, ToolSpec } from "../../src/providers/provider.js";
import { PythonFloat } from "../../src/session/python-json.js";
import {
  type Answer,
  answers,
  bill,
  delta,
  fails,
  fragment,
  hangsUp,
  openFakeOpenAi,
  says,
  silent,
  streams,
} from "../support/fake-openai.js";
import { ask, gate, read } from "../support/reading.js";

const secret = "sk-very-secret-0123456789";

const lookUp: ToolSpec = {
  name: "look_up",
  description: "Looks it up.",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};

async function openHouse(script: readonly Answer[], options: Partial<OpenAiOptions> = {}) {
  const server = await openFakeOpenAi(...script);
  const model = createOpenAi({
    provider: "openai",
    model: "gpt-4o",
    baseUrl: server.url,
    apiKey: secret,
    contextTokens: 1000,
    fetch,
    ...options,
  });
  return { server, model, sent: (at = 0) => server.heard[at]?.body ?? {} };
}

describe("an answer", () => {
  it("arrives piece by piece and ends with the whole reply", async () => {
    const { model } = await openHouse([says("Hel", "lo")]);
    const seen = await read(model, ask("hi"));
    expect(seen.error).toBeUndefined();
    expect(seen.texts).toEqual(["Hel", "lo"]);
    expect(seen.reply).toEqual({
      text: "Hello",
      toolCalls: [],
      end: "stop",
      usage: { input: 11, output: 7, cached: 0 },
    });
    expect(seen.events.at(-1)?.kind).toBe("reply");
  });

  it("may come whole, from a server that does not stream", async () => {
    const whole = {
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "whole",
            reasoning_content: "hm",
            tool_calls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    };
    const { model } = await openHouse([answers(200, "application/json; charset=utf-8", JSON.stringify(whole))]);
    const { reply, texts } = await read(model, ask("hi"));
    expect(texts).toEqual(["whole"]);
    expect(reply).toEqual({
      text: "whole",
      reasoning: "hm",
      toolCalls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }],
      end: "tools",
      usage: { input: 3, output: 2, cached: 0 },
    });
  });

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["eos", "stop"],
  ])("with the finish reason %s ends as %s", async (finish, end) => {
    const { model } = await openHouse([streams([delta({ content: "x" }), delta({}, finish)])]);
    expect((await read(model, ask("hi"))).reply?.end).toBe(end);
  });

  it("without words is an answer all the same", async () => {
    const { model } = await openHouse([streams([delta({ content: "" }, "stop")])]);
    expect((await read(model, ask("hi"))).reply).toMatchObject({ text: null, end: "stop" });
  });

  it("keeps its thoughts apart, by either name", async () => {
    const { model } = await openHouse([
      streams([
        delta({ reasoning_content: "first " }),
        delta({ reasoning: "second" }),
        delta({ content: "so" }),
        delta({}, "stop"),
      ]),
    ]);
    expect((await read(model, ask("hi"))).reply).toMatchObject({ text: "so", reasoning: "first second" });
  });

  it("counts the tokens that were cached, OpenAI's way and DeepSeek's", async () => {
    const chunks = [delta({ content: "x" }, "stop")];
    const { model } = await openHouse([
      streams([...chunks, bill(100, 5, { prompt_tokens_details: { cached_tokens: 64 } })]),
      streams([...chunks, bill(100, 5, { prompt_cache_hit_tokens: 32 })]),
    ]);
    expect((await read(model, ask("hi"))).reply?.usage).toEqual({ input: 100, output: 5, cached: 64 });
    expect((await read(model, ask("hi"))).reply?.usage).toEqual({ input: 100, output: 5, cached: 32 });
  });

  it("is complete without [DONE], and even if the line dies or falls silent behind the last word", async () => {
    const chunks = [delta({ content: "done" }), delta({}, "stop")];
    const { model } = await openHouse([streams(chunks, "close"), streams(chunks, "cut"), streams(chunks, "stall")], {
      countMs: 30,
    });
    for (let turn = 0; turn < 3; turn++) expect((await read(model, ask("hi"))).reply?.text).toBe("done");
  });

  it("is read from aimock as well, a stream with tool calls included", async () => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage("weather", { toolCalls: [{ name: "look_up", arguments: { word: "weather" } }] });
    mock.onMessage("hello", { content: "Hi there, this is a somewhat longer text." });
    await mock.start();
    onTestFinished(() => mock.stop());
    const { model } = await openHouse([], { baseUrl: `${mock.url}/v1` });
    expect((await read(model, ask("hello"))).reply).toMatchObject({
      text: "Hi there, this is a somewhat longer text.",
      end: "stop",
    });
    const { reply } = await read(model, ask("weather", { tools: [lookUp] }));
    expect(reply?.end).toBe("tools");
    expect(reply?.toolCalls[0]?.function).toEqual({ name: "look_up", arguments: '{"word":"weather"}' });
  });
});

describe("a tool call", () => {
  const callsOf = async (...chunks: Parameters<typeof streams>[0][number][]) => {
    const { model } = await openHouse([streams([...chunks, delta({}, "tool_calls")])]);
    const { reply } = await read(model, ask("hi", { tools: [lookUp] }));
    expect(reply?.end).toBe("tools");
    return reply?.toolCalls.map(({ id, function: made }) => [id, made.name, made.arguments]);
  };

  it("is put together from its fragments by index, its arguments untouched", async () => {
    const calls = await callsOf(
      delta(fragment(0, { id: "a", name: "look_", args: "" })),
      delta(fragment(0, { name: "up" })),
      delta(fragment(1, { id: "b", name: "look_up", args: "" })),
      delta(fragment(0, { args: '{"word": ' })),
      delta(fragment(1, { args: "not json" })),
      delta(fragment(0, { args: '"x" }' })),
    );
    expect(calls).toEqual([
      ["a", "look_up", '{"word": "x" }'],
      ["b", "look_up", "not json"],
    ]);
  });

  it("is told from the next one by its id where all have the same index, or none", async () => {
    expect(
      await callsOf(
        delta(fragment(0, { id: "a", name: "x", args: "{}" })),
        delta(fragment(0, { id: "b", name: "y", args: "{}" })),
      ),
    ).toEqual([
      ["a", "x", "{}"],
      ["b", "y", "{}"],
    ]);
    expect(
      await callsOf(
        delta(fragment(undefined, { id: "a", name: "x", args: "{" })),
        delta(fragment(undefined, { args: "}" })),
        delta(fragment(undefined, { id: "b", name: "y", args: "{}" })),
      ),
    ).toEqual([
      ["a", "x", "{}"],
      ["b", "y", "{}"],
    ]);
  });

  it("gets an id if it has none or a taken one", async () => {
    const calls = await callsOf(
      delta(fragment(0, { name: "x", args: "{}" })),
      delta(fragment(1, { id: "", name: "y", args: "{}" })),
      delta(fragment(2, { id: "same", name: "z", args: "{}" })),
      delta(fragment(3, { id: "same", name: "z", args: "{}" })),
    );
    const ids = calls?.map(([id]) => id) ?? [];
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => id !== undefined && id.length >= 4)).toBe(true);
  });

  it("given as an object becomes text, and a name that is repeated stays itself", async () => {
    const calls = await callsOf(
      delta(fragment(0, { id: "a", name: "look_up", args: { word: "x" } })),
      delta(fragment(0, { id: "a", name: "look_up" })),
    );
    expect(calls).toEqual([["a", "look_up", '{"word":"x"}']]);
  });

  it("counts even if the server says stop", async () => {
    const { model } = await openHouse([
      streams([delta(fragment(0, { id: "a", name: "x", args: "{}" })), delta({}, "stop")]),
    ]);
    expect((await read(model, ask("hi"))).reply?.end).toBe("tools");
  });
});

describe("a stream that goes wrong", () => {
  const half = [delta({ content: "half an " })];

  it.each<[string, Answer, string, Partial<OpenAiOptions>?]>([
    ["falls silent after the first chunk", streams(half, "stall"), "network", { idleMs: 30 }],
    ["says nothing at all", silent, "network", { firstMs: 30 }],
    ["dies with its socket", streams(half, "cut"), "network"],
    ["is hung up on", hangsUp, "network"],
    ["ends without a finish reason", streams(half, "done"), "network"],
    ["ends without [DONE] and finish reason", streams(half, "close"), "network"],
    ["has no choices", streams([bill(1, 1)]), "network"],
    ["is empty", streams([]), "network"],
    [
      "carries an error",
      streams([...half, { error: { message: "The server had an error", type: "server_error" } }]),
      "overload",
    ],
    [
      "carries a numbered error",
      streams([...half, { error: { message: "Upstream rate limit", code: 429 } }]),
      "overload",
    ],
    [
      "carries an error about length",
      streams([{ error: { message: "x", code: "context_length_exceeded" } }]),
      "too-long",
    ],
    ["was filtered", streams([...half, delta({}, "content_filter")]), "content"],
    ["ends with an error", streams([...half, delta({}, "error")]), "overload"],
    ["is a web page", answers(200, "text/html", "<!doctype html><title>Sign in</title>"), "network"],
    ["is a web page that claims to be a stream", answers(200, "text/event-stream", "data: <html>\n\n"), "network"],
    ["is a web page that claims to be JSON", answers(200, "application/json", "<html></html>"), "network"],
    [
      "is JSON with an error",
      answers(200, "application/json", '{"error":{"message":"No credits","code":402}}'),
      "limit",
    ],
    ["is JSON without choices", answers(200, "application/json", '{"choices":[]}'), "network"],
  ])("and %s", async (_, answer, kind, patience) => {
    const { model } = await openHouse([answer], patience);
    const seen = await read(model, ask("hi"));
    expect(seen.failure).toBe(kind);
    expect(seen.reply).toBeUndefined();
    expect((seen.error as ModelError).message).toContain("openai");
  });

  it("may take its time before the first word, but not between words", async () => {
    const { model } = await openHouse([streams([delta({ role: "assistant", content: "" })], "stall")], {
      idleMs: 20,
      firstMs: 120,
    });
    expect((await read(model, ask("hi"))).error).toMatchObject({
      message: expect.stringContaining("0.12 s") as string,
    });
  });
});

describe("a reader who takes his time", () => {
  it("is not taken for a silent server", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const chunks = [delta({ content: "one " }), delta({ content: "two" }), delta({}, "stop")];
    const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    const model = createOpenAi({
      provider: "x",
      model: "m",
      baseUrl: "http://127.0.0.1:1/v1",
      contextTokens: 1,
      fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    });
    let text = "";
    for await (const event of model.stream(ask("hi"), new AbortController().signal)) {
      vi.advanceTimersByTime(3_600_000);
      if (event.kind === "reply") text = event.reply.text ?? "";
    }
    expect(text).toBe("one two");
  });
});

describe("a caller who leaves", () => {
  it("before the start is told his own reason, and nothing is sent", async () => {
    const { model, server } = await openHouse([says("x")]);
    expect((await read(model, ask("hi"), AbortSignal.abort("too late"))).failure).toBe("too late");
    expect(server.heard).toEqual([]);
  });

  it.each([
    ["while waiting for the answer", silent],
    ["in the middle of the stream", streams([delta({ content: "half" })], "stall")],
  ])("%s is told his own reason at once", async (_, answer) => {
    const reached = gate();
    const { model } = await openHouse([
      (response, heard) => {
        answer(response, heard);
        setImmediate(reached.open);
      },
    ]);
    const leaving = new AbortController();
    const reading = read(model, ask("hi"), leaving.signal);
    await reached.passed;
    leaving.abort("stopped by hand");
    expect((await reading).failure).toBe("stopped by hand");
  });

  it("even if fetch does not listen", async () => {
    const leaving = new AbortController();
    const deaf = createOpenAi({
      provider: "x",
      model: "m",
      baseUrl: "http://127.0.0.1:1/v1",
      contextTokens: 1,
      fetch: () => new Promise<Response>(() => setImmediate(() => leaving.abort("gone"))),
    });
    expect((await read(deaf, ask("hi"), leaving.signal)).failure).toBe("gone");
  });

  it("by not reading on closes the connection", async () => {
    const closed = gate();
    const { model } = await openHouse([
      (response, heard) => {
        response.on("close", closed.open);
        streams([delta({ content: "one" })], "stall")(response, heard);
      },
    ]);
    for await (const _ of model.stream(ask("hi"), new AbortController().signal)) break;
    await closed.passed;
  });
});

describe("a request", () => {
  it("carries what is configured, and the key", async () => {
    const { model, server, sent } = await openHouse([says("x")], {
      maxTokens: 512,
      temperature: 0.1,
      reasoningEffort: "low",
      headers: { "x-team": "blue" },
      query: { v: "2" },
    });
    await read(model, ask("hi", { tools: [lookUp] }));
    expect(sent()).toEqual({
      model: "gpt-4o",
      messages: [{ role: "user", content: "hi" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 512,
      temperature: 0.1,
      reasoning_effort: "low",
      tools: [{ type: "function", function: { ...lookUp } }],
      tool_choice: "auto",
    });
    expect(server.heard[0]?.path).toBe("/v1/chat/completions?v=2");
    expect(server.heard[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}`, "x-team": "blue" });
  });

  it("carries no key where there is none, or in a header of its own", async () => {
    const keyless = await openHouse([says("x")], { apiKey: undefined });
    await read(keyless.model, ask("hi"));
    expect(keyless.server.heard[0]?.headers).not.toHaveProperty("authorization");
    const azure = await openHouse([says("x")], { keyHeader: "api-key" });
    await read(azure.model, ask("hi"));
    expect(azure.server.heard[0]?.headers).toMatchObject({ "api-key": secret });
    expect(azure.server.heard[0]?.headers).not.toHaveProperty("authorization");
  });

  it.each(["gpt-5", "gpt-5-mini", "o3", "o4-mini", "openai/gpt-5.1", "openai/o1"])(
    "to %s has no temperature",
    async (name) => {
      const { model, sent } = await openHouse([says("x")], { model: name, maxTokens: 9, temperature: 0.1 });
      await read(model, ask("hi"));
      expect(sent()).toMatchObject({ max_completion_tokens: 9 });
      expect(sent()).not.toHaveProperty("temperature");
      expect(sent()).not.toHaveProperty("max_tokens");
    },
  );

  it.each(["gpt-4o", "olmo-2", "o-model", "llama3", "foo1"])("to %s has one", async (name) => {
    const { model, sent } = await openHouse([says("x")], { model: name, maxTokens: 9, temperature: 0.1 });
    await read(model, ask("hi"));
    expect(sent()).toMatchObject({ max_tokens: 9, temperature: 0.1 });
  });

  it("leaves with the fields of the protocol only, and never with an empty message", async () => {
    const call = { id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } } as const;
    const messages = [
      { role: "system", content: "be nice", timestamp: "2026" },
      { role: "user", content: "", tools_used: ["x"] },
      { role: "assistant", content: "", tool_calls: [{ ...call, extra: 1 }], reasoning_content: "secret thoughts" },
      { role: "tool", tool_call_id: "c1", name: "look_up", content: "", _compacted: true },
      { role: "assistant", content: null, tool_calls: [] },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "image_url", image_url: { url: "data:x" }, _meta: { path: "/home/me" } },
        ],
      },
    ] as unknown as ModelMessage[];
    const { model, sent } = await openHouse([says("x")]);
    expect((await read(model, ask("", { messages, tools: [lookUp] }))).error).toBeUndefined();
    expect(sent()["messages"]).toEqual([
      { role: "system", content: "be nice" },
      { role: "user", content: "(empty)" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "(empty)", tool_call_id: "c1", name: "look_up" },
      { role: "assistant", content: "(empty)" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:x" } }] },
    ]);
  });

  it("survives whatever a stored row may hold", async () => {
    const content = [{ type: "data", big: 12345678901234567890n, float: new PythonFloat(1) }, 7n, "half \ud800"];
    const messages = [
      { role: "user", content },
      { role: "assistant", content: 99999999999999999999n },
      { role: "user", content: { a: [1n] } },
    ] as unknown as ModelMessage[];
    const { model, sent } = await openHouse([says("x")]);
    expect((await read(model, ask("", { messages }))).error).toBeUndefined();
    expect(sent()["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: '{"type":"data","big":"12345678901234567890","float":1}' },
          { type: "text", text: '"7"' },
          { type: "text", text: "half \ufffd" },
        ],
      },
      { role: "assistant", content: '"99999999999999999999"' },
      { role: "user", content: '{"a":["1"]}' },
    ]);
  });

  it("gives a call and its result the same short id, nine letters for Mistral", async () => {
    const id = "call_abc|".repeat(8);
    const messages: ModelMessage[] = [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "look_up", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: id, name: "look_up", content: "x" },
    ];
    for (const [name, length] of [
      ["gpt-4o", 40],
      ["mistral-large-latest", 9],
    ] as const) {
      const { model, sent } = await openHouse([says("x")], { model: name });
      expect((await read(model, ask("", { messages, tools: [lookUp] }))).error).toBeUndefined();
      const [call, result] = sent()["messages"] as [{ tool_calls: { id: string }[] }, { tool_call_id: string }];
      expect(call.tool_calls[0]?.id).toHaveLength(length);
      expect(result.tool_call_id).toBe(call.tool_calls[0]?.id);
    }
  });

  it("marks for Claude what to keep in its cache", async () => {
    const messages: ModelMessage[] = [
      { role: "system", content: "rules" },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three" },
    ];
    const { model, sent } = await openHouse([says("x")], { cacheMarks: true });
    await read(model, ask("", { messages }));
    const mark = { cache_control: { type: "ephemeral" } };
    expect(sent()["messages"]).toEqual([
      { role: "system", content: [{ type: "text", text: "rules", ...mark }] },
      { role: "user", content: "one" },
      { role: "assistant", content: [{ type: "text", text: "two", ...mark }] },
      { role: "user", content: "three" },
    ]);
  });
});

describe("a server that objects", () => {
  it("to a forced tool is asked again with a free choice, and never forced again", async () => {
    for (const words of [
      "Invalid tool_choice",
      "deepseek-reasoner does not support this",
      'toolchoice: should be ["none", "auto"]',
    ]) {
      const { model, server, sent } = await openHouse([fails(400, { message: words }), says("x"), says("y")]);
      const request = ask("hi", { tools: [lookUp], mustCall: "look_up" });
      expect((await read(model, request)).reply?.text).toBe("x");
      expect((await read(model, request)).reply?.text).toBe("y");
      expect(sent(0)["tool_choice"]).toEqual({ type: "function", function: { name: "look_up" } });
      expect(server.heard.map(({ body }) => body["tool_choice"]).slice(1)).toEqual(["auto", "auto"]);
    }
  });

  it("to something else, in the same words, is not asked again", async () => {
    const { model, server } = await openHouse([fails(400, { message: "This model does not support tool_choice" })]);
    expect((await read(model, ask("hi", { tools: [lookUp] }))).failure).toBe("request");
    expect(server.heard).toHaveLength(1);
  });

  it("to a parameter is asked again without it", async () => {
    const { model, server } = await openHouse(
      [
        fails(400, { message: "Unknown parameter: stream_options" }),
        fails(400, { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." }),
        fails(400, { message: "Unsupported value: 'temperature' does not support 0.1 with this model." }),
        says("at last"),
      ],
      { maxTokens: 5, temperature: 0.1 },
    );
    expect((await read(model, ask("hi"))).reply?.text).toBe("at last");
    expect(server.heard.at(-1)?.body).toEqual({
      model: "gpt-4o",
      messages: [{ role: "user", content: "hi" }],
      stream: true,
      max_completion_tokens: 5,
    });
  });

  it("to the length of the answer is asked again without a limit", async () => {
    for (const message of [
      "max_tokens is too large: 8192. This model supports at most 4096 completion tokens",
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens",
      "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ]) {
      const { model, sent } = await openHouse([fails(400, { message }), says("x")], { maxTokens: 8192 });
      expect((await read(model, ask("hi"))).reply?.text).toBe("x");
      expect(sent(1)).not.toHaveProperty("max_tokens");
    }
  });

  it("to pictures is asked again without them", async () => {
    const image = { type: "image_url", image_url: { url: "data:x" } } as const;
    const messages: ModelMessage[] = [{ role: "user", content: [image, { type: "text", text: "what is it" }] }];
    const { model, sent } = await openHouse([
      fails(404, { message: "No endpoints found that support image input: unsupported" }),
      says("x"),
    ]);
    expect((await read(model, ask("", { messages }))).error).toBeUndefined();
    expect(sent(1)["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "[image]" },
          { type: "text", text: "what is it" },
        ],
      },
    ]);
  });
});

describe("a refusal", () => {
  it("is sorted, explained, and does not repeat the key", async () => {
    const { model } = await openHouse([fails(401, { message: `Incorrect API key provided: ${secret}.` })]);
    const { error, failure } = await read(model, ask("hi"));
    expect(failure).toBe("auth");
    const { message, fix, cause } = error as ModelError;
    expect(message).toBe("openai answered 401: Incorrect API key provided: [key].");
    expect(fix).toContain("providers.openai.apiKey");
    expect(`${String(cause)} ${JSON.stringify(cause)}`).not.toContain(secret);
  });

  it("to listen at all is told with the host", async () => {
    const { model } = await openHouse([], { baseUrl: "http://127.0.0.1:9/v1" });
    const { error, failure } = await read(model, ask("hi"));
    expect(failure).toBe("network");
    expect((error as ModelError).message).toMatch(/^openai at 127\.0\.0\.1:9: /);
  });

  it("of a key that cannot be sent does not repeat it either", async () => {
    const { model } = await openHouse([], { apiKey: "sk-“curly”-quotes" });
    const { error, failure } = await read(model, ask("hi"));
    expect(failure).toBe("auth");
    expect(`${(error as ModelError).message} ${String((error as ModelError).cause)}`).not.toContain("curly");
  });
});
