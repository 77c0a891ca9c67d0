/** One random script of turns on every driver: after each step all of them say what a plain list would (cross-seed 1). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Row } from "../../src/message.js";
import { driverNames } from "../../src/session/open.js";
import { parsePythonJson, pythonJson, type PythonValue } from "../../src/session/python-json.js";
import type { Session } from "../../src/session/session.js";
import { openWorkspace } from "../support/workspace.js";

const keys = ["telegram:a:b", "telegram:a_b", "cli:direct"] as const;

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("", "\n", "\r\n", "\0", '{"role": "user"}', "\u2028", "\ufeff", "é🎈", "x".repeat(5000), "null"),
);
const value: fc.Arbitrary<PythonValue> = fc.oneof(
  text,
  fc.constantFrom(null, true, 0, -1, 1.5, 1e300, 12345678901234567890n),
  fc
    .constantFrom("1.0", "[]", "{}", "[1, [2.0, {}]]", '{"10": 1, "9": 2}', '{"__proto__": 1}', "NaN")
    .map((json) => parsePythonJson(json)),
);
const field = fc.oneof(fc.constantFrom("title", "webui", "a.b", "__proto__", "7", "3", ""), text);

const toolTurn = fc.tuple(text, text, text).map(([question, result, answer]): Row[] => {
  const call = { id: "c1", type: "function", function: { name: "exec", arguments: '{"a": 1.0}' } };
  return [
    { role: "user", content: question },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", name: "exec", content: result },
    { role: "assistant", content: answer, latency_ms: 12.5 },
  ];
});
const oddTurn = fc.array(
  fc.tuple(field, value).map(([name, content]): Row => {
    const row: Record<string, unknown> = { role: "user", content };
    if (name !== "__proto__") row[name] = content;
    return row;
  }),
  { minLength: 1, maxLength: 6 },
);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("turn" as const), rows: fc.oneof(toolTurn, oddTurn) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("metadata" as const), field, value }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("cursor" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("clear" as const, "reopen" as const, "invalidate" as const, "unsaved" as const),
    }),
  },
);
const script = fc.array(fc.tuple(fc.constantFrom(...keys), step), { minLength: 1, maxLength: 14 });

/** A conversation as plain data. */
type Model = { rows: string[]; metadata: Map<string, string>; cursor: number };
const newModel = (): Model => ({ rows: [], metadata: new Map(), cursor: 0 });

const stateOf = (session: Session) => ({
  rows: session.slice(0).map((row) => pythonJson(row)),
  metadata: Object.keys(session.metadata)
    .sort()
    .map((name) => [name, pythonJson(session.metadata[name])]),
  cursor: session.lastConsolidated,
});
const stateOfModel = (model: Model) => ({
  rows: model.rows,
  metadata: [...model.metadata].sort(([one], [other]) => (one < other ? -1 : 1)),
  cursor: model.cursor,
});

describe.each(driverNames)("%s", (driver) => {
  it("keeps the same logical log as a plain list, through any script of turns", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const house = openWorkspace();
        const open = () => house.open({ driver, segmentSize: 3, cacheSize: 2 });
        let sessions = open();
        const models = new Map<string, Model>(keys.map((key) => [key, newModel()]));
        for (const [key, act] of steps) {
          const model = models.get(key) ?? newModel();
          if (act.do === "reopen") {
            await sessions.close();
            sessions = open();
          } else if (act.do === "invalidate") {
            sessions.invalidate(key);
          } else {
            const session = await sessions.getOrCreate(key);
            if (act.do === "turn") {
              session.addRows(act.rows);
              model.rows.push(...act.rows.map((row) => pythonJson({ ...row, timestamp: house.clock() })));
            } else if (act.do === "metadata" && act.field !== "__proto__") {
              session.metadata[act.field] = act.value;
              model.metadata.set(act.field, pythonJson(act.value));
            } else if (act.do === "cursor") {
              session.lastConsolidated = model.cursor = Math.floor(act.share * model.rows.length);
            } else if (act.do === "clear") {
              session.clear();
              model.rows = [];
              model.cursor = 0;
            } else if (act.do === "unsaved") {
              session.addMessage("user", "never saved");
              sessions.invalidate(key);
            }
            if (act.do !== "unsaved") await sessions.save(session);
          }
          for (const [each, expected] of models) {
            expect(stateOf(await sessions.getOrCreate(each))).toEqual(stateOfModel(expected));
          }
        }
        await sessions.close();
        const later = open();
        for (const [each, expected] of models) {
          expect(stateOf(await later.getOrCreate(each))).toEqual(stateOfModel(expected));
        }
        await later.close();
      }),
      { numRuns: 20, interruptAfterTimeLimit: 3000 },
    );
  });
});
