/**
 * For `npm start`, and for npm itself, which prepares this folder whenever it links it (the first `npx nanogate`): builds
 * when something was changed since the last time, and says so, because it takes a while.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const sources = [
  "src",
  "web",
  "scripts",
  "test/lab",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];
const built = [
  "dist/index.js",
  "dist/bundle/main.cjs",
  "dist/bundle/main.cjs.cache",
  "dist/lab/lab.cjs",
  "dist/web/index.html",
];

if (Math.min(...built.map(changedAt)) < Math.max(...sources.map(newestIn))) {
  // What is printed belongs to whoever asked npm for something: the name of a package, an answer.
  console.error("Building nanogate, which takes some ten seconds …");
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: ["ignore", 2, 2] });
  process.exitCode = status ?? 1;
}

function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestIn(path) {
  const names = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  return Math.max(changedAt(path), ...names.map((name) => changedAt(join(path, name))));
}
