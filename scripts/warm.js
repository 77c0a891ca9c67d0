/**
 * `node scripts/warm.js FOLDER`: lets the bundle do once what it will do every day, and keeps beside it what V8 has made of
 * it by then. A process of its own, because the gateway ends its process when it is told to.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Script } from "node:vm";

const folder = process.argv[2];
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

await answerOnce();
// All that is in a cache is read, needed or not: a first answer does not pay for what only a gateway does.
const forAnswer = scripts.get("./main.cjs").createCachedData();
await beGateway();
for (const [name, script] of scripts) keep(`${name}.gateway.cache`, script.createCachedData());
// This one last: it is what tells that the build is complete.
keep("main.cjs.cache", forAnswer);
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

/** Both channels connected, a question on each. */
async function beGateway() {
  const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openFakeModel()]);
  configure(home, { telegram, discord, model });
  program.main(["gateway", "--home", home], silent).catch((error) => {
    console.error(error);
    process.exit(1);
  });
  await discord.until(() => discord.isConnected(), "the login", 30_000);
  const ann = discord.person("ann");
  discord.say(discord.addPrivateChat(ann), ann, "say 1");
  telegram.say(1, "say 2");
  await discord.until(() => discord.posts.length > 0, "the answer on Discord", 30_000);
  await telegram.until(() => telegram.sent.length > 0);
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
