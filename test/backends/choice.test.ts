import { describe, expect, it } from "vitest";
import { createChoice, usedBackends } from "../../src/backends/choice.js";

const to = (backend: string, stateless = false) => ({ backend, stateless });

describe("who answers", () => {
  const use = {
    "telegram:42": to("claude-cli"),
    telegram: to("model"),
    "telegram:-100": to("openai-responses"),
    "cron:abc": to("claude-cli", true),
    heartbeat: to("claude-cli"),
  };

  it.each([
    ["telegram:42", "claude-cli"],
    ["telegram:43", "model"],
    ["telegram:-100:topic:5", "openai-responses"],
    ["telegram:-1001", "model"],
    ["cron:abc", "claude-cli"],
    ["cron:abd", "openai-responses"],
    ["heartbeat", "claude-cli"],
    ["cli:direct", "openai-responses"],
    ["", "openai-responses"],
    ["__proto__", "openai-responses"],
  ])("in %j: %s", (session, backend) => {
    expect(createChoice({ use, fallback: "openai-responses" })(session).backend).toBe(backend);
  });

  it("is the model where nothing is said at all", () => {
    expect(createChoice({ use: {}, fallback: "" })("telegram:42")).toEqual(to("model"));
  });

  it("may be asked to take each message for itself", () => {
    expect(createChoice({ use, fallback: "" })("cron:abc").stateless).toBe(true);
  });
});

describe("the backends in use", () => {
  const known = ["claude-cli", "openai-responses"];

  it("are those that somebody names", () => {
    expect(usedBackends({ use: {}, fallback: "" }, known)).toEqual([]);
    expect(usedBackends({ use: { a: to("model"), b: to("claude-cli") }, fallback: "claude-cli" }, known)).toEqual([
      "claude-cli",
    ]);
  });

  it.each([
    [{ use: {}, fallback: "claude-cIi" }, /agents\.defaults\.backend names the backend claude-cIi/, "claude-cli"],
    [{ use: { telegram: to("modle") }, fallback: "" }, /backends\.use\.telegram/, "model"],
  ])("are known: %j", (settings, words, meant) => {
    const attempt = () => usedBackends(settings, known);
    expect(attempt).toThrow(words);
    expect(attempt).toThrow(expect.objectContaining({ fix: `Did you mean ${meant}?` }));
  });
});
