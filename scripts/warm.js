/**
 * `node scripts/warm.js FOLDER gateway|answer`: lets the bundle do once what it will do every day, and keeps beside it what
 * V8 has made of it by then. All that is in a cache is read, needed or not: a first answer does not pay for what only a
 * gateway does, nor a gateway for what only answers do.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Script } from "node:vm";

const [, , folder, day] = process.argv;
const scripts = new Map();
const program = load("./main.cjs");
const silent = { out() {}, err() {}, outIsTerminal: false, errIsTerminal: false, columns: 80 };
const { openFakeTelegram, startFakeDiscord, openFakeModel, configure } = createRequire(import.meta.url)(
  "../dist/lab/lab.cjs",
);

const home = mkdtempSync(join(tmpdir(), "nanogate-build-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
// Nothing may wait for ever: a build that hangs says nothing.
setTimeout(() => process.exit(1), 60_000).unref();

if (day === "gateway") {
  await beGateway();
  for (const [name, script] of scripts) keep(`${name}.gateway.cache`, script.createCachedData());
} else {
  await answerOnce();
  keep("main.cjs.cache", scripts.get("./main.cjs").createCachedData());
}
process.exit(0);

/** Whole or not at all: V8 trusts what it finds there, and a half of it would be the end of every start. */
function keep(name, bytes) {
  const file = join(folder, name);
  const draft = openSync(`${file}.new`, "w");
  writeFileSync(draft, bytes);
  fsyncSync(draft);
  closeSync(draft);
  renameSync(`${file}.new`, file);
}

/** One question to each kind of model. */
async function answerOnce() {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const providers = { demo: {}, custom: { apiKey: "none", apiBase: `http://127.0.0.1:${server.address().port}/v1` } };
  for (const provider of Object.keys(providers)) {
    const config = { agents: { defaults: { model: "any", provider } }, providers };
    writeFileSync(join(home, "config.json"), JSON.stringify(config));
    await program.main(["chat", "-m", "hi", "--home", home], silent);
  }
}

/** Until both channels are connected: what a turn needs is compiled when the first one comes. */
async function beGateway() {
  const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openFakeModel()]);
  configure(home, { telegram, discord, model });
  program.main(["gateway", "--home", home], silent).catch((error) => {
    console.error(error);
    process.exit(1);
  });
  await discord.until(() => discord.isConnected(), "the login", 30_000);
  await telegram.until(() => telegram.callsOf("getUpdates").length > 0);
  await new Promise((said) => setTimeout(said, 500)); // that it is ready
}

/** As bin/nanogate.js does, without caches. */
function load(name) {
  const file = join(folder, name);
  const script = new Script(readFileSync(file, "latin1"), { filename: file });
  const bundle = { exports: {} };
  scripts.set(name, script);
  const others = createRequire(file);
  const find = (wanted) => (wanted.startsWith("./") ? load(wanted) : others(wanted));
  script.runInThisContext()(bundle.exports, find, bundle, file, folder);
  return bundle.exports;
}
