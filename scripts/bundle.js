/**
 * The command line as a few files, and what V8 makes of them: most of the time to a first answer, or until a gateway is
 * ready, is otherwise spent on loading and compiling modules. The caches belong to the very Node that made them; any other
 * one just compiles.
 */
import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { noticesFor } from "./notices.js";
import { besides, putInPlace } from "./put-in-place.js";

const place = resolve("dist/bundle");
const folder = besides(place);
const labPlace = resolve("dist/lab");
const lightDiscord = resolve("scripts/light-discord.js");
/**
 * Large, and each needed by one channel: files of their own, loaded when they are asked for. What they bring along, and
 * Node has too or nobody asks for here, stays out.
 */
const libraries = {
  discord: {
    entry: "src/channels/discord-library.ts",
    asked: /\/discord-library\.js$/,
    alias: {
      "@discordjs/rest": resolve("node_modules/@discordjs/rest/dist/web.js"),
      "@vladfrangu/async_event_emitter": lightDiscord,
      "discord-api-types/v10": lightDiscord,
      "magic-bytes.js": lightDiscord,
      undici: lightDiscord,
    },
  },
  grammy: { entry: "grammy", asked: /^grammy$/, alias: { "whatwg-url": "node:url" } },
  clack: { entry: "@clack/prompts", asked: /^@clack\/prompts$/ },
  cron: { entry: "node-cron", asked: /^node-cron$/ },
  marked: { entry: "marked", asked: /^marked$/ },
  pretty: { entry: "pino-pretty", asked: /^pino-pretty$/ },
  prometheus: { entry: "prom-client", asked: /^prom-client$/ },
};

/** Parts of Node that take their time to load, and mostly are not needed: loaded when something of them is. */
const seldom = {
  name: "seldom",
  setup({ onResolve, onLoad }) {
    const filter = /^(?:node:)?(?:child_process|dns\/promises|worker_threads|zlib)$/;
    onResolve({ filter, namespace: "file" }, ({ path }) => ({ path, namespace: "seldom" }));
    onResolve({ filter, namespace: "seldom" }, ({ path }) => ({ path, external: true }));
    onLoad({ filter, namespace: "seldom" }, ({ path }) => ({
      contents: Object.keys(createRequire(import.meta.url)(path))
        .map(
          (name) =>
            `Object.defineProperty(exports, "${name}", { enumerable: true, get: () => require("${path}").${name} });`,
        )
        .join("\n"),
    }));
  },
};

/** zod speaks fifty languages; we have words of our own, and its English for the rest. */
const englishOnly = {
  name: "english-only",
  setup({ onLoad }) {
    onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** Discord has two hundred names for errors; we know them by their numbers. */
const withoutNames = {
  name: "without-names",
  setup({ onLoad }) {
    onLoad({ filter: /discord-api-types[\\/]rest[\\/]common\.js$/ }, () => ({ contents: "" }));
  },
};

/** What finds SQLite's binary looks for it in its package, although the bundle lies elsewhere. */
const nativeSqlite = {
  name: "native-sqlite",
  setup({ onResolve }) {
    onResolve({ filter: /^node-gyp-build$/ }, () => ({ path: resolve("scripts/native-sqlite.js") }));
  },
};

const common = {
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20.19",
  minify: true,
  metafile: true,
  logLevel: "warning",
};

// The crash lab, for `nanogate selftest`: nobody else should load it.
await rm(besides(labPlace), { recursive: true, force: true });
const lab = await build({
  ...common,
  entryPoints: ["test/lab/lab.ts"],
  outfile: join(besides(labPlace), "lab.cjs"),
  external: ["@photostructure/sqlite"],
  define: { "import.meta.url": "labUrl" },
  banner: { js: 'const labUrl = require("node:url").pathToFileURL(__filename).href;' },
});
putInPlace(labPlace);

await rm(folder, { recursive: true, force: true });
const inputs = Object.keys(lab.metafile.inputs);
await bundle("main", {
  entryPoints: ["src/cli/main.ts"],
  inject: ["src/util/light-web.ts"],
  // Large, and loaded only by the door that needs them.
  external: ["hono", "hono/*", "@hono/node-server"],
  plugins: [seldom, englishOnly, nativeSqlite, { name: "libraries", setup: leaveOutLibraries }],
});
for (const [name, { entry, alias = {} }] of Object.entries(libraries)) {
  await bundle(name, {
    alias,
    plugins: [seldom, withoutNames],
    entryPoints: [entry],
    external: ["zlib-sync", "bufferutil", "utf-8-validate"],
    // They know some classes by their names.
    minify: false,
    minifyWhitespace: true,
    minifySyntax: true,
  });
}
await writeFile(join(folder, "licences.txt"), `${noticesFor(inputs)}\n`);
// Without the environment, in which somebody's own keys may be.
const env = { PATH: process.env.PATH };
// The answer comes last: its cache is what tells that the build is complete.
for (const day of ["gateway", "answer"]) {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/warm.js", folder, day], { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`The bundle could not be tried out:\n${stderr}`);
}
putInPlace(place);

/** A function of what a module is given, as bin/nanogate.js calls it. */
async function bundle(name, options) {
  const file = join(folder, `${name}.cjs`);
  const { metafile } = await build({
    ...common,
    ...options,
    outfile: file,
    // Node's loader of ES modules need not start at all.
    supported: { "dynamic-import": false },
    define: { "import.meta.url": "bundleUrl", ...options.define },
    banner: {
      js: '(function (exports, require, module, __filename, __dirname) { const bundleUrl = require("node:url").pathToFileURL(__filename).href;',
    },
    footer: { js: "})" },
  });
  inputs.push(...Object.keys(metafile.inputs));
  // Pure ASCII takes half the memory and is read without decoding; esbuild leaves regular expressions as they are.
  const source = (await readFile(file, "utf8")).replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  await writeFile(file, source);
}

function leaveOutLibraries({ onResolve }) {
  for (const [name, { asked }] of Object.entries(libraries)) {
    onResolve({ filter: asked }, () => ({ path: `./${name}.cjs`, external: true }));
  }
}
