#!/usr/bin/env node
// Hands argv to src/cli, as bundled and compiled by scripts/bundle.js.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { join } = require("node:path");
const { Script } = require("node:vm");

const file = join(__dirname, "..", "dist", "bundle", "main.cjs");
// The bundle is pure ASCII, and read fastest this way.
const script = new Script(readFileSync(file, "latin1"), { filename: file, cachedData: cache() });
const bundle = { exports: {} };
script.runInThisContext()(bundle.exports, createRequire(file), bundle, file);
void bundle.exports.main(process.argv.slice(2)).then((code) => (process.exitCode = code));

function cache() {
  try {
    return readFileSync(`${file}.cache`);
  } catch {
    return undefined; // it only saves time
  }
}
