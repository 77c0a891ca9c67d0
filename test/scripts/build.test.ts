/** When the program is built, and that whoever runs it meanwhile does not notice. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/workspace.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const script = (name: string): string => join(root, "scripts", name);

/** A project of the same shape, whose build only says that it was run. */
function openProject() {
  const folder = temporaryFolder();
  const put = (path: string, text: string, at: number): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    utimesSync(join(folder, path), at, at);
  };
  const build = "node -e \"console.log(1); fs.writeFileSync('ran', String())\"";
  put("package.json", JSON.stringify({ scripts: { build } }), 1000);
  for (const path of ["package-lock.json", "tsconfig.json", "tsconfig.build.json"]) put(path, "{}", 1000);
  for (const path of ["src/a.ts", "web/a.ts", "scripts/a.js", "test/lab/a.ts"]) {
    put(path, "", 1000);
    utimesSync(join(folder, dirname(path)), 1000, 1000);
  }
  const outputs = ["index.js", "bundle/main.cjs", "bundle/main.cjs.cache", "lab/lab.cjs", "web/index.html"];
  return {
    put,
    built: (at: number) => outputs.forEach((path) => put(`dist/${path}`, "", at)),
    run: () => {
      const { status, stdout } = spawnSync(process.execPath, [script("build-if-changed.js")], { cwd: folder });
      return { status, stdout: String(stdout), hasBuilt: existsSync(join(folder, "ran")) };
    },
  };
}

describe("npm's preparation, which the first npx runs beside a gateway", () => {
  it("is the same look as that of npm start", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts["start"]).toContain(`${scripts["prepare"]} && `);
  });

  it("builds a clean checkout, and prints nothing where an answer is expected", () => {
    expect(openProject().run()).toEqual({ status: 0, stdout: "", hasBuilt: true });
  });

  it("leaves a build alone that is newer than all it was made of", () => {
    const project = openProject();
    project.built(2000);
    expect(project.run()).toMatchObject({ status: 0, hasBuilt: false });
    project.put("src/a.ts", "changed", 3000);
    expect(project.run()).toMatchObject({ status: 0, hasBuilt: true });
  });
});

describe("a folder that was built anew", () => {
  const putInPlace = (folder: string): number | null =>
    spawnSync(process.execPath, [
      "--input-type=module",
      "-e",
      `import { putInPlace } from ${JSON.stringify(script("put-in-place.js"))}; putInPlace(${JSON.stringify(folder)});`,
    ]).status;

  it("takes the place of the old one as a whole, and leaves nothing beside it", () => {
    const folder = temporaryFolder();
    for (const [name, file] of [
      ["web", "old.js"],
      ["web.new", "new.js"],
      ["web.old", "left by a crash.js"],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, file), "");
    }
    expect(putInPlace(join(folder, "web"))).toBe(0);
    expect([readdirSync(folder), readdirSync(join(folder, "web"))]).toEqual([["web"], ["new.js"]]);
  });

  it("may be the first one", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "web.new"));
    expect(putInPlace(join(folder, "web"))).toBe(0);
    expect(readdirSync(folder)).toEqual(["web"]);
  });

  it("is not put in the place of one in use unless it is there", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "web"));
    expect(putInPlace(join(folder, "web"))).not.toBe(0);
    expect(readdirSync(folder)).toEqual(["web"]);
  });
});
