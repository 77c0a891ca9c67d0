/** Every recorded case of the Python original, as far as sessions go. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Row } from "../../src/message.js";
import { sessionFileName } from "../../src/session/key.js";
import { parsePythonJson, pythonJson, type PythonValue } from "../../src/session/python-json.js";
import { nanobotResult, turnRows } from "../../src/session/turn-rows.js";
import { goldenBytes, goldenJson, goldenNames, historyDigest, unfold } from "../support/golden.js";
import { openWorkspace, temporaryFolder } from "../support/workspace.js";

describe("Python's JSON text", () => {
  type Line = {
    id: number;
    group: string;
    value: string | null;
    value_python_only?: string;
    python: string;
    python_ascii: string;
  };
  const lines = goldenBytes("json-lines.jsonl")
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

  it.each(lines)(
    "$id ($group) is printed the same",
    ({ value, value_python_only: only, python, python_ascii: ascii }) => {
      const parsed = parsePythonJson(value ?? only ?? "");
      expect(pythonJson(parsed, { ascii: false })).toBe(python);
      expect(pythonJson(parsed, { ascii: true })).toBe(ascii);
    },
  );
});

describe("the file of a key", () => {
  type Name = { version: string; key: string; filename: string | null; legacy_filename?: string; saved: boolean };
  const names = goldenJson<Name[]>("filenames.json");

  it.each(names.filter(({ filename }) => filename !== null))(
    "$version: $key",
    ({ version, key, filename, legacy_filename: legacy }) => {
      if (version === "v0.3.0") {
        expect(sessionFileName(key, { naming: "base64url" })).toBe(filename);
        expect(sessionFileName(key)).toBe(legacy);
      } else {
        expect(sessionFileName(key)).toBe(filename);
      }
    },
  );

  it.each(names.filter(({ version }) => version === "v0.1.4.post4"))(
    "is written and found again: $key",
    async ({ key, saved, filename }) => {
      const house = openWorkspace();
      const sessions = house.open();
      if (!saved) {
        await expect(sessions.getOrCreate(key)).rejects.toThrow(JSON.stringify(key));
        expect(house.names()).toEqual([]);
        return;
      }
      const session = await sessions.getOrCreate(key);
      session.addMessage("user", "hello");
      await sessions.save(session);
      expect(house.names()).toEqual([filename]);
      expect((await sessions.list()).map((entry) => entry.key)).toEqual([key]);
      expect((await house.open().getOrCreate(key)).length).toBe(1);
    },
  );
});

describe("which file a key is read from", () => {
  type Lookup = {
    case: string;
    version: string;
    key: string;
    files_before: { workspace: Record<string, string>; home: Record<string, string> };
    loaded_contents: string[] | null;
  };
  // v0.3.0 looks for both names and minds the stored key; so do we, and leave the file where it is.
  const cases = goldenJson<Lookup[]>("lookup.json").filter(({ version }) => version === "v0.3.0");

  it.each(cases)("$case", async ({ key, files_before: before, loaded_contents: contents }) => {
    const house = openWorkspace(before.workspace);
    const legacyFolder = temporaryFolder();
    for (const [name, text] of Object.entries(before.home)) writeFileSync(join(legacyFolder, name), text);
    const session = await house.open({ legacyFolder }).getOrCreate(key);
    expect(session.slice(0).map((row) => row["content"])).toEqual(contents ?? []);
    expect(house.names()).toEqual(expect.arrayContaining(Object.keys(before.workspace)));
  });
});

const versions = goldenNames("sessions").filter((name) => name.startsWith("v"));

describe.each(versions)("session files written by %s", (version) => {
  type Expectation = {
    key: string;
    file: string;
    loaded: {
      created_at: string;
      updated_at: string;
      last_consolidated: number;
      message_count: number;
      metadata: PythonValue;
    };
  };
  const files = goldenNames(`sessions/${version}`).filter((name) => name.endsWith(".jsonl"));

  it.each(files)("%s loads as it was saved", async (file) => {
    const expected = goldenJson<Expectation>(`sessions/${version}/${file.replace(/jsonl$/, "expect.json")}`);
    const house = openWorkspace({ [file]: goldenBytes(`sessions/${version}/${file}`) });
    const session = await house.open().getOrCreate(expected.key);
    expect(session.createdAt).toBe(expected.loaded.created_at);
    expect(session.lastConsolidated).toBe(expected.loaded.last_consolidated);
    expect(session.length).toBe(expected.loaded.message_count);
    expect(pythonJson(session.metadata)).toBe(pythonJson(expected.loaded.metadata));
    expect(house.warnings).toEqual([]);
  });

  it.each(files)("%s is shown as v0.1.4.post4 shows it", async (file) => {
    const { key } = goldenJson<Expectation>(`sessions/${version}/${file.replace(/jsonl$/, "expect.json")}`);
    const house = openWorkspace({ [file]: goldenBytes(`sessions/${version}/${file}`) });
    const session = await house.open().getOrCreate(key);
    for (const [max, view] of viewsOf(version, key)) {
      const history = session.history(max);
      expect(history.length).toBe(view.count);
      expect(historyDigest(history)).toBe(view.sha256);
    }
  });

  it.each(files)("%s is written line by line as Python wrote it", async (file) => {
    const bytes = goldenBytes(`sessions/${version}/${file}`);
    const ascii = version === "v0.1.4";
    for (const line of bytes.toString("utf8").trimEnd().split("\n")) {
      expect(pythonJson(parsePythonJson(line), { ascii })).toBe(line);
    }
  });
});

type View = { count: number; sha256: string };

/** What v0.1.4.post4 shows of a session, by window: every window for its own files, two for those of the others. */
function viewsOf(version: string, key: string): (readonly [number, View])[] {
  if (version === "v0.1.4.post4") {
    type Sidecar = { history: (View & { call: { max_messages?: number } })[] };
    const { history } = goldenJson<Sidecar>(
      `sessions/${version}/${sessionFileName(key).replace(/jsonl$/, "expect.json")}`,
    );
    return history.map((view) => [view.call.max_messages ?? 500, view] as const);
  }
  type CrossLoad = { reader: string; writer: string; key: string; loaded: { history_500: View; history_7: View } };
  // The original cannot find files under v0.3.0's names; their content is that of v0.2.2.
  const writer = version === "v0.3.0" ? "v0.2.2" : version;
  return goldenJson<CrossLoad[]>("sessions/cross-load.json")
    .filter((row) => row.reader === "v0.1.4.post4" && row.writer === writer && row.key === key)
    .flatMap(({ loaded }) => [[500, loaded.history_500] as const, [7, loaded.history_7] as const]);
}

describe("a save", () => {
  type Step = {
    op: string;
    now: string;
    role?: string;
    content?: PythonValue;
    extra?: Row;
    messages?: Row[];
    skip?: number;
  };
  type Turn = { key: string; kind: string; load_clock: string; steps: Step[]; before: boolean; result: unknown };
  const cases = goldenNames("append/v0.1.4.post4").filter(
    (name) => goldenJson<Turn>(`append/v0.1.4.post4/${name}/turn.json`).kind === "steps",
  );
  const keptAsTheyAre = ["from-compact-json", "from-v0.1.4-file"];

  it.each(cases)("leaves the bytes that v0.1.4.post4 leaves: %s", async (name) => {
    const turn = unfold(goldenJson<PythonValue>(`append/v0.1.4.post4/${name}/turn.json`)) as unknown as Turn;
    const file = sessionFileName(turn.key);
    const before = turn.before ? goldenBytes(`append/v0.1.4.post4/${name}/before.jsonl`) : undefined;
    const house = openWorkspace(before ? { [file]: before } : {});
    const sessions = house.open();
    house.clock.now = turn.load_clock;
    const session = await sessions.getOrCreate(turn.key);
    let saved: Promise<void> = Promise.resolve();
    for (const step of turn.steps) {
      house.clock.now = step.now;
      if (step.op === "add_message") session.addMessage(step.role ?? "", step.content, step.extra);
      else if (step.op === "save_turn") session.addRows(turnRows(step.messages ?? [], step.skip ?? 0, nanobotResult));
      else if (step.op === "clear") session.clear();
      else saved = sessions.save(session);
      await saved.catch(() => {});
    }
    if (turn.result !== "saved") {
      // Python has lost rows here; we refuse before anything is written.
      await expect(saved).rejects.toThrow("lone surrogate");
      expect(house.bytes(file)).toEqual(before);
      return;
    }
    await saved;
    const after = goldenBytes(`append/v0.1.4.post4/${name}/after.jsonl`).toString("utf8");
    if (!keptAsTheyAre.includes(name)) return expect(house.text(file)).toBe(after);
    // Rows in another style of JSON stay as they are; header and new rows are Python's.
    const oldRows = before?.toString("utf8").trimEnd().split("\n").slice(1) ?? [];
    const afterLines = after.split("\n");
    expect(house.text(file)).toBe([afterLines[0], ...oldRows, ...afterLines.slice(oldRows.length + 1)].join("\n"));
  });
});
