/** Random turns that either program can take, and a model that says what a session must be after them. */
import * as fc from "fast-check";
import type { Row } from "../../src/message.js";
import { isObject } from "../../src/session/header.js";
import {
  entriesInOrder,
  objectInOrder,
  parsePythonJson,
  pythonJson,
  type PythonValue,
} from "../../src/session/python-json.js";
import type { Session } from "../../src/session/session.js";
import type { Snapshot } from "./nanobot.js";

export type Step =
  | { readonly do: "say"; readonly role: string; readonly content: PythonValue; readonly extras: Row }
  | { readonly do: "rows"; readonly rows: readonly Row[] }
  | { readonly do: "set"; readonly path: readonly string[]; readonly value: PythonValue }
  | { readonly do: "drop"; readonly name: string }
  | { readonly do: "cursor"; readonly percent: number }
  | { readonly do: "clear" };

export type Turn = { readonly key: string; readonly steps: readonly Step[] };

/** What a turn needs of a session; the model below has it too. */
type Target = Pick<Session, "addMessage" | "addRows" | "metadata" | "length" | "lastConsolidated" | "clear">;

export function take(session: Target, steps: readonly Step[]): void {
  for (const step of steps) {
    if (step.do === "say") session.addMessage(step.role, step.content, step.extras);
    else if (step.do === "rows") session.addRows(step.rows);
    else if (step.do === "set") setIn(session.metadata, step.path, step.value);
    else if (step.do === "drop") delete session.metadata[step.name];
    else if (step.do === "cursor") session.lastConsolidated = Math.floor((session.length * step.percent) / 100);
    else session.clear();
  }
}

function setIn(metadata: Record<string, PythonValue>, path: readonly string[], value: PythonValue): void {
  let place = metadata;
  for (const name of path.slice(0, -1)) {
    if (!isObject(place[name] ?? null)) place[name] = {};
    place = place[name] as Record<string, PythonValue>;
  }
  place[path.at(-1) ?? ""] = value;
}

/** What a session must hold, worked out without any file. Its rows have no timestamps. */
export function createModel() {
  const model = {
    rows: [] as Row[],
    metadata: {} as Record<string, PythonValue>,
    lastConsolidated: 0,
    get length() {
      return model.rows.length;
    },
    addMessage(role: string, content: unknown, extras: Row = {}) {
      model.rows.push(objectInOrder([["role", role], ["content", content], ...entriesInOrder(extras)]));
    },
    addRows(rows: readonly Row[]) {
      model.rows.push(...rows);
    },
    clear() {
      model.rows = [];
      model.lastConsolidated = 0;
    },
    /** What it says, to compare with {@link sayingOf} what was stored. */
    saying: () => ({
      metadata: pythonJson(model.metadata),
      lastConsolidated: String(model.lastConsolidated),
      rows: model.rows.map((row) => pythonJson(row)),
    }),
  };
  return model;
}

export const sayingOf = ({ metadata, lastConsolidated, rows }: Snapshot) => ({
  metadata,
  lastConsolidated,
  rows: rows.map(withoutTimestamp),
});

/** A row's text without its timestamp, which every row must have. */
export function withoutTimestamp(text: string): string {
  const entries = entriesInOrder(parsePythonJson(text) as Row);
  const rest = entries.filter(([field]) => field !== "timestamp");
  if (rest.length === entries.length) throw new Error(`a row without timestamp: ${text}`);
  return pythonJson(objectInOrder(rest));
}

/** Text that files, line readers and encoders stumble over. */
const words = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom(
    "",
    "😀👩‍👩‍👧‍👦 🇩🇪",
    "line\u2028and\u2029paragraph separators, \u0085 and \u000b\u000c\u001c",
    'quotes " \\ and "_type": "metadata"',
    "tabs\tCR\r LF\n CRLF\r\n NUL\u0000 DEL\u007f BOM\ufeff",
    "e\u0301 is not é; 漢字かな한글 العربية עברית",
    '{"role": "user"}\n{"_type": "metadata", "key": "x"}',
    "long ".repeat(2000),
  ),
);

/** Values that JSON readers other than Python's lose something of. */
const oddValues: readonly PythonValue[] = [
  "1.0",
  "-0.0",
  "1e16",
  "1e-7",
  "1e22",
  "5e-324",
  "1.7976931348623157e+308",
  "0.1",
  "9007199254740993",
  "-123456789012345678901234567890",
  "1e400",
  "NaN",
  "-Infinity",
  '{"b": 1, "10": 2, "2": 3.0, "__proto__": null, "": []}',
  '[[], {}, [[1.0, [2]], true, null], "\\u2028"]',
].map((text) => parsePythonJson(text));

const { value: values } = fc.letrec<{ value: PythonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    { weight: 2, arbitrary: fc.constantFrom(...oddValues) },
    words,
    fc.double(),
    fc.integer(),
    fc.bigInt(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.string({ unit: "grapheme", maxLength: 8 }), tie("value"), { maxKeys: 3 }),
  ),
}));

const extras = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record({ media: fc.array(words, { maxLength: 2 }), latency_ms: fc.double() }),
  fc.record({ _channel_delivery: fc.constant(true), sender_id: words, "7": values }),
);

const parts = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("text"), text: words }),
    fc.record({ type: fc.constant("image_url"), image_url: fc.record({ url: fc.webUrl(), detail: words }) }),
  ),
  { minLength: 1, maxLength: 3 },
);

const spoken = fc.record({
  do: fc.constant("say" as const),
  role: fc.constantFrom("user", "user", "assistant"),
  content: fc.oneof({ weight: 4, arbitrary: words }, parts as fc.Arbitrary<PythonValue>, fc.constant(null)),
  extras,
});

/** A question, calls of tools, their results and an answer, as nanobot's loop stores them. */
const worked = fc
  .record({
    question: fc.oneof(words, parts),
    thought: fc.oneof(words, fc.constant(null)),
    calls: fc.array(fc.record({ id: fc.uuid(), args: values, result: fc.oneof(words, parts) }), {
      minLength: 1,
      maxLength: 3,
    }),
    answer: words,
    reasoning: fc.option(words, { nil: undefined }),
  })
  .map(({ question, thought, calls, answer, reasoning }) => ({
    do: "rows" as const,
    rows: [
      { role: "user", content: question },
      {
        role: "assistant",
        content: thought,
        tool_calls: calls.map(({ id, args }) => ({
          id,
          type: "function",
          function: { name: "probe", arguments: pythonJson({ args }) },
        })),
      },
      ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, name: "probe", content: result })),
      { role: "assistant", content: answer, ...(reasoning !== undefined && { reasoning_content: reasoning }) },
    ],
  }));

const names = fc.constantFrom("title", "webui", "état", "💡", "goal state");

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: spoken },
  { weight: 6, arbitrary: worked },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("set" as const),
      path: fc.array(names, { minLength: 1, maxLength: 3 }),
      value: values,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("drop" as const), name: names }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("cursor" as const), percent: fc.integer({ min: 0, max: 100 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "clear" as const }) },
);

export function randomTurns(keys: readonly string[], count: number, seed: number): Turn[] {
  const turn = fc.record({ key: fc.constantFrom(...keys), steps: fc.array(step, { minLength: 1, maxLength: 4 }) });
  return fc.sample(turn, { numRuns: count, seed });
}
