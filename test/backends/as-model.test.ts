import { describe, expect, it } from "vitest";
import { modelOf } from "../../src/backends/as-model.js";
import { createRotation } from "../../src/backends/rotation.js";
import { complete, ModelError, type ModelRequest } from "../../src/providers/provider.js";
import { openTalk, scriptedBackend } from "../support/talk-house.js";

async function openModel(text: string) {
  const { backend, calls } = scriptedBackend([{ kind: "answered", text, toolsUsed: [] }]);
  const { handles, warnings } = await openTalk({ backend });
  const log = { warn: (words: string) => void warnings.push(words) };
  const rotation = createRotation({ backend, handles, settings: { windowSize: 20, maxAgeMs: 1 }, log });
  const model = modelOf(backend, rotation.once, 1000);
  return { calls, ask: (request: ModelRequest) => complete(model.stream(request, new AbortController().signal)) };
}

const saveMemory = { name: "save_memory", description: "", parameters: { type: "object", properties: { a: {} } } };
const messages = [
  { role: "system", content: "You keep a memory." },
  { role: "user", content: "Summarise." },
] as const;

describe("a backend that is asked like a model", () => {
  it("answers in a call that stands alone", async () => {
    const { ask, calls } = await openModel("fine");
    expect(await ask({ messages, tools: [] })).toMatchObject({ text: "fine", toolCalls: [], end: "stop" });
    expect(calls[0]).toMatchObject({ once: true, system: "You keep a memory.", prompt: "Summarise." });
  });

  it.each(['{"a": 1}', '```json\n{"a": 1}\n```', 'Here it is: {"a": 1}'])(
    "calls the tool it has to call: %j",
    async (text) => {
      const { ask, calls } = await openModel(text);
      const { toolCalls } = await ask({ messages, tools: [saveMemory], mustCall: "save_memory" });
      expect(toolCalls.map((call) => call.function)).toEqual([{ name: "save_memory", arguments: '{"a": 1}' }]);
      expect(calls[0]?.prompt).toContain('{"type":"object","properties":{"a":{}}}');
    },
  );

  it("fails if it does not", async () => {
    const { ask } = await openModel("I would rather not {");
    await expect(ask({ messages, tools: [saveMemory], mustCall: "save_memory" })).rejects.toThrow(ModelError);
  });
});
