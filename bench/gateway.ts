/** What the daemon costs: from an update to the reply, from the start until it is ready, and in memory. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, median, percentile, race } from "./harness.js";
import { openTown, type Talk } from "./town.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const program = join(root, "bin", "nanogate.js");
const echoBot = join(root, "bench", "echo-bot.ts");
const startRounds = 20;
/** Until everything is compiled; for the memory, until all chats have been seen. */
const warmUpTurns = { one: 400, thousand: 2000 };
/** What V8 has kept for a crowd it gives back when there has been little to do for half a minute, or two. */
const calmSeconds = 120;
const lookSeconds = 4;

export const gateway: Bench = {
  name: "gateway",
  title: "The daemon between both platforms and a model that answers at once, all writes durable",
  async run(folder, full) {
    spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
    const town = await openTown();
    const home = join(folder, "home");
    town.settle(home);
    const environment = { PATH: process.env["PATH"], HOME: home };
    const start = (): ChildProcess => {
      const args = [program, "gateway", "--home", home];
      const daemon = spawn(process.execPath, args, { env: environment, stdio: ["ignore", "ignore", "pipe"] });
      const kill = (): void => void daemon.kill("SIGKILL");
      process.once("exit", kill);
      daemon.once("close", () => process.off("exit", kill));
      return daemon;
    };

    let last: ChildProcess | undefined;
    const starts = await race({
      "node -e 0": {
        work: () => once(spawn(process.execPath, ["-e", "0"], { env: environment }), "exit"),
        rounds: startRounds,
      },
      ready: {
        work: () => isReady((last = start())),
        after: () => last && end(last),
        rounds: startRounds,
      },
    });

    const bare = await echo();

    const daemon = start();
    await isReady(daemon);
    const idle = (await residentMegabytes(home, 8)).least;
    await town.talk("telegram", 1, warmUpTurns.one);
    const onDiscord = await town.talk("discord", 1, 200);
    const one = await town.talk("telegram", 1, 500);
    const hundred = await town.talk("telegram", 100, 2000);
    const thousand = await town.talk("telegram", 1000, 3000);
    await town.talk("telegram", 1000, warmUpTurns.thousand);
    const warm = (await residentMegabytes(home, calmSeconds)).least;
    const turns = full ? 100_000 : 10_000;
    const long = await town.talk("telegram", 1000, turns);
    const { first: height, least: after } = await residentMegabytes(home, calmSeconds);
    await end(daemon);
    await town.close();

    const ready = median(starts.ready) / median(starts["node -e 0"]);
    return {
      table: [
        row("Telegram, 1 chat", one),
        row("Telegram, 100 chats at once", hundred),
        row("Telegram, 1,000 chats at once", thousand),
        row(`Telegram, ${turns} turns over 1,000 chats`, long),
        row("Discord, 1 chat", onDiscord),
        row("a bot that only echoes, 1 chat", bare.one),
        row("a bot that only echoes, 100 chats", bare.many),
      ],
      targets: [
        atMost("update to reply at 1 chat: p50", median(one.times), 10, "ms"),
        atMost("start until ready, against node -e 0", ready, 5),
        atMost("resident memory, both channels connected, idle", idle, 100, "MB"),
        atMost(`growth of it over ${turns} turns, after warm-up`, after - warm, 10, "MB"),
      ],
      notes: [
        `Ready after ${Math.round(median(starts.ready))} ms; node -e 0 takes ${Math.round(median(starts["node -e 0"]))} ms.`,
        `Resident: ${Math.round(idle)} MB idle, ${Math.round(height)} MB at work, ${Math.round(after)} MB when it was calm again; after the warm-up ${Math.round(warm)} MB.`,
        "Each person speaks again when the answer is there; with 1,000 of them an answer mostly waits for the others.",
      ],
    };
  },
};

const row = (what: string, { times, perSecond }: Talk) => ({
  what,
  "ms p50": median(times),
  "ms p99": percentile(times, 0.99),
  "turns/s": perSecond,
});

/** Resolves when it says that every channel hears its platform. */
function isReady(daemon: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    daemon.stderr?.on("data", (text: Buffer) => text.includes('"ready"') && resolve());
    daemon.once("exit", (code) => reject(new Error(`The gateway ended with ${code}.`)));
  });
}

async function end(daemon: ChildProcess): Promise<void> {
  daemon.removeAllListeners("exit");
  daemon.kill("SIGTERM");
  await once(daemon, "exit");
}

/** The same talk with a bot that does nothing: what the platform and the way there take. */
async function echo(): Promise<{ readonly one: Talk; readonly many: Talk }> {
  const town = await openTown();
  const { url, token } = town.telegram;
  const bot = spawn(process.execPath, ["--import", "tsx", echoBot, url, token], { cwd: root, stdio: "ignore" });
  try {
    return { one: await town.talk("telegram", 1, 500), many: await town.talk("telegram", 100, 5000) };
  } finally {
    bot.kill("SIGKILL");
    await once(bot, "exit");
    await town.close();
  }
}

/** Now, and the least of so many seconds in which nothing is asked of it. Given back is in portions: the last is waited for. */
async function residentMegabytes(
  home: string,
  seconds: number,
): Promise<{ readonly first: number; readonly least: number }> {
  const { port } = JSON.parse(readFileSync(join(home, "state", "gateway.json"), "utf8")) as { port: number };
  const look = async (): Promise<number> => {
    const status = await fetch(`http://127.0.0.1:${port}/status`);
    return ((await status.json()) as { residentBytes: number }).residentBytes / 1024 / 1024;
  };
  const first = await look();
  let least = first;
  let sinceLess = 0;
  for (let waited = 0; waited < seconds && sinceLess < calmSeconds / 3; waited += lookSeconds) {
    await wait(lookSeconds * 1000);
    const now = await look();
    // Until it has begun to give back there is nothing to wait for the end of.
    sinceLess = now < least * 0.98 || least > first * 0.7 ? 0 : sinceLess + lookSeconds;
    least = Math.min(least, now);
  }
  return { first, least };
}
