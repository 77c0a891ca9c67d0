/** `nanogate memory`: what is remembered can be looked at, and every change of it taken back. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { createMemoryFolders } from "../../src/agent/memory-folders.js";
import { workspaceFence } from "../../src/agent/workspace.js";
import { main } from "../../src/cli/main.js";
import { openSessions } from "../../src/session/open.js";
import { lineDiff } from "../../src/util/line-diff.js";
import { handClock, temporaryFolder } from "../support/workspace.js";

/** A home with a memory that consolidations of these chats have changed, one after the other. */
async function openHome(
  changes: readonly (readonly [chat: string, memory: string])[],
  scope: "workspace" | "chat" = "workspace",
) {
  const home = temporaryFolder();
  const workspace = join(home, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(home, "nanogate.json"), JSON.stringify({ memory: { scope } }));
  const log = { warn: () => {} };
  const clock = handClock("2026-06-30T12:34:56");
  const sessions = openSessions({ workspace, clock, log });
  const fence = workspaceFence({ home, workspace });
  const folders = createMemoryFolders({ home, workspace, scope, fence, sessions, clock, log });
  for (const [chat, to] of changes) {
    const files = folders.of(chat);
    const by = { kind: "session", key: chat, cursor: 0 } as const;
    await files.commit({ by, entry: "e", memory: { from: await files.memory(), to } });
  }
  folders.close();
  await sessions.close();
  const memoryFile = join(workspace, "memory", "MEMORY.md");
  /** Runs a command; what it printed and how it ended. */
  const run = async (args: string, isTerminal = false) => {
    const printed = { out: "", err: "" };
    const code = await main(["--home", home, "memory", ...args.split(" ")], {
      out: (text) => void (printed.out += `${text}\n`),
      err: (text) => void (printed.err += text),
      outIsTerminal: isTerminal,
      errIsTerminal: isTerminal,
      columns: 80,
    });
    return { ...printed, code };
  };
  return { home, workspace, run, memoryFile, memory: () => readFileSync(memoryFile, "utf8") };
}
const twice = [
  ["telegram:1", "# Memory\n- Ann likes tea\n"],
  ["discord:2", "# Memory\n- Ann likes coffee\n- Bob is six\n"],
] as const;

describe("memory show", () => {
  it("prints MEMORY.md", async () => {
    const { run, memory } = await openHome(twice);
    expect(await run("show")).toEqual({ out: memory(), err: "", code: 0 });
  });

  it("prints JSON for scripts", async () => {
    const { run, memory, memoryFile } = await openHome(twice);
    expect(JSON.parse((await run("show --json")).out)).toEqual({ path: memoryFile, memory: memory() });
  });

  it("says so when there is nothing, and creates nothing", async () => {
    const { run, memoryFile } = await openHome([]);
    expect(await run("show")).toEqual({ out: "Nothing is remembered yet.\n", err: "", code: 0 });
    expect(existsSync(memoryFile)).toBe(false);
  });

  it("lets no control character through to the terminal", async () => {
    const { run } = await openHome([["a:b", "- \u001b]0;owned\u0007\n"]]);
    expect((await run("show")).out).toBe("- \ufffd]0;owned\ufffd\n");
  });

  it("does not follow a link out of the workspace", async () => {
    const { run, memoryFile } = await openHome(twice);
    rmSync(memoryFile);
    symlinkSync("/etc/passwd", memoryFile);
    const { out, err, code } = await run("show");
    expect([out, code]).toEqual(["", 1]);
    expect(err).toContain("outside");
  });
});

describe("memory log", () => {
  it("lists the changes, the newest first, with what they added and removed", async () => {
    const { run } = await openHome(twice);
    const { out, code } = await run("log");
    expect(code).toBe(0);
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ["ID", "TIME", "BY", "LINES"],
      ["2", "2026-06-30 12:34", "discord:2", "+2 −1"],
      ["1", "2026-06-30 12:34", "telegram:1", "+2 −0"],
    ]);
    expect(JSON.parse((await run("log --json")).out)).toEqual([
      { id: 2, time: "2026-06-30T12:34:56", by: "discord:2", added: 2, removed: 1 },
      { id: 1, time: "2026-06-30T12:34:56", by: "telegram:1", added: 2, removed: 0 },
    ]);
  });

  it("says so when there are none", async () => {
    const { run } = await openHome([]);
    expect(await run("log")).toEqual({ out: "No changes yet.\n", err: "", code: 0 });
    expect((await run("log --json")).out).toBe("[]\n");
  });
});

describe("memory diff", () => {
  it("shows what the last change did, or any other", async () => {
    const { run } = await openHome(twice);
    expect((await run("diff")).out).toBe(
      "change 2, 2026-06-30 12:34, by discord:2\n  # Memory\n- - Ann likes tea\n+ - Ann likes coffee\n+ - Bob is six\n",
    );
    expect((await run("diff 1")).out).toBe(
      "change 1, 2026-06-30 12:34, by telegram:1\n+ # Memory\n+ - Ann likes tea\n",
    );
    expect(JSON.parse((await run("diff 1 --json")).out)).toMatchObject({
      id: 1,
      before: "",
      diff: [
        { kind: "added", text: "# Memory" },
        { kind: "added", text: "- Ann likes tea" },
      ],
    });
  });

  it("shows a little of what is around, not all of it", async () => {
    const lines = Array.from({ length: 20 }, (_, at) => `- fact ${at}\n`);
    const { run } = await openHome([
      ["a:b", lines.join("")],
      ["a:b", lines.with(10, "- new\n").join("")],
    ]);
    expect((await run("diff")).out.trimEnd().split("\n").slice(1)).toEqual([
      "  - fact 8",
      "  - fact 9",
      "- - fact 10",
      "+ - new",
      "  - fact 11",
      "  - fact 12",
      "…",
    ]);
  });

  it("is coloured where a person looks, and only there", async () => {
    const { run } = await openHome(twice);
    const [plain, coloured] = [(await run("diff")).out, (await run("diff", true)).out];
    expect(stripVTControlCharacters(plain)).toBe(plain);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
    expect(coloured).not.toBe(plain);
  });

  it.each(["diff 7", "diff x"])("%s: there is no such change", async (command) => {
    const { run } = await openHome(twice);
    expect(await run(command)).toMatchObject({
      out: "",
      code: 4,
      err: expect.stringContaining("memory log") as string,
    });
  });
});

describe("memory undo", () => {
  it("brings back the text before the last change, as a change that can itself be undone", async () => {
    const { run, memory } = await openHome(twice);
    expect(await run("undo")).toMatchObject({ code: 0, out: expect.stringContaining("Change 2") as string });
    expect(memory()).toBe(twice[0][1]);
    expect((await run("log")).out).toContain("undo");
    expect(JSON.parse((await run("undo --json")).out)).toEqual({ undone: 3, change: 4 });
    expect(memory()).toBe(twice[1][1]);
  });

  it("takes back also what somebody wrote by hand, or a tool, for that is a change like any other", async () => {
    const { run, memory, memoryFile } = await openHome(twice);
    writeFileSync(memoryFile, "by hand\n");
    expect((await run("log")).out).toContain("edit");
    await run("undo");
    expect(memory()).toBe(twice[1][1]);
    await run("undo");
    expect(memory()).toBe("by hand\n");
  });

  it("writes nothing into the log of what happened", async () => {
    const { run, workspace } = await openHome(twice);
    await run("undo");
    expect(readFileSync(join(workspace, "memory", "HISTORY.md"), "utf8")).toBe("e\n\ne\n\n");
  });

  it("has nothing to do where nothing has changed: what was there from the beginning stays", async () => {
    const { run, workspace, memory } = await openHome([]);
    mkdirSync(join(workspace, "memory"));
    writeFileSync(join(workspace, "memory", "MEMORY.md"), "from nanobot\n");
    for (let times = 0; times < 2; times++) expect(await run("undo")).toMatchObject({ out: "", code: 4 });
    expect(memory()).toBe("from nanobot\n");
  });
});

describe("where each chat has a memory of its own", () => {
  it("--session says whose", async () => {
    const { run } = await openHome(twice, "chat");
    expect((await run("show --session telegram:1")).out).toBe(twice[0][1]);
    expect((await run("show --session discord:2")).out).toBe(twice[1][1]);
    await run("undo --session telegram:1");
    expect((await run("show --session telegram:1")).out).toBe("Nothing is remembered yet.\n");
    expect((await run("show --session discord:2")).out).toBe(twice[1][1]);
  });

  it("it has to be said", async () => {
    const { run } = await openHome(twice, "chat");
    expect(await run("show")).toMatchObject({ out: "", code: 1, err: expect.stringContaining("--session") as string });
  });
});

describe("a wrong command", () => {
  it.each(["forget", "show --colour", "diff 1 2"])("memory %s is refused with exit code 2", async (command) => {
    const { run } = await openHome(twice);
    expect(await run(command)).toMatchObject({ out: "", code: 2 });
  });
});

describe("a line diff", () => {
  const applied = (diff: ReturnType<typeof lineDiff>, without: "added" | "removed"): string[] =>
    diff.filter(({ kind }) => kind !== without).map(({ text }) => text);

  it.each([
    ["", "a"],
    ["a", ""],
    ["", ""],
    ["a\nb\nc", "a\nc"],
    ["a\nb\nc\n", "c\nb\na"],
    ["x\nx\nx", "x\nx"],
    [`${"a\n".repeat(3000)}b`, `c\n${"a\n".repeat(2999)}`],
    [Array.from({ length: 3000 }, (_, at) => at).join("\n"), Array.from({ length: 3000 }, (_, at) => -at).join("\n")],
  ])("tells both texts", (before, after) => {
    const lines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
    const diff = lineDiff(before, after);
    expect(applied(diff, "added")).toEqual(lines(before));
    expect(applied(diff, "removed")).toEqual(lines(after));
  });
});
