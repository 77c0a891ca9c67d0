/** Which skills the prompt names, and which it holds. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProgramFinder } from "../../src/agent/programs.js";
import { activeSkills, loadSkills, skillSummary } from "../../src/agent/skills.js";
import { createFence } from "../../src/agent/tools/fence.js";

function openSkills(own: Readonly<Record<string, string>>, builtIn: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), "nanogate-skills-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const workspace = join(home, "workspace");
  const put = (folder: string, skills: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(skills)) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "SKILL.md"), text);
    }
  };
  mkdirSync(workspace);
  put(join(workspace, "skills"), own);
  put(join(home, "built-in"), builtIn);
  const fence = createFence({ workspace, userHome: home, forbidden: [join(home, "config.json")] });
  const load = (env: Readonly<Record<string, string>> = {}) =>
    loadSkills({
      fence,
      builtIn: join(home, "built-in"),
      hasProgram: createProgramFinder(env["PATH"] ?? ""),
      env,
      disabled: ["off"],
    });
  return { home, workspace, load };
}

describe("skills", () => {
  it("come sorted, those of the workspace first, and hide built-in ones of the same name", async () => {
    const { load } = openSkills({ zoo: "z", beta: "own" }, { beta: "built in", alpha: "a", off: "disabled" });
    const skills = await load();
    expect(skills.map(({ name, body }) => `${name}: ${body}`)).toEqual(["beta: own", "zoo: z", "alpha: a"]);
  });

  it("are listed in nanobot's form", async () => {
    const { load, workspace } = openSkills({
      a: '---\nname: a\ndescription: "Cats & <dogs>"\n---\n\n# A\n',
      b: '---\ndescription: Needs things\nmetadata: {"nanobot":{"requires":{"bins":["no-such-program"],"env":["NO_KEY"]}}}\n---\nB',
      c: "no front matter",
    });
    expect(skillSummary(await load({ PATH: "/usr/bin:/bin" }))).toBe(
      [
        "<skills>",
        '  <skill available="true">',
        "    <name>a</name>",
        "    <description>Cats &amp; &lt;dogs&gt;</description>",
        `    <location>${join(workspace, "skills/a/SKILL.md")}</location>`,
        "  </skill>",
        '  <skill available="false">',
        "    <name>b</name>",
        "    <description>Needs things</description>",
        `    <location>${join(workspace, "skills/b/SKILL.md")}</location>`,
        "    <requires>CLI: no-such-program, ENV: NO_KEY</requires>",
        "  </skill>",
        '  <skill available="true">',
        "    <name>c</name>",
        "    <description>c</description>",
        `    <location>${join(workspace, "skills/c/SKILL.md")}</location>`,
        "  </skill>",
        "</skills>",
      ].join("\n"),
    );
    expect(skillSummary([])).toBe("");
  });

  it("that are always on are pasted without their front matter, if they can work", async () => {
    const { load } = openSkills({
      a: "---\nalways: true\n---\n\nBody of A\n",
      b: '---\nmetadata: {"openclaw":{"always":true}}\n---\nBody of B',
      c: "---\nalways: false\n---\nnot pasted",
      d: '---\nalways: true\nmetadata: {"nanobot":{"requires":{"env":["NO_KEY"]}}}\n---\nnot pasted either',
      e: "---\nalways:\n---\nnor this",
    });
    expect(activeSkills(await load())).toBe("### Skill: a\n\nBody of A\n\n---\n\n### Skill: b\n\nBody of B");
  });

  it("find the programs and variables they need", async () => {
    const needs = '---\nmetadata: {"nanobot":{"requires":{"bins":["tool"],"env":["KEY"]}}}\n---\n';
    const { load, home } = openSkills({ a: needs });
    const bin = join(home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "tool"), "");
    chmodSync(join(bin, "tool"), 0o755);
    expect((await load({ PATH: `/none:${bin}`, KEY: "x" }))[0]?.missing).toEqual([]);
    expect((await load({ PATH: "/none", KEY: "" }))[0]?.missing).toEqual(["CLI: tool", "ENV: KEY"]);
  });

  it("take a folder on PATH that cannot be looked into for one that is not there", async () => {
    const metadata = '{"nanobot":{"requires":{"bins":["tool"]}}}';
    const { load, home } = openSkills({ a: `---\nmetadata: ${metadata}\n---\nA` });
    // A link to itself is refused to everybody, root included.
    const closed = join(home, "closed");
    symlinkSync(closed, closed);
    expect((await load({ PATH: closed }))[0]?.missing).toEqual(["CLI: tool"]);
  });

  it.each([
    "---",
    "---\n---\nbody",
    "---\nno end",
    "---\nmetadata: {broken\n---\nbody",
    "---\nmetadata: [1]\n---\n",
    "",
  ])("may be odd: %j", async (text) => {
    const { load } = openSkills({ odd: text });
    expect((await load()).map(({ name, always, missing }) => ({ name, always, missing }))).toEqual([
      { name: "odd", always: false, missing: [] },
    ]);
  });

  it("are not a way to read what lies outside the fence", async () => {
    const { load, home, workspace } = openSkills({ a: "fine" });
    writeFileSync(join(home, "config.json"), "---\nalways: true\n---\nthe secret key");
    mkdirSync(join(workspace, "skills/evil"));
    symlinkSync(join(home, "config.json"), join(workspace, "skills/evil/SKILL.md"));
    symlinkSync(home, join(workspace, "skills/outside"));
    expect((await load()).map(({ name }) => name)).toEqual(["a"]);
  });

  it("need not exist at all", async () => {
    const { load, workspace, home } = openSkills({});
    rmSync(join(workspace, "skills"), { recursive: true, force: true });
    rmSync(join(home, "built-in"), { recursive: true, force: true });
    expect(await load()).toEqual([]);
  });
});

describe("the skills that come with the program", () => {
  it("are all readable, described, and say when they cannot work", async () => {
    const { home, workspace } = openSkills({});
    const fence = createFence({ workspace, userHome: home, forbidden: [] });
    const builtIn = join(import.meta.dirname, "../../workspace/skills");
    const skills = await loadSkills({ fence, builtIn, hasProgram: () => false, env: {} });
    expect(skills.map(({ name, always, missing }) => ({ name, always, missing }))).toEqual([
      { name: "cron", always: false, missing: [] },
      { name: "memory", always: true, missing: [] },
      { name: "weather", always: false, missing: ["CLI: curl"] },
    ]);
    for (const { name, description, body } of skills) {
      expect(description).not.toBe(name);
      expect(body.length).toBeGreaterThan(200);
    }
  });
});
