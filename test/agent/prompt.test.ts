/** What stands before every conversation. */
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readOwnFile } from "../../src/agent/own-file.js";
import { systemPrompt } from "../../src/agent/prompt.js";
import { prepareWorkspace, workspaceFence } from "../../src/agent/workspace.js";
import { findPackage } from "../../src/util/package-root.js";
import { temporaryFolder } from "../support/workspace.js";

function openHome() {
  const home = temporaryFolder();
  const workspace = join(home, "workspace");
  mkdirSync(join(workspace, "memory"), { recursive: true });
  writeFileSync(join(home, "config.json"), "the key");
  const fence = workspaceFence({ home, workspace });
  return {
    home,
    workspace,
    write: (name: string, text: string | Buffer): void => writeFileSync(join(workspace, name), text),
    read: (name: string): Promise<string | undefined> => readOwnFile(fence, join(workspace, name)),
  };
}
const noSkills = { always: "", summary: "" };

describe("the system prompt", () => {
  it("is identity, the owner's files in their order, memory, active skills and the list of skills", async () => {
    const { workspace, write, read } = openHome();
    for (const name of ["TOOLS.md", "USER.md", "SOUL.md", "AGENTS.md", "IDENTITY.md"]) write(name, `of ${name}\n`);
    const skills = { always: "### Skill: a\n\nbody", summary: "<skills>\n</skills>" };
    const sections = (await systemPrompt({ workspace, read, memory: "- fact\n", memoryIs: "shared", skills })).split(
      "\n\n---\n\n",
    );
    expect(sections[0]).toContain("# nanogate");
    expect(sections[0]).toContain(`## Workspace\n${workspace}\n`);
    expect(sections.slice(1)).toEqual([
      ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md"].map((name) => `## ${name}\n\nof ${name}\n`).join("\n\n"),
      "# Memory\n\n## Long-term Memory\n- fact\n",
      "# Active Skills\n\n### Skill: a\n\nbody",
      expect.stringMatching(/^# Skills\n\n.*read_file.*\n.*available="false".*\n\n<skills>\n<\/skills>$/),
    ]);
  });

  it("leaves out what is not there", async () => {
    const { workspace, write, read } = openHome();
    write("SOUL.md", "kind");
    const prompt = await systemPrompt({ workspace, read, memory: "", memoryIs: "shared", skills: noSkills });
    expect(prompt.split("\n\n---\n\n").slice(1)).toEqual(["## SOUL.md\n\nkind"]);
  });

  it("says how memory is reached: by files where all share it, by a tool where each chat has its own", async () => {
    const { workspace, read } = openHome();
    const parts = { workspace, read, memory: "", skills: noSkills };
    expect(await systemPrompt({ ...parts, memoryIs: "shared" })).toContain("\n- memory/MEMORY.md: facts that last");
    const own = await systemPrompt({ ...parts, memoryIs: "own" });
    expect(own).toContain("Use the remember tool");
    expect(own).not.toContain("MEMORY.md");
  });

  it("is the same, byte for byte, as long as nobody changes anything", async () => {
    const { workspace, write, read } = openHome();
    write("AGENTS.md", "be brief");
    const build = () => systemPrompt({ workspace, read, memory: "m", memoryIs: "shared", skills: noSkills });
    const first = await build();
    expect(await build()).toBe(first);
    write("AGENTS.md", "be long");
    expect(await build()).toBe(first.replace("be brief", "be long"));
  });
});

describe("one of the owner's files", () => {
  it("is read as it is, binary or not, and is undefined where there is none", async () => {
    const { read, write, workspace } = openHome();
    expect(await read("AGENTS.md")).toBeUndefined();
    expect(await read("no/such/folder/AGENTS.md")).toBeUndefined();
    mkdirSync(join(workspace, "SOUL.md"));
    await expect(read("SOUL.md")).rejects.toThrow("Not a file");
    write("USER.md", Buffer.from([0xff, 0x00, 0x41]));
    expect(await read("USER.md")).toBe("\ufffd\0A");
    write("memory/MEMORY.md", "facts");
    expect(await read("memory/MEMORY.md")).toBe("facts");
  });

  it("may be a link to another file of the workspace", async () => {
    const { read, write, workspace } = openHome();
    write("notes.md", "my notes");
    symlinkSync("notes.md", join(workspace, "AGENTS.md"));
    expect(await read("AGENTS.md")).toBe("my notes");
  });

  it("is not read where it is a link to the configuration, the sessions or out of the workspace", async () => {
    const { read, home, workspace } = openHome();
    mkdirSync(join(workspace, "sessions"));
    writeFileSync(join(workspace, "sessions", "a.jsonl"), "private");
    symlinkSync(join(home, "config.json"), join(workspace, "AGENTS.md"));
    symlinkSync(join("sessions", "a.jsonl"), join(workspace, "SOUL.md"));
    symlinkSync("/etc/passwd", join(workspace, "USER.md"));
    linkSync(join(home, "config.json"), join(workspace, "TOOLS.md"));
    await expect(read("AGENTS.md")).rejects.toThrow("out of reach");
    await expect(read("SOUL.md")).rejects.toThrow("out of reach");
    await expect(read("USER.md")).rejects.toThrow("outside");
    await expect(read("TOOLS.md")).rejects.toThrow("out of reach");
  });

  it("is not read through a folder that is a link", async () => {
    const { read, workspace } = openHome();
    const elsewhere = mkdtempSync("/tmp/nanogate-test-");
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    writeFileSync(join(elsewhere, "MEMORY.md"), "another's");
    rmSync(join(workspace, "memory"), { recursive: true });
    symlinkSync(elsewhere, join(workspace, "memory"));
    await expect(read("memory/MEMORY.md")).rejects.toThrow("outside");
  });
});

describe("a new workspace", () => {
  it("has the folders that tools must not reach before the first tool runs, and nothing of the owner's is touched", async () => {
    const home = temporaryFolder();
    const workspace = join(home, "workspace");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "AGENTS.md"), "mine");
    const templates = join(findPackage().root, "workspace");
    for (let times = 0; times < 2; times++) await prepareWorkspace({ home, workspace }, templates);
    const fence = workspaceFence({ home, workspace });
    for (const path of fence.forbidden.filter((name) => !name.endsWith(".json"))) {
      await expect(fence.list(path, 10)).rejects.toThrow("out of reach");
    }
    expect((await fence.list(".", 100)).entries.map(({ name }) => name)).toEqual(["AGENTS.md", "memory", "skills"]);
    expect(await readOwnFile(fence, join(workspace, "AGENTS.md"))).toBe("mine");
  });
});
