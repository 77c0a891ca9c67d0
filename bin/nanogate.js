#!/usr/bin/env node
// Hands argv to src/cli, as bundled and compiled by scripts/bundle.js.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const { Script } = require("node:vm");

const folder = path.join(__dirname, "..", "dist", "bundle");
// What a gateway runs is not what a first answer needs.
const cacheName = process.argv[2] === "gateway" ? "gateway.cache" : "cache";
const loaded = new Map();

void load("./main.cjs")
  .main(process.argv.slice(2))
  .then((code) => (process.exitCode = code));

/** Runs a file of the bundle; the others are `./name.cjs` to it. */
function load(name) {
  const known = loaded.get(name);
  if (known) return known.exports;
  const file = path.join(folder, name);
  // The bundle is pure ASCII, and read fastest this way.
  const script = new Script(readFileSync(file, "latin1"), { filename: file, cachedData: cache(file) });
  const bundle = { exports: {} };
  loaded.set(name, bundle);
  const others = createRequire(file);
  const find = (wanted) => (wanted.startsWith("./") ? load(wanted) : others(wanted));
  script.runInThisContext()(bundle.exports, find, bundle, file, folder);
  return bundle.exports;
}

function cache(file) {
  try {
    return readFileSync(`${file}.${cacheName}`);
  } catch {
    return undefined; // it only saves time
  }
}
