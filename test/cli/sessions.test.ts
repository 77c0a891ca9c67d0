import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../src/cli/main.js";
import { openSessions } from "../../src/session/open.js";
import { openHome, runMain } from "../support/cli.js";

const timestamp = "2026-02-24T16:24:47.000120";

/** A home with conversations: their keys and what was said. */
async function homeWith(chats: Readonly<Record<string, readonly string[]>>) {
  const home = openHome();
  const workspace = join(home, "workspace");
  const sessions = openSessions({ workspace, clock: () => timestamp });
  for (const [key, texts] of Object.entries(chats)) {
    const session = await sessions.getOrCreate(key);
    for (const content of texts) session.addRows([{ role: "user", content, timestamp }]);
    await sessions.save(session);
  }
  await sessions.close();
  const folder = join(workspace, "sessions");
  return { home, workspace, folder, run: (...args: string[]) => runMain(["sessions", ...args, "--home", home]) };
}

describe("sessions list", () => {
  it("shows keys, times and places, without colours where nobody looks", async () => {
    const { run } = await homeWith({ "telegram:1": ["a"], "matrix:!r:x.org": ["b"] });
    const { code, out } = await run("list");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.split(/\s{2,}/))).toEqual([
      ["KEY", "UPDATED", "WHERE"],
      expect.arrayContaining(["2026-02-24 16:24:47"]),
      expect.arrayContaining(["2026-02-24 16:24:47"]),
      [""],
    ]);
    expect(out).not.toContain("\u001b");
  });

  it("shows colours, and cuts long lines, in a terminal", async () => {
    const { home } = await homeWith({ [`telegram:${"9".repeat(60)}`]: ["a"] });
    const { out } = await runMain(["sessions", "list", "--home", home], { terminal: true });
    expect(out).toContain("\u001b[1mKEY");
    expect(
      Math.max(
        ...out
          .split("\n")
          .slice(1)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(60);
  });

  it("is JSON for scripts", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a"] });
    expect(JSON.parse((await run("list", "--json")).out)).toEqual([
      { key: "telegram:1", created_at: timestamp, updated_at: timestamp, path: join(folder, "telegram_1.jsonl") },
    ]);
  });

  it("says so when there are none", async () => {
    const { run } = await homeWith({});
    expect((await run("list")).out).toMatch(/^No sessions in .*sessions yet\.\n$/);
  });

  it("does not let a key write to the terminal", async () => {
    const { run } = await homeWith({ "x:\u001b[2Jevil\u0007": ["a"] });
    const { out } = await run("list");
    expect(out).toContain("x:\\x1b[2Jevil\\x07");
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });
});

describe("sessions show", () => {
  it("prints the newest rows, and how many there are before them", async () => {
    const { run } = await homeWith({ "telegram:1": ["one", "two", "three"] });
    const { out } = await run("show", "telegram:1", "-n", "2");
    expect(out.split("\n")).toEqual([
      `telegram:1  3 rows, 0 consolidated, created ${timestamp}, updated ${timestamp}`,
      "… 1 earlier rows",
      "2026-02-24 16:24 user: two",
      "2026-02-24 16:24 user: three",
      "",
    ]);
  });

  it("is JSON for scripts", async () => {
    const { run } = await homeWith({ "telegram:1": ["ü"] });
    expect(JSON.parse((await run("show", "telegram:1", "--json")).out)).toMatchObject({
      key: "telegram:1",
      last_consolidated: 0,
      metadata: {},
      length: 1,
      rows: [{ role: "user", content: "ü", timestamp }],
    });
  });

  it("does not let a message write to the terminal, but keeps its lines", async () => {
    const { run } = await homeWith({ "telegram:1": ["a\n\u001b]0;title\u0007b\r\u009b2J"] });
    const { out } = await run("show", "telegram:1");
    expect(out).toContain("user: a\n\\x1b]0;title\\x07b\\x0d\\x9b2J\n");
  });

  it.each(["0", "-1", "many", "1.5"])("refuses %s rows", async (count) => {
    const { run } = await homeWith({ "telegram:1": ["a"] });
    const { code, err } = await run("show", "telegram:1", `--rows=${count}`);
    expect([code, err]).toEqual([2, expect.stringContaining("--rows must be a whole number above 0")]);
  });

  it("of a session that is not there ends with 4 and a guess", async () => {
    const { run } = await homeWith({ "telegram:12345": ["a"] });
    expect(await run("show", "12345")).toEqual({
      code: 4,
      out: "",
      err: 'nanogate: There is no session "12345".\n  → Did you mean telegram:12345?\n',
    });
    expect((await run("show", "nobody")).err).toContain("`nanogate sessions list` shows all keys.");
  });
});

describe("sessions path", () => {
  it("says where a conversation lies, or would lie", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a"] });
    expect((await run("path", "telegram:1")).out).toBe(`${join(folder, "telegram_1.jsonl")}\n`);
    expect(JSON.parse((await run("path", "telegram:2", "--json")).out)).toEqual({
      key: "telegram:2",
      path: join(folder, "telegram_2.jsonl"),
      exists: false,
    });
  });
});

describe("sessions export", () => {
  it("prints the very lines of the file", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["one ü", "two\n"] });
    const { out } = await run("export", "telegram:1");
    expect(out).toBe(readFileSync(join(folder, "telegram_1.jsonl"), "utf8"));
  });

  it("is one document with --json", async () => {
    const { run } = await homeWith({ "telegram:1": ["one"] });
    expect(JSON.parse((await run("export", "telegram:1", "--json")).out)).toMatchObject({
      length: 1,
      rows: [{ content: "one" }],
    });
  });

  it("of a session that is not there ends with 4", async () => {
    const { run } = await homeWith({});
    expect((await run("export", "x:y")).code).toBe(4);
  });
});

describe("sessions verify", () => {
  it("finds nothing wrong with whole files", async () => {
    const { run } = await homeWith({ "telegram:1": ["a", "b"], "telegram:2": ["c"] });
    expect(await run("verify")).toEqual({ code: 0, out: "2 sessions, 3 rows: all whole.\n", err: "" });
  });

  it("names file and line of each damage and ends with 3", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a", "b"], "telegram:2": ["c"] });
    appendFileSync(join(folder, "telegram_1.jsonl"), '{"role": "user", "cont');
    const { code, out } = await run("verify");
    expect(code).toBe(3);
    expect(out).toMatch(
      /^damaged {2}sessions\/telegram_1\.jsonl:4 {2}\S.*\n2 sessions, 3 rows: 1 damaged\. `--repair`/,
    );
  });

  it("tells scripts line by line, with a summary at the end", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a"] });
    appendFileSync(join(folder, "telegram_1.jsonl"), "rubbish\n");
    const [damaged, summary] = (await run("verify", "--json")).out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(damaged).toMatchObject({
      key: "telegram:1",
      rows: 1,
      damage: [{ file: join(folder, "telegram_1.jsonl"), line: 3 }],
    });
    expect(summary).toEqual({ summary: { sessions: 1, rows: 1, damaged: 1, repaired: 0 } });
  });

  it("repairs on request, keeps the original, and then ends with 0", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a"] });
    appendFileSync(join(folder, "telegram_1.jsonl"), "rubbish\n");
    const repaired = await run("verify", "--repair");
    expect(repaired.code).toBe(0);
    expect(repaired.out).toContain("repaired the original is kept as telegram_1.jsonl.damaged-");
    expect((await run("verify")).code).toBe(0);
    const [kept = ""] = readdirSync(folder).filter((name) => name.includes(".damaged-"));
    expect(readFileSync(join(folder, kept), "utf8")).toContain("rubbish");
  });

  it("tells of a damage before it has read all the rest", async () => {
    const { home, folder } = await homeWith(
      Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`a:${10 + at}`, ["x"]])),
    );
    appendFileSync(join(folder, "a_10.jsonl"), "rubbish\n");
    writeFileSync(join(folder, "a_59.jsonl"), "");
    const events: string[] = [];
    await main(["sessions", "verify", "--home", home], {
      out: (text) => void events.push(text.includes("damaged  ") ? "damage" : "verdict"),
      err: (text) => void (/(\d+)\/\d+/.exec(text) && events.push("progress")),
      outIsTerminal: false,
      errIsTerminal: true,
      columns: 80,
    });
    expect(events.indexOf("damage")).toBeLessThan(events.lastIndexOf("progress"));
    expect(events.at(-1)).toBe("verdict");
  });
});

describe("sessions convert", () => {
  it.each(["chunked", "document"])("moves everything to %s and back, byte for byte", async (driver) => {
    const { run, home, folder } = await homeWith({ "telegram:1": ["a", "b ü"], "x:y": [] });
    const before = (await run("export", "telegram:1")).out;
    const { code, out } = await run("convert", "--to", driver);
    expect([code, out.split("\n")[0]]).toEqual([
      0,
      expect.stringMatching(`^Converted \\d conversations from jsonl to ${driver}`),
    ]);
    expect(JSON.parse(readFileSync(join(home, "nanogate.json"), "utf8"))).toEqual({ sessions: { driver } });
    expect(existsSync(join(folder, "telegram_1.jsonl"))).toBe(false);
    expect((await run("export", "telegram:1")).out).toBe(before);
    expect((await run("convert", "--to", "jsonl", "--json")).code).toBe(0);
    expect(readFileSync(join(folder, "telegram_1.jsonl"), "utf8")).toBe(before);
  });

  it("moves a conversation too whose header is lost", async () => {
    const { run, folder } = await homeWith({ "telegram:1": ["a"], "telegram:2": ["b"] });
    const lines = readFileSync(join(folder, "telegram_2.jsonl"), "utf8").split("\n");
    writeFileSync(join(folder, "telegram_2.jsonl"), lines.slice(1).join("\n"));
    expect((await run("convert", "--to", "chunked")).out).toContain("Converted 2 conversations");
    expect((await run("export", "telegram:2")).out).toContain('"content": "b"');
  });

  it("of no conversations at all is no failure", async () => {
    expect(await runMain(["sessions", "convert", "--to", "chunked", "--home", openHome()])).toMatchObject({ code: 0 });
  });

  it("to the driver that is there already is refused", async () => {
    const { run } = await homeWith({ "telegram:1": ["a"] });
    expect(await run("convert", "--to", "jsonl")).toMatchObject({
      code: 1,
      err: expect.stringContaining("kept by jsonl already"),
    });
  });

  it("stops where both sides differ, and nothing is lost", async () => {
    const { run, home, folder } = await homeWith({ "telegram:1": ["a"] });
    await run("convert", "--to", "chunked");
    writeFileSync(join(home, "nanogate.json"), "{}");
    const sessions = openSessions({ workspace: join(home, "workspace"), clock: () => timestamp });
    const session = await sessions.getOrCreate("telegram:1");
    session.addMessage("user", "other");
    await sessions.save(session);
    await sessions.close();
    const { code, err } = await run("convert", "--to", "chunked");
    expect([code, err]).toEqual([1, expect.stringContaining("telegram:1 exists on both sides and differs.")]);
    expect(readFileSync(join(folder, "telegram_1.jsonl"), "utf8")).toContain("other");
  });
});

describe("usage", () => {
  it.each([
    ["a command nobody knows", ["sesions"], "Did you mean sessions?"],
    ["a sub-command nobody knows", ["sessions", "lst"], "Did you mean list?"],
    ["a driver nobody knows", ["sessions", "list", "--driver", "x"], "Allowed choices are jsonl"],
    ["a missing key", ["sessions", "show"], "missing required argument 'key'"],
    ["a missing driver", ["sessions", "convert"], "required option '--to <driver>' not specified"],
  ])("%s ends with 2 and a hint", async (_, args, hint) => {
    const { code, err } = await runMain(args);
    expect([code, err]).toEqual([2, expect.stringContaining(hint)]);
  });

  it("help and version end with 0", async () => {
    expect(await runMain(["--help"])).toMatchObject({ code: 0, out: expect.stringContaining("sessions") });
    expect((await runMain(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("a workspace can be named, and need not exist", async () => {
    const { workspace } = await homeWith({ "telegram:1": ["a"] });
    const home = openHome();
    expect((await runMain(["sessions", "list", "--home", home, "--workspace", workspace])).out).toContain("telegram:1");
    expect((await runMain(["sessions", "list", "--home", join(home, "none")])).code).toBe(0);
    expect(existsSync(join(home, "none"))).toBe(false);
  });

  it("a wrong configuration is told, and ends with 1", async () => {
    const home = openHome({ sessions: { driver: "floppy" } });
    mkdirSync(join(home, "workspace"));
    const { code, err } = await runMain(["sessions", "list", "--home", home]);
    expect([code, err]).toEqual([1, expect.stringContaining('sessions.driver is "floppy", which nobody knows.')]);
  });
});
