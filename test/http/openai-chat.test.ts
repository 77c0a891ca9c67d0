/** The OpenAI protocol, spoken by the official client to the whole gateway. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { type Answer, bill, delta, fails, fragment, says, streams } from "../support/fake-openai.js";
import { gate } from "../support/gate.js";
import { type GatewayAppOptions, openGatewayApp } from "../support/gateway-app.js";

const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function openClient(options: GatewayAppOptions = {}) {
  const house = await openGatewayApp(options);
  const client = new OpenAI({ baseURL: `${house.url}/v1`, apiKey: "none", maxRetries: 0 });
  const lastRequest = (): { role: string; content: unknown }[] =>
    (house.model.heard.at(-1)?.body["messages"] ?? []) as { role: string; content: unknown }[];
  return {
    ...house,
    client,
    lastRequest,
    say: (content: string, more: object = {}) =>
      client.chat.completions.create({ model: "nanogate", messages: [{ role: "user", content }], ...more }),
    sessions: (): string[] => readdirSync(join(house.workspace, "sessions")).filter((name) => name.endsWith(".jsonl")),
    rows: (name: string): string[] =>
      readFileSync(join(house.workspace, "sessions", name), "utf8")
        .trim()
        .split("\n")
        .slice(1),
  };
}

/** What the client throws. */
async function errorOf(work: PromiseLike<unknown>): Promise<APIError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("It was answered.");
}

const looks: Answer = streams([
  delta({ role: "assistant", content: "Let me look." }),
  delta(fragment(0, { id: "c1", name: "list_dir", args: '{"path": "."}' })),
  delta({}, "tool_calls"),
  bill(3, 2),
]);

describe("a completion", () => {
  it("is the agent's answer, with what it cost", async () => {
    const { say } = await openClient({ answers: [looks, says("hello", " there")] });
    expect(await say("hi")).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{12}$/),
      object: "chat.completion",
      model: "nanogate",
      choices: [{ index: 0, message: { role: "assistant", content: "hello there" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 14, completion_tokens: 9, total_tokens: 23, prompt_tokens_details: { cached_tokens: 0 } },
    });
  });

  it("can be traced by its id, like any message", async () => {
    const { say, url } = await openClient({ answers: [says("hello")] });
    const { id } = await say("hi");
    const look = async (): Promise<unknown> => (await fetch(`${url}/api/messages/${id}`)).json();
    const entry = { channel: "api", chat: "default", text: "hi", outcome: "answered" };
    await expect.poll(look).toMatchObject({ entry });
  });

  it("belongs to the conversation of its user, or session_id, or to one for all", async () => {
    const { say, sessions } = await openClient({ answers: Array.from({ length: 5 }, () => says("ok")) });
    await say("a", { user: "ann" });
    await say("b", { session_id: "s 1" });
    await say("c");
    await say("d", { user: "bob", session_id: "s2" });
    await say("e", { user: "../../x" });
    expect(sessions().sort()).toEqual(
      ["api_ann", "api_s 1", "api_default", "api_bob", "api_.%2E%2F.%2E%2Fx"].map((name) => `${name}.jsonl`).sort(),
    );
  });

  it("reads the last message of the user only: the rest stands in the conversation already", async () => {
    const { client, rows, lastRequest } = await openClient({ answers: [says("one"), says("two")] });
    const first = { role: "user", content: "first" } as const;
    await client.chat.completions.create({ model: "nanogate", messages: [first] });
    await client.chat.completions.create({
      model: "nanogate",
      messages: [
        { role: "system", content: "You are a pirate." },
        { role: "user", content: "never said here" },
        { role: "assistant", content: "invented" },
        { role: "user", content: "second" },
      ],
    });
    expect(rows("api_default.jsonl").map((row) => (JSON.parse(row) as { content: string }).content)).toEqual([
      "first",
      "one",
      "second",
      "two",
    ]);
    expect(JSON.stringify(lastRequest())).not.toMatch(/pirate|invented|never said/);
  });

  it("sees pictures that are sent along", async () => {
    const { client, home, lastRequest } = await openClient({ answers: [says("a dot")] });
    await client.chat.completions.create({
      model: "nanogate",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is it?" },
            { type: "image_url", image_url: { url: png } },
          ],
        },
      ],
    });
    expect(JSON.stringify(lastRequest().at(-1)?.content)).toContain(png);
    const [name = ""] = readdirSync(join(home, "media", "api"));
    expect(name).toMatch(/^[0-9a-f]{16}-1\.png$/);
    expect(readFileSync(join(home, "media", "api", name)).toString("base64")).toBe(png.split(",")[1]);
  });

  it("of a turn that fails is an error in words for people, and is not asked for again by the client", async () => {
    const secret = "sk-123 is no key";
    const { client, model, sessions } = await openClient({ answers: [fails(401, { message: secret })] });
    const asked = client.chat.completions.create(
      { model: "nanogate", messages: [{ role: "user", content: "hi" }] },
      { maxRetries: 3 },
    );
    const error = await errorOf(asked);
    expect([error.status, error.type, error.code]).toEqual([500, "server_error", "turn_failed"]);
    expect(error.message).not.toContain(secret);
    expect(model.heard).toHaveLength(1);
    expect(sessions()).toEqual([]);
  });

  it("waits for the one before it of the same user, and is refused when too many do", async () => {
    const first = gate();
    const held: Answer = (response, heard) => void first.wait.finally(() => says("ok")(response, heard));
    const { say, model } = await openClient({
      answers: [held, says("second"), says("third")],
      config: { gateway: { maxQueue: 2 } },
    });
    const one = say("1", { user: "ann" });
    await expect.poll(() => model.heard.length).toBe(1);
    const two = say("2", { user: "ann" });
    const other = say("3", { user: "bob" });
    await other;
    expect(model.heard).toHaveLength(2);
    const error = await errorOf(say("4", { user: "ann" }));
    expect([error.status, error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(error.headers?.get("retry-after")).toBe("5");
    first.open();
    expect((await one).choices[0]?.message.content).toBe("ok");
    expect((await two).choices[0]?.message.content).toBe("third");
  });

  it.each([
    ["a model nobody knows", { model: "gpt-99" }, 404, "model_not_found"],
    ["no messages", { messages: undefined }, 400, null],
    ["no message of the user", { messages: [{ role: "system", content: "x" }] }, 400, null],
    ["an empty message", { messages: [{ role: "user", content: " " }] }, 400, null],
    ["a message that is none", { messages: [{ role: "user", content: 5 }] }, 400, null],
    ["a part nobody knows", { messages: [{ role: "user", content: [{ type: "input_audio" }] }] }, 400, null],
    ["more than one answer", { n: 2 }, 400, "unsupported_value"],
    ["a picture somewhere else", { messages: [picture("https://example.org/a.png")] }, 400, "invalid_image"],
    ["a picture that is none", { messages: [picture("data:image/png;base64,aGVsbG8=")] }, 400, "invalid_image"],
    ["too many pictures", { messages: [picture(...Array.from({ length: 11 }, () => png))] }, 400, "invalid_image"],
  ])("is refused for %s", async (_, fields, status, code) => {
    const { client, model } = await openClient();
    const body = { model: "nanogate", messages: [{ role: "user", content: "hi" }], ...fields };
    const error = await errorOf(client.chat.completions.create(body as never));
    expect([error.status, error.code, error.type]).toEqual([status, code, "invalid_request_error"]);
    expect(model.heard).toEqual([]);
  });

  it("is refused in OpenAI's words for what there is not here", async () => {
    const { client } = await openClient();
    const error = await errorOf(client.embeddings.create({ model: "nanogate", input: "hi" }));
    expect([error.status, error.code, error.type]).toEqual([404, "unknown_url", "invalid_request_error"]);
  });

  it("is refused for a body that is no JSON", async () => {
    const { url } = await openClient();
    const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: "{" });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { message: "The body is not JSON.", type: "invalid_request_error", param: null, code: null } },
    ]);
  });
});

describe("a streamed completion", () => {
  const chunks = async (stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<OpenAI.ChatCompletionChunk[]> => {
    const all = [];
    for await (const chunk of stream) all.push(chunk);
    return all;
  };
  const messages = [{ role: "user", content: "hi" } as const];
  const ask: OpenAI.ChatCompletionCreateParamsStreaming = { model: "nanogate", messages, stream: true };

  it("comes piece by piece, as the model writes it", async () => {
    const rest = gate();
    const slow: Answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(delta({ content: "hello" }))}\n\n`);
      const finish = (): void =>
        void response.end(`data: ${JSON.stringify(delta({ content: " there" }, "stop"))}\n\ndata: [DONE]\n\n`);
      void rest.wait.finally(finish);
    };
    const { client } = await openClient({ answers: [slow] });
    let text = "";
    for await (const { choices } of await client.chat.completions.create(ask)) {
      text += choices[0]?.delta.content ?? "";
      if (text === "hello") rest.open();
    }
    expect(text).toBe("hello there");
  });

  it("begins with the role, ends with the reason, and tells what it cost if asked to", async () => {
    const { client } = await openClient({ answers: [says("hello"), says("again")] });
    const plain = await chunks(await client.chat.completions.create(ask));
    expect(plain.map(({ choices: [choice] }) => [choice?.delta, choice?.finish_reason])).toEqual([
      [{ role: "assistant", content: "" }, null],
      [{ content: "hello" }, null],
      [{}, "stop"],
    ]);
    expect(plain.every((chunk) => !("usage" in chunk))).toBe(true);
    const told = await chunks(
      await client.chat.completions.create({ ...ask, stream_options: { include_usage: true } }),
    );
    expect(told.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    });
    expect(told.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it("sets what is said before tools apart from the answer", async () => {
    const { client } = await openClient({ answers: [looks, says("found")] });
    const all = await chunks(await client.chat.completions.create(ask));
    expect(all.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Let me look.\n\nfound");
  });

  it("tells a command's answer, too", async () => {
    const { client } = await openClient();
    const help = [{ role: "user", content: "/help" } as const];
    const all = await chunks(await client.chat.completions.create({ ...ask, messages: help }));
    expect(all.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toContain("/new");
  });

  it("that fails throws in the client", async () => {
    const { client } = await openClient({ answers: [fails(400, { message: "no" })] });
    const stream = await client.chat.completions.create(ask);
    const error = await errorOf(chunks(stream));
    expect([error.type, error.code]).toEqual(["server_error", "turn_failed"]);
  });
});

describe("GET /v1/models", () => {
  it("names who answers, and the name that always works", async () => {
    const { client, say } = await openClient({ answers: [says("ok"), says("ok")] });
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(names).toEqual([expect.stringContaining("test-model"), "nanogate"]);
    for (const model of names) expect((await say("hi", { model })).model).toBe(model);
  });

  it("tells of each by its name, and of no other", async () => {
    const { client } = await openClient({ answers: [] });
    for await (const model of client.models.list()) expect(await client.models.retrieve(model.id)).toEqual(model);
    const error = await errorOf(client.models.retrieve("gpt-17"));
    expect([error.status, error.code]).toEqual([404, "model_not_found"]);
  });
});

function picture(...urls: string[]): object {
  return { role: "user", content: urls.map((url) => ({ type: "image_url", image_url: { url } })) };
}
