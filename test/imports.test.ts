/** Imports follow the arrows of the layout, never back: cli → app → http → gateway → channels | agent → cron → session | providers → util. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../src/", import.meta.url));

/** What each part may import of the others. Its own files it may import anyway. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  message: [],
  world: ["message", "util"],
  util: ["message", "world"],
  session: ["message", "world", "util"],
  providers: ["message", "world", "util"],
  cron: ["message", "world", "util", "session"],
  config: ["message", "world", "util", "session", "providers"],
  agent: ["message", "world", "util", "cron", "session", "providers"],
  channels: ["message", "world", "util", "session", "providers"],
  backends: ["message", "world", "util", "session", "providers", "agent"],
  gateway: ["message", "world", "util", "cron", "session", "providers", "agent", "backends", "channels"],
  http: ["message", "world", "util", "cron", "session", "providers", "agent", "channels", "gateway"],
  app: [
    "http",
    "message",
    "world",
    "util",
    "cron",
    "session",
    "providers",
    "agent",
    "backends",
    "channels",
    "gateway",
    "config",
  ],
  cli: [
    "message",
    "world",
    "util",
    "cron",
    "session",
    "providers",
    "agent",
    "backends",
    "channels",
    "gateway",
    "config",
    "app",
  ],
  // The library: a shop window onto all parts, imported by none of them.
  index: [
    "message",
    "world",
    "util",
    "cron",
    "session",
    "providers",
    "agent",
    "backends",
    "channels",
    "gateway",
    "config",
    "app",
  ],
};

type Import = { readonly file: string; readonly target: string };

/** `session/open.ts` is of the part `session`, `world.ts` of the part `world`. */
const partOf = (file: string): string => (file.split("/")[0] ?? "").replace(/\.ts$/, "");

/** The imports that go against the arrows, in words. */
function violations(imports: readonly Import[]): string[] {
  return imports.flatMap(({ file, target }) => {
    const [from, to] = [partOf(file), partOf(target)];
    return from === to || arrows[from]?.includes(to) ? [] : [`${file} imports ${target}`];
  });
}

/** Every file of our own that a file names: by import, export … from, or import(). */
function importsIn(file: string, text: string): Import[] {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']*)["']/g);
  return [...found].map(([, path = ""]) => {
    const target = join(dirname(file), path).replace(/\.js$/, ".ts");
    return { file, target: relative(".", target) };
  });
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

describe("imports", () => {
  it("of all files are found", () => {
    const text = `import { a } from "../world.js";
      import type { B } from "./b.js";
      export * from "../../message.js";
      const c = await import("../util/c.js");
      import "./d.js";
      import { readFile } from "node:fs";`;
    expect(importsIn("agent/tools/x.ts", text).map(({ target }) => target)).toEqual([
      "agent/world.ts",
      "agent/tools/b.ts",
      "message.ts",
      "agent/util/c.ts",
      "agent/tools/d.ts",
    ]);
  });

  it.each([
    ["session/x.ts", "agent/y.ts"],
    ["session/x.ts", "providers/y.ts"],
    ["agent/x.ts", "channels/y.ts"],
    ["channels/x.ts", "agent/tools/y.ts"],
    ["util/x.ts", "session/y.ts"],
    ["gateway/x.ts", "app.ts"],
    ["gateway/x.ts", "config/load.ts"],
    ["config/x.ts", "agent/y.ts"],
    ["app.ts", "cli/main.ts"],
    ["world.ts", "session/y.ts"],
    ["message.ts", "util/y.ts"],
    ["session/x.ts", "index.ts"],
    ["elsewhere/x.ts", "util/y.ts"],
  ])("from %s to %s would be a violation", (file, target) => {
    expect(violations([{ file, target }])).toEqual([`${file} imports ${target}`]);
  });

  it("of every file follow the arrows", () => {
    const all = files.flatMap((file) => importsIn(file, readFileSync(join(source, file), "utf8")));
    expect(all.length).toBeGreaterThan(50);
    expect(violations(all)).toEqual([]);
  });

  it("name files that exist", () => {
    const all = files.flatMap((file) => importsIn(file, readFileSync(join(source, file), "utf8")));
    expect(all.filter(({ target }) => !files.includes(target))).toEqual([]);
  });
});
