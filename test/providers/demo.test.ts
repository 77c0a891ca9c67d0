import { describe, expect, it } from "vitest";
import { heartbeatJob } from "../../src/cron/heartbeat.js";
import { taskOf } from "../../src/cron/task.js";
import type { ModelMessage } from "../../src/message.js";
import { createDemo } from "../../src/providers/demo.js";
import type { Model, ModelRequest, ToolSpec } from "../../src/providers/provider.js";
import { ask, read } from "../support/reading.js";
import { handClock } from "../support/workspace.js";

const tool = (name: string, ...fields: string[]): ToolSpec => ({
  name,
  description: "",
  parameters: {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
    required: fields,
  },
});
const tools = [
  tool("read_file", "path"),
  tool("write_file", "path", "content"),
  tool("list_dir", "path"),
  tool("exec", "command"),
  tool("cron", "action"),
];

const demo = () => createDemo(handClock("2026-11-03T10:00:30.500000"));

async function step(model: Model, request: ModelRequest) {
  const { reply, error } = await read(model, request);
  if (error) throw error as Error;
  const call = reply?.toolCalls[0];
  return {
    reply,
    text: reply?.text ?? "",
    call: call && ([call.function.name, JSON.parse(call.function.arguments) as unknown] as const),
  };
}

/** A whole turn, with a result for each tool. */
async function turn(text: string, results: Readonly<Record<string, string>>, offered = tools) {
  const model = demo();
  const messages: ModelMessage[] = [{ role: "user", content: text }];
  const calls: unknown[] = [];
  for (let round = 0; round < 5; round++) {
    const { reply, call } = await step(model, { messages, tools: offered });
    if (!reply || !call) return { calls, text: reply?.text ?? "" };
    calls.push(call);
    messages.push({ role: "assistant", content: reply.text, tool_calls: reply.toolCalls });
    for (const { id, function: made } of reply.toolCalls) {
      messages.push({
        role: "tool",
        tool_call_id: id,
        name: made.name,
        content: results[made.name] ?? "Error: no result",
      });
    }
  }
  throw new Error("the demo never comes to an end");
}

describe("the demo model", () => {
  it("says that it is one and how to set another, in a few pieces, the same every time", async () => {
    const seen = await read(demo(), ask("What is the meaning of life?"));
    expect(seen.reply?.text).toMatch(/“What is the meaning of life\?”.*demo model.*ANTHROPIC_API_KEY.*config\.json/s);
    expect(seen.texts.join("")).toBe(seen.reply?.text);
    expect(seen.texts.length).toBeGreaterThan(1);
    expect(seen.texts.length).toBeLessThan(8);
    expect(seen.reply?.usage.input).toBeGreaterThan(0);
    expect(await read(demo(), ask("What is the meaning of life?"))).toEqual(seen);
  });

  it.each([
    ["what is 17*23", "17*23 = 391"],
    ["What's (2+3)*4?", "(2+3)*4 = 20"],
    ["0.1 + 0.2", "0.1 + 0.2 = 0.3"],
    ["calculate 1/0", "1/0 has no finite value."],
  ])("works out %s by itself", async (question, answer) => {
    expect((await step(demo(), ask(question, { tools }))).text).toBe(answer);
  });

  it.each<[string, unknown]>([
    ["list files", ["list_dir", { path: "." }]],
    ["List the files in skills", ["list_dir", { path: "skills" }]],
    ["read notes.txt", ["read_file", { path: "notes.txt" }]],
    ["Please read the file memory/MEMORY.md.", ["read_file", { path: "memory/MEMORY.md" }]],
    ["run echo hi && ls", ["exec", { command: "echo hi && ls" }]],
    ["run `date`", ["exec", { command: "date" }]],
    [
      "remind me in 1 minute to drink water",
      ["cron", { action: "add", message: "drink water", at: "2026-11-03T10:01:30" }],
    ],
    ["Remind me to call Ann in 2 hours.", ["cron", { action: "add", message: "call Ann", at: "2026-11-03T12:00:30" }]],
    ["remind me every 30 minutes to stretch", ["cron", { action: "add", message: "stretch", every_seconds: 1800 }]],
    [
      "remind me in an hour",
      ["cron", { action: "add", message: "You asked to be reminded.", at: "2026-11-03T11:00:30" }],
    ],
  ])("asked to %j calls a tool", async (question, call) => {
    expect((await step(demo(), ask(question, { tools }))).call).toEqual(call);
  });

  it("never calls a tool that is not there", async () => {
    for (const question of ["list files", "read a.txt", "run ls", "remember x", "remind me in 1 minute to x"]) {
      const { reply, text } = await step(demo(), ask(question));
      expect(reply).toMatchObject({ toolCalls: [], end: "stop" });
      expect(text).toContain("not available");
    }
  });

  it("answers in words once it has the result", async () => {
    expect(await turn("list files", { list_dir: "📄 a.txt" })).toEqual({
      calls: [["list_dir", { path: "." }]],
      text: "These are the files in .:\n📄 a.txt",
    });
    expect((await turn("run date", { exec: "Tuesday" })).text).toBe("I ran `date`:\nTuesday");
    expect((await turn("read a.txt", { read_file: "Error: File not found: a.txt" })).text).toMatch(
      /^That did not work\..*not found/s,
    );
    expect((await turn("remind me in 1 minute to x", { cron: "Created job 'x' (id: 1)" })).text).toContain(
      "Created job",
    );
    expect((await turn("read a.txt", { read_file: "x".repeat(9000) })).text.length).toBeLessThan(1700);
  });

  it("hears only the last thing the user said, without what nanobot puts around it", async () => {
    const context =
      "[Runtime Context — metadata only, not instructions]\nCurrent Time: 2026-11-03 10:00 (Tuesday) (UTC)";
    for (const text of [
      `${context}\n\nwhat is 6*7`,
      `${context}\n[/Runtime Context]\n\nwhat is 6*7`,
      `what is 6*7\n\n${context}`,
    ]) {
      const messages: ModelMessage[] = [
        { role: "user", content: "list files" },
        { role: "assistant", content: "no" },
        { role: "user", content: text },
      ];
      expect((await step(demo(), { messages, tools })).text).toBe("6*7 = 42");
    }
    const parts = [
      { type: "image_url" as const, image_url: { url: "data:x" } },
      { type: "text" as const, text: "what is 6*7" },
    ];
    expect((await step(demo(), { messages: [{ role: "user", content: parts }], tools })).text).toBe("6*7 = 42");
  });

  it("reminds when the time has come, and does what it was to do then", async () => {
    const due = (message: string): string => {
      const occurrence = {
        job: "j",
        name: "n",
        dueAt: 0,
        how: "scheduled",
        late: true,
        attempt: 1,
        notBefore: 0,
      } as const;
      const to = { channel: "cli", chat: "direct" };
      const job = { ...heartbeatJob({ everyMs: 1000, limitMs: 1000 }), name: "n", message, to };
      return taskOf(occurrence, job, 0, "UTC").text;
    };
    expect((await step(demo(), ask(due("drink tea\n(green)"), { tools }))).text).toBe("Reminder: drink tea\n(green)");
    expect((await step(demo(), ask(due("run date"), { tools }))).call).toEqual(["exec", { command: "date" }]);
    expect((await turn(due("run date"), { exec: "Tuesday" })).text).toBe("I ran `date`:\nTuesday");
  });

  it("knows what was said before", async () => {
    const messages: ModelMessage[] = [
      {
        role: "system",
        content: "# nanobot\n\n---\n\n# Memory\n\n## Long-term Memory\n- likes tea\n\n---\n\n# Skills",
      },
      { role: "user", content: "the sky is green" },
      { role: "assistant", content: "hm" },
    ];
    const say = (content: string) => step(demo(), { messages: [...messages, { role: "user", content }], tools });
    expect((await say("what did I just say?")).text).toBe("Before this you said: “the sky is green”");
    expect((await say("what do you remember about me?")).text).toBe("This is in my memory:\n- likes tea");
  });

  it("gives every call an id of its own", async () => {
    const clock = handClock("2026-11-03T10:00:00");
    const model = createDemo(clock);
    const first = await step(model, ask("list files", { tools }));
    clock.now = "2026-11-03T10:00:01";
    const second = await step(model, ask("list files", { tools }));
    expect(first.reply?.toolCalls[0]?.id).not.toBe(second.reply?.toolCalls[0]?.id);
  });

  it("stops when it is told to", async () => {
    expect((await read(demo(), ask("hi"), AbortSignal.abort("enough"))).failure).toBe("enough");
    const leaving = new AbortController();
    const stream = demo().stream(ask("hi"), leaving.signal)[Symbol.asyncIterator]();
    await stream.next();
    leaving.abort("enough");
    await expect(stream.next()).rejects.toBe("enough");
  });
});

describe("the demo model's memory", () => {
  it("is written down with what was there before", async () => {
    const { calls, text } = await turn("remember that I like tea", {
      read_file: "# Memory\n\n- old fact\n",
      write_file: "Successfully wrote",
    });
    expect(calls).toEqual([
      ["read_file", { path: "memory/MEMORY.md" }],
      ["write_file", { path: "memory/MEMORY.md", content: "# Memory\n\n- old fact\n- I like tea\n" }],
    ]);
    expect(text).toContain("written it down");
  });

  it("begins with a new file, and keeps a fact once", async () => {
    const missing = await turn("remember: tea", {
      read_file: "Error: File not found: memory/MEMORY.md",
      write_file: "ok",
    });
    expect(missing.calls.at(-1)).toEqual(["write_file", { path: "memory/MEMORY.md", content: "# Memory\n\n- tea\n" }]);
    expect((await turn("remember tea", { read_file: "- tea" })).text).toBe("I know that already.");
  });

  it("is not written back from a view with line numbers as if these were text", async () => {
    const { calls } = await turn("remember tea", { read_file: "1| # Memory\n2| - old", write_file: "ok" });
    expect(calls.at(-1)).toEqual(["write_file", { path: "memory/MEMORY.md", content: "# Memory\n- old\n- tea\n" }]);
  });

  it("is left alone if only part of it was shown, or it could not be read", async () => {
    for (const shown of [
      "- old\n\n... (truncated — file is 200000 chars, limit 128,000)",
      "Error: Permission denied",
    ]) {
      const { calls, text } = await turn("remember tea", { read_file: shown });
      expect(calls).toHaveLength(1);
      expect(text).toContain("cannot safely");
    }
  });

  it("uses a tool made for it where there is one", async () => {
    const { calls, text } = await turn("remember tea", { remember: "ok" }, [...tools, tool("remember", "fact")]);
    expect(calls).toEqual([["remember", { fact: "tea" }]]);
    expect(text).toBe("I will remember that.");
  });

  const save = tool("save_memory", "history_entry", "memory_update");
  const prompt = (memory: string, ...lines: string[]) =>
    `Process this conversation and call save_memory.\n\n## Current Long-term Memory\n${memory}\n\n## Conversation to Process\n${lines.join("\n")}`;

  it("is consolidated as nanobot asks for it", async () => {
    const messages: ModelMessage[] = [
      { role: "system", content: "You are a memory consolidation agent." },
      {
        role: "user",
        content: prompt(
          "# Facts\n- has a dog",
          "[2026-11-01T09:00] USER: remember that I like tea",
          "\n[Runtime Context]\nCurrent Time: 2026-11-01 09:00",
          "[2026-11-01T09:01] ASSISTANT [tools: write_file]: noted",
          "[2026-11-02T18:30] USER: and what is 2+2?",
        ),
      },
    ];
    for (const request of [
      { messages, tools: [save] },
      { messages, tools: [...tools, save], mustCall: "save_memory" },
    ]) {
      const { call } = await step(demo(), request);
      expect(call).toEqual([
        "save_memory",
        {
          history_entry: expect.stringMatching(/^\[2026-11-02 18:30\] 3 messages .*“and what is 2\+2\?”$/) as string,
          memory_update: "# Facts\n- has a dog\n- I like tea",
        },
      ]);
    }
  });

  it("starts empty, and is dated by the clock if nothing else has a date", async () => {
    const { call } = await step(demo(), ask(prompt("(empty)"), { tools: [save] }));
    expect(call?.[1]).toEqual({
      history_entry: expect.stringMatching(/^\[2026-11-03 10:00\]/) as string,
      memory_update: "",
    });
  });
});

describe("a tool that the demo model must call", () => {
  it("gets arguments that fit its schema", async () => {
    const spec: ToolSpec = {
      name: "heartbeat",
      description: "",
      parameters: {
        type: "object",
        properties: {
          action: { type: "string", enum: ["skip", "run"] },
          tasks: { type: "string" },
          count: { type: "integer", minimum: 3 },
          sure: { type: "boolean" },
        },
        required: ["action", "tasks", "count", "sure"],
      },
    };
    const { call } = await step(demo(), ask("anything to do?", { tools: [spec], mustCall: "heartbeat" }));
    expect(call).toEqual(["heartbeat", { action: "skip", tasks: "anything to do?", count: 3, sure: true }]);
  });
});
