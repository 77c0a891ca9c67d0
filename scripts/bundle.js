/**
 * The command line as one file, and what V8 makes of it: most of the time a first answer takes is otherwise spent on
 * loading and compiling modules. The cache belongs to the very Node that made it; any other one just compiles.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Script } from "node:vm";
import { build } from "esbuild";

const file = resolve("dist/bundle/main.cjs");

const common = {
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20.19",
  minify: true,
  // Binary, or large and loaded only by the channel or the door that needs them.
  external: ["@photostructure/sqlite", "discord.js", "grammy", "hono", "hono/*", "@hono/node-server"],
  logLevel: "warning",
};

// The crash lab, for `nanogate selftest`: a file of its own, for nobody else should load it.
await rm("dist/lab", { recursive: true, force: true });
await build({
  ...common,
  entryPoints: ["test/lab/lab.ts"],
  outfile: "dist/lab/lab.cjs",
  define: { "import.meta.url": "labUrl" },
  banner: { js: 'const labUrl = require("node:url").pathToFileURL(__filename).href;' },
});

await rm("dist/bundle", { recursive: true, force: true });
await build({
  ...common,
  entryPoints: ["src/cli/main.ts"],
  outfile: file,
  inject: ["src/util/light-web.ts"],
  // Node's loader of ES modules need not start at all.
  supported: { "dynamic-import": false },
  define: { "import.meta.url": "bundleUrl" },
  banner: {
    js: '(function (exports, require, module, __filename) { const bundleUrl = require("node:url").pathToFileURL(__filename).href;',
  },
  footer: { js: "})" },
});

// Pure ASCII takes half the memory and is read without decoding; esbuild leaves regular expressions as they are.
const source = (await readFile(file, "utf8")).replaceAll(
  /[^\0-\x7f]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
);
await writeFile(file, source);

// What has been run once is in the cache, so let it answer once with each kind of model.
const script = new Script(source, { filename: file });
const bundle = { exports: {} };
script.runInThisContext()(bundle.exports, createRequire(file), bundle, file);
const silent = { out() {}, err() {}, outIsTerminal: false, errIsTerminal: false, columns: 80 };
const home = await mkdtemp(join(tmpdir(), "nanogate-build-"));
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end('data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const providers = { demo: {}, custom: { apiKey: "none", apiBase: `http://127.0.0.1:${server.address().port}/v1` } };
for (const provider of Object.keys(providers)) {
  const config = { agents: { defaults: { model: "any", provider } }, providers };
  await writeFile(join(home, "config.json"), JSON.stringify(config));
  await bundle.exports.main(["chat", "-m", "hi", "--home", home], silent);
}
await writeFile(`${file}.cache`, script.createCachedData());
server.close();
server.closeAllConnections();
await rm(home, { recursive: true });
