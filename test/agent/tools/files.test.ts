/** The four file tools, as a model meets them. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { editFileTool } from "../../../src/agent/tools/edit-file.js";
import { listDirTool } from "../../../src/agent/tools/list-dir.js";
import { readFileTool } from "../../../src/agent/tools/read-file.js";
import { errorAdvice } from "../../../src/agent/tools/tool.js";
import { writeFileTool } from "../../../src/agent/tools/write-file.js";
import { call, openBench } from "./bench-of-tools.js";

describe("read_file", () => {
  it("shows a file as it is", async () => {
    const bench = openBench();
    bench.put("a.txt", "\ufeffone\r\ntwo ✓");
    expect(await call(readFileTool(bench.fence), { path: "a.txt" })).toBe("\ufeffone\r\ntwo ✓");
  });

  it("shows a portion and says how to read on", async () => {
    const bench = openBench();
    const read = readFileTool(bench.fence);
    bench.put("a.txt", "1\n2\n3\n4\n5\n");
    expect(await call(read, { path: "a.txt", offset: "2", limit: 2 })).toBe(
      "2\n3\n\n(lines 2-3; read on with offset=4)",
    );
    expect(await call(read, { path: "a.txt", offset: 4 })).toBe("4\n5\n\n(lines 4-5, end of file)");
    expect(await call(read, { path: "a.txt", offset: 9 })).toBe("(a.txt has 5 lines, none from line 9 on)");
    expect(await call(read, { path: "a.txt", offset: 0 })).toContain("Invalid parameters");
  });

  it("refuses a large file as a whole, and reads it in portions without loading it", async () => {
    const bench = openBench();
    const read = readFileTool(bench.fence);
    bench.put("big.txt", "0123456789abcde\n".repeat(40_000));
    expect(await call(read, { path: "big.txt" })).toContain(
      "Error: File too large (640,000 bytes). Read it in portions with offset and limit",
    );
    expect(await call(read, { path: "big.txt", offset: 39_999, limit: 5 })).toContain(
      "(lines 39999-40000, end of file)",
    );
    bench.put("wide.txt", "é".repeat(200_000));
    const cut = await call(read, { path: "wide.txt" });
    expect(cut).toContain("... (truncated — file is 200,000 chars, limit 128,000; read on with offset=1)");
    expect((await call(read, { path: "wide.txt", offset: 1 })).length).toBeLessThan(129_000);
  });

  it("does not follow a file that is nothing but size", async () => {
    const bench = openBench();
    truncateSync(bench.put("hole", "x\n"), 2 ** 40);
    expect(await call(readFileTool(bench.fence), { path: "hole" })).toContain("binary file");
    expect(await call(readFileTool(bench.fence), { path: "hole", offset: 10 })).toContain("binary file");
  });

  it.each([
    ["with a NUL", Buffer.from("PK\u0003\u0004\0\0")],
    ["that is no UTF-8", Buffer.from([0x66, 0xff, 0xfe, 0x6f])],
    ["cut in a character", Buffer.from("é").subarray(0, 1)],
  ])("says that a file %s is binary", async (_, bytes) => {
    const bench = openBench();
    bench.put("a.bin", bytes);
    expect(await call(readFileTool(bench.fence), { path: "a.bin" })).toMatch(/^Error: a\.bin is a binary file/);
    expect(await call(readFileTool(bench.fence), { path: "a.bin", offset: 1 })).toMatch(
      /^Error: a\.bin is a binary file/,
    );
  });

  it("does not wait for a pipe nobody writes to", async () => {
    const bench = openBench();
    execFileSync("mkfifo", [bench.at("pipe")]);
    expect(await call(readFileTool(bench.fence), { path: "pipe" })).toContain("Not a file: pipe");
  });

  it("tells the model what it can do about an error", async () => {
    const bench = openBench();
    expect(await call(readFileTool(bench.fence), { path: "none" })).toBe(
      `Error: No such file or folder: none${errorAdvice}`,
    );
    expect(await call(readFileTool(bench.fence), { path: "sessions/telegram_42.jsonl" })).toContain("out of reach");
    expect(await call(readFileTool(bench.fence), {})).toContain("path: Invalid input: expected string");
  });
});

describe("write_file", () => {
  it("writes, creating folders, and leaves nothing else behind", async () => {
    const bench = openBench();
    expect(await call(writeFileTool(bench.fence), { path: "a/b.txt", content: "é" })).toBe(
      `Successfully wrote 2 bytes to ${bench.at("a/b.txt")}`,
    );
    expect(readdirSync(bench.at("a"))).toEqual(["b.txt"]);
  });

  it("keeps the permissions of what it replaces", async () => {
    const bench = openBench();
    chmodSync(bench.put("run.sh", "old"), 0o750);
    await call(writeFileTool(bench.fence), { path: "run.sh", content: "new" });
    expect(readFileSync(bench.at("run.sh"), "utf8")).toBe("new");
    expect(statSync(bench.at("run.sh")).mode & 0o777).toBe(0o750);
  });

  it("takes an object for the text it means", async () => {
    const bench = openBench();
    await call(writeFileTool(bench.fence), { path: "a.json", content: { a: 1 } });
    expect(readFileSync(bench.at("a.json"), "utf8")).toBe('{"a":1}');
  });

  it("does not put a file in place of a folder", async () => {
    const bench = openBench();
    mkdirSync(bench.at("folder"));
    expect(await call(writeFileTool(bench.fence), { path: "folder", content: "x" })).toContain("Not a file");
  });
});

describe("edit_file", () => {
  it("replaces a passage that occurs once, literally", async () => {
    const bench = openBench();
    bench.put("a.txt", "one two three");
    await call(editFileTool(bench.fence), { path: "a.txt", old_text: "two", new_text: "$& $1 \\n" });
    expect(readFileSync(bench.at("a.txt"), "utf8")).toBe("one $& $1 \\n three");
  });

  it("changes nothing when it occurs several times, unless all are meant", async () => {
    const bench = openBench();
    bench.put("a.txt", "x x x");
    const edit = { path: "a.txt", old_text: "x", new_text: "y" };
    expect(await call(editFileTool(bench.fence), edit)).toMatch(/^Warning: old_text appears 3 times\. /);
    expect(readFileSync(bench.at("a.txt"), "utf8")).toBe("x x x");
    expect(await call(editFileTool(bench.fence), { ...edit, replace_all: "yes" })).toContain("(3 places)");
    expect(readFileSync(bench.at("a.txt"), "utf8")).toBe("y y y");
  });

  it("shows the nearest passage when it does not occur", async () => {
    const bench = openBench();
    bench.put("a.ts", "const a = 1;\nfunction greet(name) {\n  return `hi ${name}`;\n}\n");
    const edit = { path: "a.ts", old_text: "function greet(nam) {\n    return `hi ${name}`;", new_text: "" };
    const result = await call(editFileTool(bench.fence), edit);
    expect(result).toContain("lines 2-3:\nfunction greet(name) {\n  return `hi ${name}`;");
    expect(await call(editFileTool(bench.fence), { ...edit, old_text: "quite other words" })).toContain(
      "No similar text",
    );
  });

  it("finds its text across Windows line endings, and keeps them", async () => {
    const bench = openBench();
    bench.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    await call(editFileTool(bench.fence), { path: "a.txt", old_text: "one\ntwo", new_text: "1\n2" });
    expect(readFileSync(bench.at("a.txt"), "utf8")).toBe("1\r\n2\r\nthree\r\n");
  });

  it("does not take long over a large file", async () => {
    const bench = openBench();
    bench.put("a.txt", "some line of text\n".repeat(100_000));
    const old_text = "another line of text\n".repeat(2000);
    expect(await call(editFileTool(bench.fence), { path: "a.txt", old_text, new_text: "" })).toContain("not found");
  });

  it("refuses what cannot be meant", async () => {
    const bench = openBench();
    bench.put("a.txt", "a");
    bench.put("b.bin", Buffer.from([0, 1]));
    expect(await call(editFileTool(bench.fence), { path: "a.txt", old_text: "", new_text: "b" })).toContain("empty");
    expect(await call(editFileTool(bench.fence), { path: "b.bin", old_text: "a", new_text: "b" })).toContain("binary");
    expect(await call(editFileTool(bench.fence), { path: "../config.json", old_text: "a", new_text: "b" })).toContain(
      "out of reach",
    );
  });
});

describe("list_dir", () => {
  it("is sorted and tells folders from files", async () => {
    const bench = openBench();
    bench.put("b.txt", "");
    bench.put("a/deep.txt", "");
    symlinkSync(bench.at("a"), bench.at("link"));
    symlinkSync("/etc", bench.at("out"));
    expect(await call(listDirTool(bench.fence), { path: "." })).toBe("📁 a\n📄 b.txt\n📁 link\n📄 out");
    expect(await call(listDirTool(bench.fence), { path: ".", recursive: "true" })).toBe(
      "📁 a\n📄 a/deep.txt\n📄 b.txt\n📁 link\n📄 out",
    );
  });

  it("shows no more than asked for, and says so", async () => {
    const bench = openBench();
    for (let n = 0; n < 9; n++) bench.put(`many/${n}`, "");
    const shown = await call(listDirTool(bench.fence), { path: "many", max_entries: "3" });
    expect(shown).toMatch(/^📄 0\n📄 1\n📄 2\n\n\(showing the first 3 of 9 entries/);
  });

  it("says when there is nothing, or nothing to see", async () => {
    const bench = openBench();
    mkdirSync(bench.at("empty"));
    writeFileSync(bench.at("file"), "");
    expect(await call(listDirTool(bench.fence), { path: "empty" })).toBe("Directory empty is empty");
    expect(await call(listDirTool(bench.fence), { path: "none" })).toContain("No such file or folder: none");
    expect(await call(listDirTool(bench.fence), { path: "file" })).toContain("Not a directory: file");
    expect(await call(listDirTool(bench.fence), { path: "sessions" })).toContain("out of reach");
    expect(await call(listDirTool(bench.fence), { path: "/" })).toContain("outside");
  });
});
