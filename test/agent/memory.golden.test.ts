/** Consolidation as the Python original does it: which rows, in what words, and what the files hold afterwards. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { consolidationEnd, createMemory } from "../../src/agent/memory.js";
import { createMemoryFiles } from "../../src/agent/memory-files.js";
import { createFence } from "../../src/agent/tools/fence.js";
import type { Row } from "../../src/message.js";
import { headerLine } from "../../src/session/header.js";
import { pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { goldenBytes, goldenJson } from "../support/golden.js";
import { call, scriptedModel, textOf } from "../support/scripted-model.js";
import { openWorkspace } from "../support/workspace.js";

type Case = {
  case: string;
  kind?: string;
  input: {
    memory_window: number;
    last_consolidated: number;
    archive_all: boolean;
    memory_before: string | null;
    history_before: string | null;
    response: { raises?: string; tool_calls?: { name: string; arguments: PythonValue }[] };
    messages: readonly Row[] | { readonly count: number };
  };
  result: {
    returned: boolean | null;
    model_called: number;
    consolidated_indices: number[];
    conversation?: string;
    last_consolidated: number;
    memory_after: string | null;
    history_after: string | null;
  };
};

const cases = goldenJson<Case[]>("consolidation/v0.1.4.post4.json").filter(({ kind }) => kind === undefined);
const allRows = goldenBytes("consolidation/messages.jsonl").toString("utf8").trimEnd().split("\n");

/** Where we differ on purpose, and why. */
const onPurpose: Readonly<Record<string, string>> = {
  "grid-n60-w50-lc61": "a cursor beyond the end hides all rows there; it counts as 0 here",
  "archive-all-empty": "with nothing to summarise no model is asked",
  "all-empty-content": "with nothing to summarise no model is asked",
  "archive-all-ignores-lc": "rows already consolidated are not summarised a second time",
};

describe("a consolidation", () => {
  it.each(cases.filter((row) => onPurpose[row.case] === undefined))("$case", async ({ input, result }) => {
    const rows = !("count" in input.messages)
      ? input.messages.map((row) => pythonJson(row))
      : allRows.slice(0, input.messages.count);
    const time = "2026-03-08T08:00:00";
    const header = headerLine({
      key: "cli:direct",
      createdAt: time,
      updatedAt: time,
      metadata: {},
      lastConsolidated: input.last_consolidated,
    });
    const house = openWorkspace({ "cli_direct.jsonl": `${[header, ...rows].join("\n")}\n` });
    const folder = join(house.workspace, "memory");
    mkdirSync(folder);
    const paths = { memory: join(folder, "MEMORY.md"), history: join(folder, "HISTORY.md") };
    if (input.memory_before !== null) writeFileSync(paths.memory, input.memory_before);
    if (input.history_before !== null) writeFileSync(paths.history, input.history_before);
    const { response } = input;
    const { model, requests } = scriptedModel([
      response.raises === undefined
        ? { toolCalls: (response.tool_calls ?? []).map(({ name, arguments: args }) => call(name, pythonJson(args))) }
        : new Error(response.raises),
    ]);
    const sessions = house.open();
    const session = await sessions.getOrCreate("cli:direct");
    const files = createMemoryFiles({
      folder,
      state: join(house.workspace, "state"),
      fence: createFence({ workspace: house.workspace, userHome: house.workspace, forbidden: [] }),
      clock: house.clock,
      log: house.log,
      moveCursor: async (_, cursor) => {
        session.lastConsolidated = cursor;
        await sessions.save(session);
      },
    });
    const memory = createMemory({
      sessions,
      model,
      clock: house.clock,
      log: house.log,
      filesOf: () => files,
      window: input.memory_window,
    });
    const end = input.archive_all
      ? session.length
      : consolidationEnd(session.length, session.lastConsolidated, input.memory_window);
    const outcome =
      end === undefined || session.length === 0
        ? "done"
        : await memory.consolidate(session, end, new AbortController().signal);

    expect(outcome === "done").toBe(result.returned ?? false);
    expect(requests.length).toBe(result.model_called);
    if (result.conversation !== undefined) {
      const asked = textOf(requests[0]?.messages[1]);
      expect(asked.slice(asked.indexOf("## Conversation to Process\n") + 27)).toBe(result.conversation);
    }
    const read = (path: string): string | null => (existsSync(path) ? readFileSync(path, "utf8") : null);
    expect(read(paths.memory)).toBe(result.memory_after);
    expect(read(paths.history)).toBe(result.history_after);
    if (!input.archive_all) expect(session.lastConsolidated).toBe(result.last_consolidated);
  });
});
