/** Helpers that work on their own and report to the chat that sent them. */
import { describe, expect, it } from "vitest";
import { createSubagents } from "../../src/agent/subagents.js";
import type { Model } from "../../src/providers/provider.js";
import { type Line, scriptedModel } from "../support/scripted-model.js";

const origin = { session: "telegram:1", from: { channel: "telegram", chat: "1" } };
const never = new Promise<never>(() => {});

function openSubagents(lines: readonly Line[], options: { limit?: number; model?: Model } = {}) {
  const reports: string[] = [];
  const lifetime = new AbortController();
  const subagents = createSubagents({
    model: options.model ?? scriptedModel(lines).model,
    tools: [],
    settings: { maxIterations: 15, toolResultMaxChars: 4000, toolCompaction: "off", maxTokens: 1000 },
    system: async () => "S",
    clock: () => "2026-06-30T12:34:56",
    log: { warn: () => {} },
    limit: options.limit ?? 4,
    signal: lifetime.signal,
    report: async (_, text) => void reports.push(text),
  });
  const spawn = () => subagents.spawn({ task: "count the stars", label: "stars", origin });
  return { subagents, reports, lifetime, spawn };
}

describe("a subagent", () => {
  it("reports in nanobot's words when it is done", async () => {
    const { subagents, reports, spawn } = openSubagents([{ text: "many" }]);
    expect(await spawn()).toMatchObject({ kind: "started" });
    await subagents.idle();
    expect(reports).toEqual([
      "[Subagent 'stars' completed successfully]\n\nTask: count the stars\n\nResult:\nmany\n\n" +
        'Summarize this naturally for the user. Keep it brief (1-2 sentences). Do not mention technical details like "subagent" or task IDs.',
    ]);
  });

  it.each<[string, Line, string]>([
    ["it failed", new Error("no stars"), "failed]\n\nTask: count the stars\n\nResult:\nError: no stars"],
    ["it has nothing to say", {}, "Result:\nTask completed but no final response was generated."],
  ])("reports that %s", async (_, line, words) => {
    const { subagents, reports, spawn } = openSubagents([line]);
    await spawn();
    await subagents.idle();
    expect(reports[0]).toContain(words);
  });

  it("may be somebody else who does it in one go", async () => {
    const reports: string[] = [];
    const subagents = createSubagents({
      model: scriptedModel([new Error("not asked")]).model,
      tools: [],
      settings: { maxIterations: 15, toolResultMaxChars: 4000, toolCompaction: "off", maxTokens: 1000 },
      system: async () => "S",
      clock: () => "2026-06-30T12:34:56",
      log: { warn: () => {} },
      limit: 4,
      signal: new AbortController().signal,
      report: async (_, text) => void reports.push(text),
      once: ({ task }) => (task === "count the stars" ? async () => "seven" : undefined),
    });
    await subagents.spawn({ task: "count the stars", label: "stars", origin });
    await subagents.spawn({ task: "something else", label: "other", origin });
    await subagents.idle();
    expect(reports.join()).toContain("Result:\nseven");
    expect(reports.join()).toContain("Result:\nError: not asked");
  });

  it("is refused when as many as may are running", async () => {
    const { subagents, spawn, lifetime } = openSubagents([() => never], { limit: 2 });
    await spawn();
    await spawn();
    expect(await spawn()).toEqual({ kind: "full", running: 2, limit: 2 });
    lifetime.abort();
    await subagents.idle();
  });

  it("is stopped with its chat, and with no other", async () => {
    const { subagents, reports, spawn } = openSubagents([() => never]);
    await spawn();
    expect(subagents.stop("telegram:2")).toBe(0);
    expect(subagents.stop("telegram:1")).toBe(1);
    await subagents.idle();
    expect(reports).toEqual([]);
  });

  it("is stopped when the program ends, even if the model does not listen", async () => {
    const { subagents, reports, spawn, lifetime } = openSubagents([() => never]);
    await spawn();
    lifetime.abort();
    await subagents.idle();
    expect(reports).toEqual([]);
  });
});
