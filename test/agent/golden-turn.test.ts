/** Whole turns of the Python original, run by our loop with its values: the files are the same, byte for byte. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTurn } from "../../src/agent/turn.js";
import type { Tool } from "../../src/agent/tools/tool.js";
import { errorAdvice } from "../../src/agent/tools/tool.js";
import { ModelError } from "../../src/providers/provider.js";
import { sessionFileName } from "../../src/session/key.js";
import { pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { nanobotResult } from "../../src/session/turn-rows.js";
import { goldenBytes, goldenJson, goldenNames } from "../support/golden.js";
import { call, scriptedModel } from "../support/scripted-model.js";
import { openWorkspace } from "../support/workspace.js";

type Answer = {
  now: string;
  content?: string | null;
  reasoning_content?: string;
  finish_reason?: string;
  tool_calls?: { id: string; name: string; arguments: PythonValue }[];
};
type Case = {
  key: string;
  kind: string;
  before: boolean;
  load_clock: string;
  inbound: { now: string; content: string; channel?: string; chat_id?: string; media?: string[] }[];
  script: Answer[];
  tool_results: (string | { raises?: string; repeat?: string; times?: number })[];
  replies: string[];
};

const folder = "append/v0.1.4.post4";
const cases = goldenNames(folder).filter((name) => {
  const { kind, inbound } = goldenJson<Case>(`${folder}/${name}/turn.json`);
  return kind === "agent_loop" && !inbound.some(({ content }) => content.startsWith("/"));
});
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
  "base64",
);

describe("a turn with nanobot's own settings", () => {
  it.each(cases)("leaves the file that v0.1.4.post4 leaves: %s", async (name) => {
    const golden = goldenJson<Case>(`${folder}/${name}/turn.json`);
    const file = sessionFileName(golden.key);
    const house = openWorkspace(golden.before ? { [file]: goldenBytes(`${folder}/${name}/before.jsonl`) } : {});
    writeFileSync(join(house.workspace, "pic.png"), dot);
    const sessions = house.open();
    const results = [...golden.tool_results];
    const probe: Tool = {
      spec: { name: "probe", description: "", parameters: {} },
      call: async () => {
        const result = results.shift() ?? "";
        if (typeof result === "string") return result;
        if (result.raises !== undefined) return `Error executing probe: ${result.raises}${errorAdvice}`;
        return (result.repeat ?? "").repeat(result.times ?? 0);
      },
    };
    const { model } = scriptedModel(
      golden.script.map((answer) => async () => {
        house.clock.now = answer.now;
        if (answer.finish_reason === "error") throw new ModelError("request", answer.content ?? "", "");
        const calls = (answer.tool_calls ?? []).map(({ id, name: tool, arguments: args }) =>
          call(tool, pythonJson(args), id),
        );
        return {
          text: answer.content ?? null,
          toolCalls: calls,
          ...(answer.reasoning_content !== undefined && { reasoning: answer.reasoning_content }),
        };
      }),
    );
    const runTurn = createTurn({
      model,
      tools: [probe],
      sessions,
      clock: house.clock,
      prompt: async () => "S",
      settings: { maxIterations: 40, toolResultMaxChars: Infinity, toolCompaction: "off", maxTokens: 1000 },
      store: { viewMessages: 100, result: nanobotResult, toolsUsed: false, failed: "question", outOfSteps: "sentence" },
    });
    house.clock.now = golden.load_clock;
    if (golden.before) await sessions.getOrCreate(golden.key);
    const replies: string[] = [];
    for (const { now, content, channel = "cli", chat_id: chat = "direct", media = [] } of golden.inbound) {
      house.clock.now = now;
      const input = {
        session: golden.key,
        from: { channel, chat },
        text: content,
        media: media.map((path) => join(house.workspace, path)),
        signal: new AbortController().signal,
      };
      try {
        replies.push((await runTurn(input)).reply ?? "");
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        replies.push(error.message);
      }
    }
    expect(replies).toEqual(golden.replies);
    expect(house.text(file)).toBe(goldenBytes(`${folder}/${name}/after.jsonl`).toString("utf8"));
  });
});
