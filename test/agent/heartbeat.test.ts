import { describe, expect, it } from "vitest";
import { askHeartbeat } from "../../src/agent/heartbeat.js";
import { call, type Line, scriptedModel } from "../support/scripted-model.js";

const ask = async (line: Line) => {
  const { model, requests } = scriptedModel([line]);
  const { tasks, usage } = await askHeartbeat(model, "- water", "2026-01-01T12:00:00", new AbortController().signal);
  return { tasks, usage, requests };
};

describe("the question behind a heartbeat", () => {
  it("is one short call with the file and the time, and one tool that has to be called", async () => {
    const { tasks, usage, requests } = await ask({
      toolCalls: [call("heartbeat", { action: "run", tasks: " water " })],
    });
    expect(tasks).toBe("water");
    expect(usage.input).toBeGreaterThan(0);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ mustCall: "heartbeat", tools: [{ name: "heartbeat" }] });
    expect(JSON.stringify(requests[0]?.messages)).toMatch(/2026-01-01T12:00:00.*- water/);
  });

  it("may be answered with nothing to do", async () => {
    expect((await ask({ toolCalls: [call("heartbeat", { action: "skip", tasks: "x" })] })).tasks).toBeUndefined();
    expect((await ask({ text: "I would rather chat." })).tasks).toBeUndefined();
    expect((await ask({ toolCalls: [call("heartbeat", "{broken")] })).tasks).toBeUndefined();
    expect((await ask({ toolCalls: [call("heartbeat", "null")] })).tasks).toBeUndefined();
  });

  it("leads to the file itself if the model does not say what", async () => {
    expect((await ask({ toolCalls: [call("heartbeat", { action: "run" })] })).tasks).toContain("HEARTBEAT.md");
  });

  it("fails as the model fails", async () => {
    await expect(ask(new Error("no model"))).rejects.toThrow("no model");
  });
});
