/** The chat of an editor (document 001), through real HTTP, the whole gateway, and a model server as strict as OpenAI. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Row } from "../../src/message.js";
import { type Answer, bill, delta, fails, fragment, says, streams } from "../support/fake-openai.js";
import { gate } from "../support/gate.js";
import { type GatewayAppOptions, openGatewayApp } from "../support/gateway-app.js";
import { eventsOf } from "../support/door.js";

type Reply = { readonly response: string; readonly session_id: string };
type Message = { readonly role: string; readonly content: string; readonly tool_calls?: { readonly id: string }[] };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The model wants to read these files of the workspace, all at once. */
const reads = (...paths: string[]): Answer => readsAs(paths.map((path, at) => ({ path, id: `call_${at}` })));
const readsAs = (calls: readonly { readonly path: string; readonly id: string }[], text = ""): Answer =>
  streams([
    delta({ role: "assistant", content: text }),
    ...calls.map(({ path, id }, at) =>
      delta(fragment(at, { id, name: "read_file", args: JSON.stringify({ path: join("notes", path) }) })),
    ),
    delta({}, "tool_calls"),
    bill(1, 1),
  ]);

async function openEditor(options: GatewayAppOptions & { readonly notes?: Readonly<Record<string, string>> } = {}) {
  const house = await openGatewayApp(options);
  const note = (name: string, text: string): void => {
    mkdirSync(join(house.workspace, "notes"), { recursive: true });
    writeFileSync(join(house.workspace, "notes", name), text);
  };
  for (const [name, text] of Object.entries(options.notes ?? {})) note(name, text);
  const post = (body: object) => house.post("/chat", body);
  return {
    ...house,
    note,
    post,
    /** One question about a file; it must be answered. */
    async chat(message: string, file?: string | null, more: object = {}): Promise<Reply> {
      const response = await post({ message, ...(file !== undefined && { active_file: file }), ...more });
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
      return (await response.json()) as Reply;
    },
    /** What the model was sent, each time. */
    requests: (): Message[][] => house.model.heard.map(({ body }) => body["messages"] as Message[]),
    lastRequest: (): Message[] => (house.model.heard.at(-1)?.body["messages"] ?? []) as Message[],
    bytes: (name: string): Buffer => readFileSync(join(house.workspace, "sessions", `file_${name}.jsonl`)),
    /** The rows of a conversation, as they stand in its file. */
    rows: (name: string): Row[] =>
      readFileSync(join(house.workspace, "sessions", `file_${name}.jsonl`), "utf8")
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => JSON.parse(line) as Row),
    /** What is kept of the tools' results. */
    stubs(name: string): unknown[] {
      return this.rows(name).flatMap(({ role, content }) => (role === "tool" ? [JSON.parse(String(content))] : []));
    },
  };
}

const saidBy = (role: string, messages: readonly Message[]): string[] =>
  messages.filter((message) => message.role === role).map(({ content }) => content.replace(/^\[Runtime[^]*?\n\n/, ""));
const open = (file: string, message: string): string => `[The file open in the editor: ${file}]\n\n${message}`;

describe("a conversation", () => {
  it("goes on with its file, begins anew with another, and is there when one comes back (001-1, 001-2, 001-3)", async () => {
    const editor = await openEditor({ answers: ["one", "two", "three", "four"].map((word) => says(word)) });
    const first = await editor.chat("hello", "a.md");
    const second = await editor.chat("more", "a.md");
    const other = await editor.chat("and here", "b.md");
    const back = await editor.chat("back", "a.md");
    expect([first, second, other, back].map(({ response }) => response)).toEqual(["one", "two", "three", "four"]);
    expect([second.session_id, back.session_id]).toEqual([first.session_id, first.session_id]);
    expect(other.session_id).not.toBe(first.session_id);
    const [, inA, inB, backInA] = editor.requests();
    expect(saidBy("assistant", inA ?? [])).toEqual(["one"]);
    expect(saidBy("assistant", inB ?? [])).toEqual([]);
    expect(saidBy("assistant", backInA ?? [])).toEqual(["one", "two"]);
  });

  it("without a file is one, whether that is said or not, and none of any file (001-4)", async () => {
    const editor = await openEditor({ answers: Array.from({ length: 6 }, (_, at) => says(`${at}`)) });
    const ids = [];
    for (const file of [undefined, null, "", "null", "none", "undefined"]) {
      ids.push((await editor.chat("hi", file)).session_id);
    }
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(5);
  });

  it.each([[undefined], [null], [""], ["nonsense"], ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"], ["of the other file"]])(
    "is chosen by the file alone; the id is a UUID and stays: %j (001-5)",
    async (asked) => {
      const editor = await openEditor({ answers: [says("a"), says("b"), says("c")] });
      const a = await editor.chat("hi", "a.md");
      const b = await editor.chat("hi", "b.md");
      expect(a.session_id).toMatch(uuid);
      const session_id = asked === "of the other file" ? b.session_id : asked;
      const again = await editor.chat("again", "a.md", session_id === undefined ? {} : { session_id });
      expect(again.session_id).toBe(a.session_id);
      expect(saidBy("assistant", editor.lastRequest())).toEqual(["a"]);
    },
  );

  it("begins with the system prompt and the question; every question names its file (001-6)", async () => {
    const editor = await openEditor({ answers: [says("one"), says("two"), says("three"), says("four")] });
    await editor.chat("hello", "Notes/Ideen für Ann.md");
    expect(editor.lastRequest().map(({ role }) => role)).toEqual(["system", "user"]);
    await editor.chat("more", "Notes/Ideen für Ann.md");
    expect(saidBy("user", editor.lastRequest())).toEqual([
      open("Notes/Ideen für Ann.md", "hello"),
      open("Notes/Ideen für Ann.md", "more"),
    ]);
    await editor.chat("hello", null);
    expect(saidBy("user", editor.lastRequest())).toEqual(["hello"]);
    await editor.chat("hello", "");
    expect(saidBy("user", editor.lastRequest())).toEqual(["hello"]);
  });

  it("survives a restart, with the same id", async () => {
    const before = await openEditor({ answers: [says("one")] });
    const { session_id } = await before.chat("hello", "a.md");
    await before.stop();
    const after = await openEditor({ home: before.home, answers: [says("two")] });
    expect((await after.chat("again", "a.md")).session_id).toBe(session_id);
    expect(saidBy("assistant", after.lastRequest())).toEqual(["one"]);
  });

  it("may be about a file with any name", async () => {
    const names = ["../../../etc/passwd", "a\0b", `${"深い/".repeat(500)}x.md`, "C:\\Notes\\a.md", " ", "🦉.md", ".."];
    const editor = await openEditor({ answers: names.map(() => says("ok")) });
    for (const name of names) expect((await editor.chat("hi", name)).response).toBe("ok");
    expect(existsSync(join(dirname(editor.home), "etc"))).toBe(false);
  });

  it("knows the commands of every channel", async () => {
    const editor = await openEditor({ answers: [says("one"), says("two")] });
    await editor.chat("hello", "a.md");
    expect((await editor.chat("/help", "a.md")).response).toContain("/new");
    expect((await editor.chat("/status", "a.md")).response).toContain("Session: 2 messages");
    await editor.chat("/etc is a folder, isn't it?", "a.md");
    expect(saidBy("user", editor.lastRequest()).at(-1)).toBe(open("a.md", "/etc is a folder, isn't it?"));
  });
});

describe("the result of a tool", () => {
  it("of 4000 characters is shown whole, one more is cut, and characters are not code units (001-7, 001-22)", async () => {
    const notes = { a: "x".repeat(4000), b: "x".repeat(4001), c: "🦉".repeat(4000), d: "🦉".repeat(4001) };
    const editor = await openEditor({ notes, answers: [reads("a", "b", "c", "d"), says("done")] });
    await editor.chat("read them", "a.md");
    expect(saidBy("tool", editor.lastRequest())).toEqual([
      notes.a,
      `${notes.a}\n\n[truncated]`,
      notes.c,
      `${notes.c}\n\n[truncated]`,
    ]);
  });

  it("is a stub when the turn is over: tool, status, count and files in their order (001-9, 001-10)", async () => {
    const results = ["c", "a", "b", "a", "d"].map((name) => ({ source: `Notes/${name}.md`, text: "…" }));
    const notes = { found: JSON.stringify({ success: true, results }) };
    const editor = await openEditor({ notes, answers: [reads("found"), says("done")] });
    await editor.chat("search", "a.md");
    expect(editor.stubs("a.md")).toEqual([
      {
        tool: "read_file",
        status: "success",
        summary: "5 results",
        files: ["Notes/c.md", "Notes/a.md", "Notes/b.md", "Notes/d.md"],
      },
    ]);
  });

  it("that failed says so, and why (001-11)", async () => {
    const notes = { bad: JSON.stringify({ success: false, error: "the vault is locked" }) };
    const editor = await openEditor({ notes, answers: [reads("bad", "missing"), says("done")] });
    await editor.chat("search", "a.md");
    expect(editor.stubs("a.md")).toEqual([
      { tool: "read_file", status: "error", error: "the vault is locked" },
      { tool: "read_file", status: "error", error: expect.stringContaining("missing") },
    ]);
  });

  it("that is no JSON keeps its first 200 characters (001-12)", async () => {
    const notes = { a: "y".repeat(199), b: "y".repeat(200), c: "y".repeat(201) };
    const editor = await openEditor({ notes, answers: [reads("a", "b", "c"), says("done")] });
    await editor.chat("read", "a.md");
    expect(editor.stubs("a.md")).toEqual(
      [199, 200, 200].map((length) => ({ tool: "read_file", status: "success", summary: "y".repeat(length) })),
    );
  });

  it("has the name of its own call, with several in one message and ids that come again (001-13, 001-16)", async () => {
    const list = (id: string): Answer =>
      streams([
        delta(fragment(0, { id: "call_0", name: "list_dir", args: '{"path": "notes"}' })),
        delta(fragment(1, { id, name: "read_file", args: '{"path": "notes/a"}' })),
        delta({}, "tool_calls"),
        bill(1, 1),
      ]);
    const answers = [list("call_1"), says("done"), reads("a"), says("again"), says("last")];
    const editor = await openEditor({ notes: { a: "text" }, answers });
    await editor.chat("first", "a.md");
    await editor.chat("second", "a.md");
    expect(editor.stubs("a.md").map((stub) => (stub as { tool: string }).tool)).toEqual([
      "list_dir",
      "read_file",
      "read_file",
    ]);
    // The server refuses a history in which a call and its result do not belong together.
    await editor.chat("third", "a.md");
    const request = editor.lastRequest();
    const called = request.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(new Set(called).size).toBe(3);
    expect(request.filter(({ role }) => role === "tool")).toHaveLength(3);
  });

  it("stays the same byte for byte, whether the turns after it succeed or fail (001-14)", async () => {
    const notes = { a: JSON.stringify({ results: [{ source: "x.md" }] }) };
    const refused = fails(400, { message: "no" });
    const answers = [reads("a"), says("done"), says("two"), refused, reads("a"), refused, says("three")];
    const editor = await openEditor({ notes, answers });
    await editor.chat("one", "a.md");
    const stored = editor.bytes("a.md").subarray(editor.bytes("a.md").indexOf(0x0a));
    await editor.chat("two", "a.md");
    expect((await editor.post({ message: "fails", active_file: "a.md" })).status).toBe(500);
    expect((await editor.post({ message: "fails later", active_file: "a.md" })).status).toBe(500);
    await editor.chat("three", "a.md");
    const now = editor.bytes("a.md").subarray(editor.bytes("a.md").indexOf(0x0a));
    expect(now.subarray(0, stored.length).equals(stored)).toBe(true);
    expect(editor.rows("a.md").find(({ role }) => role === "tool")).toMatchObject({ _compacted: true });
  });

  it("brings its mark into no request (001-15)", async () => {
    const answers = [reads("a"), says("one"), reads("a"), reads("a"), says("two"), says("three")];
    const editor = await openEditor({ notes: { a: "text" }, answers });
    for (const message of ["one", "two", "three"]) await editor.chat(message, "a.md");
    expect(editor.requests()).toHaveLength(6);
    expect(JSON.stringify(editor.model.heard.map(({ body }) => body))).not.toContain("_compacted");
  });

  it("is summed up from all of it, though the model saw the beginning only (001-17)", async () => {
    const results = Array.from({ length: 200 }, (_, at) => ({ source: `Notes/${at}.md`, text: "words ".repeat(10) }));
    const notes = { many: JSON.stringify({ results }) };
    const editor = await openEditor({ notes, answers: [reads("many"), says("done")] });
    await editor.chat("search", "a.md");
    expect(saidBy("tool", editor.lastRequest())[0]).toMatch(/\[truncated\]$/);
    expect(editor.stubs("a.md")).toEqual([
      expect.objectContaining({ summary: "200 results", files: results.map(({ source }) => source) }),
    ]);
  });

  it.each(["42", "null", '"success story"', "[1,2]", "{}", "true", "", "\ufeff{}"])(
    "may be anything, the answer is delivered: %j (001-18)",
    async (result) => {
      const editor = await openEditor({ notes: { odd: result }, answers: [reads("odd"), says("done"), says("more")] });
      expect((await editor.chat("read", "a.md")).response).toBe("done");
      expect((await editor.chat("again", "a.md")).response).toBe("more");
      expect(editor.stubs("a.md")).toHaveLength(1);
    },
  );

  it("without an id, in a file that somebody else wrote, does no harm (001-18)", async () => {
    const before = await openEditor({ answers: [says("one")] });
    await before.chat("hi", "a.md");
    const file = join(before.workspace, "sessions", "file_a.md.jsonl");
    writeFileSync(file, `${readFileSync(file, "utf8")}{"role": "tool", "content": "42"}\n`);
    before.model.next(says("two"));
    expect((await before.chat("again", "a.md")).response).toBe("two");
  });

  it("is shown whole as long as its turn lasts, and as a stub from the next question on (001-19)", async () => {
    const notes = { a: "a".repeat(1000), b: "b".repeat(1000) };
    const editor = await openEditor({ notes, answers: [reads("a"), reads("b"), says("done"), says("next")] });
    await editor.chat("read both", "a.md");
    expect(editor.requests().map((messages) => saidBy("tool", messages))).toEqual([[], [notes.a], [notes.a, notes.b]]);
    await editor.chat("next", "a.md");
    for (const content of saidBy("tool", editor.lastRequest())) {
      expect(JSON.parse(content)).toMatchObject({ tool: "read_file", status: "success" });
    }
  });
});

describe("a turn", () => {
  it("that never ends is ended after exactly 10 calls of the model, and says so (001-8)", async () => {
    const answers = Array.from({ length: 20 }, (_, at) => readsAs([{ path: "a", id: "call_0" }], `step ${at + 1}`));
    const editor = await openEditor({ notes: { a: "text" }, answers });
    expect((await editor.chat("loop", "a.md")).response).toBe("step 10\n\n[Tool call limit reached]");
    expect(editor.requests()).toHaveLength(10);
    expect(editor.bytes("a.md").includes("limit reached")).toBe(false);
  });

  it("that never says a word and never ends has only that to say (001-8)", async () => {
    const editor = await openEditor({ notes: { a: "x" }, answers: Array.from({ length: 20 }, () => reads("a")) });
    expect((await editor.chat("loop", "a.md")).response).toBe("\n\n[Tool call limit reached]");
    expect(editor.requests()).toHaveLength(10);
  });

  it("may take more steps elsewhere: the limit is the editor's", async () => {
    const answers = [...Array.from({ length: 12 }, () => reads("a")), says("done")];
    const editor = await openEditor({ notes: { a: "x" }, answers });
    const response = await fetch(`${editor.url}/api/turns`, {
      method: "POST",
      body: JSON.stringify({ session: "web:1", text: "loop" }),
    });
    await response.text();
    expect(editor.requests()).toHaveLength(13);
  });

  it("that fails leaves the conversation as it was, says nothing of the inside, and can be asked again (001-20, 001-23)", async () => {
    const secret = "no such key sk-123 in /etc/secrets";
    const answers = [says("one"), reads("a"), reads("a"), fails(401, { message: secret }), says("two")];
    const editor = await openEditor({ notes: { a: "x" }, answers });
    await editor.chat("one", "a.md");
    const before = editor.bytes("a.md");
    const failed = await editor.post({ message: "two", active_file: "a.md" });
    expect(failed.status).toBe(500);
    expect(await failed.json()).toEqual({
      error: "Something went wrong here, and nothing of it was stored. Please try again.",
    });
    expect(editor.bytes("a.md").equals(before)).toBe(true);
    expect((await editor.chat("two", "a.md")).response).toBe("two");
    expect(editor.rows("a.md")).toHaveLength(4);
  });

  it("that fails as the first of its file leaves none behind (001-20)", async () => {
    const editor = await openEditor({ answers: [fails(400, { message: "no" })] });
    expect((await editor.post({ message: "one", active_file: "a.md" })).status).toBe(500);
    expect(() => editor.bytes("a.md")).toThrow("ENOENT");
  });

  it("waits for the one before it in the same file, and for none of another (001-21)", async () => {
    const steps: string[] = [];
    const gates = { a: gate(), b: gate() };
    const all = gate();
    const hold = async (...[response, heard]: Parameters<Answer>): Promise<void> => {
      const { content } = (heard.body["messages"] as Message[]).at(-1) ?? {};
      const [, name = "", number = ""] = /([ab]) (\d)$/.exec(String(content)) ?? [];
      steps.push(`enter ${name}${number}`);
      if (steps.includes("enter a1") && steps.includes("enter b1")) all.open();
      await gates[name as "a" | "b"].wait;
      steps.push(`exit ${name}${number}`);
      says("ok")(response, heard);
    };
    const held: Answer = (...request) => void hold(...request);
    const editor = await openEditor({ answers: [held, held, held, held] });
    const ask = (name: string, number: number): Promise<Reply> => editor.chat(`${name} ${number}`, `${name}.md`);
    const replies = [ask("a", 1), ask("b", 1), ask("a", 2), ask("b", 2)];
    await all.wait;
    expect(new Set(steps)).toEqual(new Set(["enter a1", "enter b1"]));
    gates.a.open();
    gates.b.open();
    await Promise.all(replies);
    const of = (name: string): string[] =>
      steps.filter((step) => step.includes(` ${name}`)).map((step) => step.split(" ")[0] ?? "");
    expect(of("a")).toEqual(["enter", "exit", "enter", "exit"]);
    expect(of("b")).toEqual(["enter", "exit", "enter", "exit"]);
  });

  it.each([
    ["not json"],
    ["[]"],
    [{}],
    [{ message: "" }],
    [{ message: 1 }],
    [{ message: "x", active_file: 5 }],
    [{ message: "\ud800" }],
  ])("is not begun by %j", async (body) => {
    const editor = await openEditor();
    const response = await fetch(`${editor.url}/chat`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    expect([response.status, await response.json()]).toEqual([400, { error: "Send {message, active_file}." }]);
  });
});

describe("POST /chat/stream (001-23)", () => {
  const stream = async (editor: Awaited<ReturnType<typeof openEditor>>, body: object): Promise<Row[]> => {
    const response = await fetch(`${editor.url}/chat/stream`, { method: "POST", body: JSON.stringify(body) });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const events: Row[] = [];
    for await (const event of eventsOf(response)) events.push(event);
    return events;
  };

  it("tells tools, pieces and the whole answer, of the same conversation as /chat, and ends with the id", async () => {
    const answers = [says("before"), readsAs([{ path: "a", id: "c" }], "Let me look."), says("all", " done")];
    const editor = await openEditor({ notes: { a: "text" }, answers });
    const { session_id } = await editor.chat("hi", "a.md");
    expect(await stream(editor, { message: "look", active_file: "a.md" })).toEqual([
      { type: "delta", text: "Let me look." },
      { type: "delta", text: "\n\n" },
      { type: "tool_call", tool: "read_file", arguments: { path: "notes/a" } },
      { type: "tool_result", tool: "read_file", result: "text" },
      { type: "delta", text: "all" },
      { type: "delta", text: " done" },
      { type: "response", response: "all done" },
      { type: "done", session_id },
    ]);
    expect(saidBy("assistant", editor.lastRequest())[0]).toBe("before");
  });

  it("tells of a failure, and ends with the id all the same", async () => {
    const editor = await openEditor({ answers: [fails(400, { message: "secret" })] });
    expect(await stream(editor, { message: "hi" })).toEqual([
      { type: "error", error: expect.not.stringContaining("secret") },
      { type: "done", session_id: expect.stringMatching(uuid) },
    ]);
  });

  it("is answered to its end when the editor has gone", async () => {
    const rest = gate();
    const slow: Answer = (response, heard) => void rest.wait.then(() => says("late")(response, heard));
    const editor = await openEditor({ answers: [slow] });
    const leaving = new AbortController();
    const body = JSON.stringify({ message: "hi", active_file: "a.md" });
    await fetch(`${editor.url}/chat/stream`, { method: "POST", body, signal: leaving.signal });
    leaving.abort();
    rest.open();
    await expect.poll(() => existsSync(join(editor.workspace, "sessions", "file_a.md.jsonl"))).toBe(true);
    expect(editor.rows("a.md").at(-1)).toMatchObject({ role: "assistant", content: "late" });
  });
});
