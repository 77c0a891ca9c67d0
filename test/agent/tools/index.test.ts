/** The list of tools, what a model is told of them, and how its arguments are read. */
import * as z from "zod/mini";
import { describe, expect, it } from "vitest";
import { createTools, runTool, type ToolParts } from "../../../src/agent/tools/index.js";
import { createPublicAddresses } from "../../../src/agent/tools/public-address.js";
import { defineTool, errorAdvice, ToolError } from "../../../src/agent/tools/tool.js";
import { UserError } from "../../../src/util/errors.js";
import { call, contextOf, openBench } from "./bench-of-tools.js";

const allParts = (): ToolParts => ({
  fence: openBench().fence,
  addresses: createPublicAddresses(),
  exec: { env: {} },
  search: {},
  fetch: {},
  send: async () => {},
  spawn: async () => ({ kind: "started", id: "1" }),
  cron: {
    jobs: { list: async () => [], add: () => Promise.reject(new Error()), remove: async () => false },
    clock: () => "",
  },
});

describe("the tools", () => {
  it("come in nanobot's order", () => {
    expect(createTools(allParts()).map(({ spec }) => spec.name)).toEqual(
      "read_file write_file edit_file list_dir exec web_search web_fetch message spawn cron".split(" "),
    );
  });

  it("of a subagent cannot speak, spawn or schedule", () => {
    const { fence, addresses } = allParts();
    expect(createTools({ fence, addresses }).map(({ spec }) => spec.name)).toEqual(
      "read_file write_file edit_file list_dir".split(" "),
    );
  });

  it("describe their parameters in plain JSON Schema, each with a type and a word about it", () => {
    for (const { spec } of createTools(allParts())) {
      expect(Object.keys(spec.parameters).sort()).toEqual(["properties", "required", "type"]);
      for (const property of Object.values(spec.parameters["properties"] as object)) {
        expect(property).toMatchObject({ type: expect.any(String), description: expect.any(String) });
        expect(JSON.stringify(property)).not.toContain("9007199254740991");
      }
    }
  });

  it("are told apart by name; an unknown one names those there are", async () => {
    const { fence, addresses } = allParts();
    const tools = createTools({ fence, addresses });
    const named = (name: string) =>
      ({ id: "1", type: "function", function: { name, arguments: '{"path":"."}' } }) as const;
    expect(await runTool(tools, named("list_dir"), contextOf())).toContain("is empty");
    expect(await runTool(tools, named("fly"), contextOf())).toBe(
      "Error: Tool 'fly' not found. Available: read_file, write_file, edit_file, list_dir",
    );
  });
});

describe("arguments", () => {
  const echo = defineTool({
    name: "echo",
    description: "",
    input: z.object({
      text: z.string(),
      count: z.optional(z.int().check(z.gte(1), z.lte(9))),
      loud: z.optional(z.boolean()),
      list: z.optional(z.array(z.string())),
    }),
    run: (input) => JSON.stringify(input),
  });

  it.each([
    [
      { text: "a", count: "5", loud: "yes" },
      { text: "a", count: 5, loud: true },
    ],
    [
      { text: 12, loud: "False" },
      { text: "12", loud: false },
    ],
    [
      { text: true, loud: 0, list: [1, "b"] },
      { text: "true", loud: false, list: ["1", "b"] },
    ],
    [{ text: { a: 1 }, count: null }, { text: '{"a":1}' }],
    [[{ text: "wrapped" }], { text: "wrapped" }],
    [{ text: "a", unknown: 1, __proto__: { loud: true } }, { text: "a" }],
  ])("%j are taken as meant", async (given, meant) => {
    expect(JSON.parse(await call(echo, given))).toEqual(meant);
  });

  it.each([
    [{}, "text: Invalid input: expected string"],
    [{ text: null }, "text: Invalid input: expected string, received null"],
    [{ text: "a", count: "many" }, "count: Invalid input: expected number"],
    [{ text: "a", count: 10 }, "count: Too big"],
    [{ text: "a", count: "" }, "count: Invalid input"],
    [{ text: "a", loud: "maybe" }, "loud: Invalid input"],
    [{ text: "a", list: "b" }, "list: Invalid input: expected array"],
  ])("%j are refused with the reason", async (given, reason) => {
    const result = await call(echo, given);
    expect(result).toContain(`Error: Invalid parameters for tool 'echo': ${reason}`);
    expect(result.endsWith(errorAdvice)).toBe(true);
  });

  it("that are no JSON, or no object, are refused", async () => {
    expect(await echo.call("{oops", contextOf())).toContain("not valid JSON");
    expect(await echo.call("7", contextOf())).toContain("Invalid parameters");
    expect(await echo.call("", contextOf())).toContain("text: ");
  });
});

describe("what goes wrong in a tool", () => {
  const failing = (reason: Error) =>
    defineTool({
      name: "t",
      description: "",
      input: z.object({}),
      run: () => {
        throw reason;
      },
    });

  it("is told in words, with the fix if there is one", async () => {
    expect(await call(failing(new ToolError("no such thing")), {})).toBe(`Error: no such thing${errorAdvice}`);
    expect(await call(failing(new Error("boom")), {})).toBe(`Error executing t: boom${errorAdvice}`);
    expect(await call(failing(new UserError("It broke.", "Mend it.")), {})).toBe(
      `Error executing t: It broke. Mend it.${errorAdvice}`,
    );
  });

  it("is thrown only if the turn was stopped", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(call(failing(new Error("boom")), {}, { signal })).rejects.toThrow("stopped");
  });
});
