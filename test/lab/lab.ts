/**
 * The lab: the real daemon as a child process between a fake Telegram, a fake Discord and a fake model, killed again and
 * again, at chosen points or at random moments. Afterwards the books are checked: what was said, stored and told.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { openSessions } from "../../src/session/open.js";
import { startFakeDiscord } from "./fake-discord.js";
import { openFakeModel } from "./fake-model.js";
import { openFakeTelegram } from "./fake-telegram.js";
import { createRandom } from "./random.js";

/** Every place where the daemon can be made to die. */
export const killPoints = [
  ...["accept", "begin", "step", "tool start", "finish", "appended", "sending", "sent"].flatMap((what) => [
    `before ${what}`,
    `after ${what}`,
  ]),
  "before store",
  "after store",
  "before send",
  "after send",
] as const;

export type LabOptions = {
  readonly seed: number;
  readonly kills: number;
  /** After so many kills the daemon is left in peace, and the books are checked. */
  readonly killsPerCheck?: number;
  /** Only these points; otherwise all of them in turn, and random moments. */
  readonly points?: readonly string[];
  readonly onProgress?: (done: number, violations: readonly string[]) => void;
};

export type LabReport = {
  readonly kills: Readonly<Record<string, number>>;
  readonly messages: number;
  readonly labelledRepeats: number;
  readonly violations: readonly string[];
};

type Said = { readonly number: string; readonly channel: "telegram" | "discord"; readonly chat: string };

const program = fileURLToPath(new URL("../../bin/nanogate.js", import.meta.url));
const patienceMs = 30_000;

export async function runLab(options: LabOptions): Promise<LabReport> {
  const kills: Record<string, number> = {};
  const violations: string[] = [];
  let messages = 0;
  let labelledRepeats = 0;
  const perCheck = options.killsPerCheck ?? 20;
  const points: readonly string[] = options.points ?? [...killPoints, "random"];
  for (let done = 0; done < options.kills; done += perCheck) {
    const plan = Array.from(
      { length: Math.min(perCheck, options.kills - done) },
      (_, at) => points[(done + at) % points.length] ?? "random",
    );
    const report = await oneHouse(options.seed + done, plan);
    for (const point of report.killed) kills[point] = (kills[point] ?? 0) + 1;
    messages += report.messages;
    labelledRepeats += report.labelledRepeats;
    violations.push(...report.violations.map((text) => `seed ${options.seed + done}: ${text}`));
    options.onProgress?.(done + plan.length, violations);
  }
  return { kills, messages, labelledRepeats, violations };
}

/** One home, one chain of lives, one check of the books. */
async function oneHouse(seed: number, plan: readonly string[]) {
  const random = createRandom(seed);
  const home = mkdtempSync(join(tmpdir(), "nanogate-lab-"));
  const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openFakeModel()]);
  const others = [discord.person("ann"), discord.person("bob")];
  const rooms = others.map((one) => [discord.addPrivateChat(one), one] as const);
  const said: Said[] = [];
  const killed: string[] = [];
  const codes: (number | null)[] = [];
  configure(home, { telegram, discord, model });

  const newText = (): { number: string; text: string } => {
    const number = String(said.length + 1).padStart(4, "0");
    return { number, text: `${random.oneOf(["say", "do"])} ${number}` };
  };
  const speakOnDiscord = ([room, person]: (typeof rooms)[number]): void => {
    const { number, text } = newText();
    discord.say(room, person, text);
    said.push({ number, channel: "discord", chat: room });
  };
  const speak = (): void => {
    if (random.below(2) === 0) return speakOnDiscord(random.oneOf(rooms));
    const { number, text } = newText();
    const chat = random.oneOf([501, 502]);
    telegram.say(chat, text);
    said.push({ number, channel: "telegram", chat: String(chat) });
  };
  const isTold = ({ number, channel }: Said): boolean =>
    channel === "telegram"
      ? telegram.sent.some(({ text }) => text.includes(`answer ${number}`))
      : discord.posts.some(({ content }) => content.includes(`answer ${number}`));
  const allTold = async (daemon: ChildProcess): Promise<void> => {
    const late = Date.now() + patienceMs;
    while (!said.every(isTold) && Date.now() < late && daemon.exitCode === null) await wait(25);
  };

  /** Long enough to answer everything; its exit code. */
  const peacefulLife = async (): Promise<number | null> => {
    const daemon = start(home, undefined);
    await isRunning(daemon);
    await allTold(daemon);
    await wait(50);
    return ended(daemon);
  };

  try {
    // Discord tells nobody of private chats that began while nobody was there; they have to be known first.
    const first = start(home, undefined);
    await discord.until(() => discord.isConnected(), "the first login");
    for (const room of rooms) speakOnDiscord(room);
    await allTold(first);
    await ended(first);
    for (const point of plan) {
      const daemon = start(home, point === "random" ? undefined : `${point}#${1 + random.below(3)}`);
      for (let count = 0; count < 3; count++) speak();
      if (random.below(4) === 0) model.fail(random.oneOf(["429", "500", "cut"]));
      const moment = point === "random" ? 400 + random.below(1500) : 6000;
      const died = await Promise.race([once(daemon, "exit").then(() => true), wait(moment).then(() => false)]);
      if (!died) {
        daemon.kill("SIGKILL");
        await once(daemon, "exit");
      }
      killed.push(point);
      // A message that is at work in three deaths in a row is put aside, rightly; two are survived.
      if (killed.length % 2 === 0) codes.push(await peacefulLife());
    }
    codes.push(await peacefulLife());
    const violations = await audit(home, said, { telegram, discord }, killed.length);
    for (const code of codes) if (code !== 0) violations.push(`a peaceful life ended with ${code}, not 0`);
    const labelledRepeats = telegram.sent.filter(({ text }) => text.includes("↻")).length;
    return { killed, messages: said.length, labelledRepeats, violations };
  } finally {
    await Promise.all([telegram.close(), discord.close()]);
    model.close();
    rmSync(home, { recursive: true, force: true });
  }
}

type Fakes = {
  readonly telegram: Awaited<ReturnType<typeof openFakeTelegram>>;
  readonly discord: Awaited<ReturnType<typeof startFakeDiscord>>;
  readonly model: Awaited<ReturnType<typeof openFakeModel>>;
};

function configure(home: string, { telegram, discord, model }: Fakes): void {
  mkdirSync(home, { recursive: true });
  const config = {
    agents: { defaults: { provider: "custom", model: "lab" } },
    providers: { custom: { apiKey: "lab", apiBase: model.url } },
    channels: {
      sendProgress: false,
      telegram: { enabled: true, token: telegram.token, apiRoot: telegram.url, allowFrom: ["*"] },
      discord: { enabled: true, token: discord.token, apiRoot: discord.apiRoot, allowFrom: ["*"] },
    },
    gateway: { port: 0, graceSeconds: 5 },
  };
  writeFileSync(join(home, "config.json"), JSON.stringify(config));
}

function start(home: string, kill: string | undefined): ChildProcess {
  const env = { PATH: process.env["PATH"], HOME: home, ...(kill !== undefined && { NANOGATE_LAB_KILL: kill }) };
  const log = process.env["NANOGATE_LAB_LOG"] === undefined ? "ignore" : "inherit";
  return spawn(process.execPath, [program, "gateway", "--home", home], { env, stdio: ["ignore", "pipe", log] });
}

/** Resolves when the daemon says that it runs; before that a signal would end it like any other program. */
function isRunning(daemon: ChildProcess): Promise<void> {
  return new Promise<void>((resolve) => {
    daemon.stdout?.on("data", (text: Buffer) => {
      if (text.includes("is running")) resolve();
    });
    daemon.once("exit", () => resolve());
  });
}

/** Asks the daemon to end; its exit code, or null if it had to be killed. */
async function ended(daemon: ChildProcess): Promise<number | null> {
  const exit = once(daemon, "exit") as Promise<[number | null]>;
  daemon.kill("SIGTERM");
  const timer = setTimeout(() => daemon.kill("SIGKILL"), patienceMs);
  const [code] = await exit;
  clearTimeout(timer);
  return code;
}

/** What must be true whatever was killed when. */
async function audit(
  home: string,
  said: readonly Said[],
  { telegram, discord }: Omit<Fakes, "model">,
  kills: number,
): Promise<string[]> {
  const violations: string[] = [];
  const ledger = await openSqliteLedger({ file: join(home, "state", "ledger.sqlite"), now: Date.now, reach: () => {} });
  const entries = await ledger.reports.entries("all", 100_000);
  await ledger.close();
  const sessions = openSessions({ workspace: join(home, "workspace") });
  for (const { number, channel, chat } of said) {
    const mine = entries.filter(({ text }) => text.endsWith(` ${number}`));
    if (mine.length !== 1) violations.push(`${number}: ${mine.length} entries in the ledger`);
    if (mine[0]?.outcome !== "answered") violations.push(`${number}: outcome ${mine[0]?.outcome} (${mine[0]?.reason})`);
    const session = await sessions.getOrCreate(`${channel}:${chat}`);
    const rows = session.slice(0);
    const questions = rows.flatMap(({ role, content }, at) =>
      role === "user" && String(content).endsWith(` ${number}`) ? [at] : [],
    );
    const answers = rows.flatMap(({ role, content }, at) =>
      role === "assistant" && content === `answer ${number}` ? [at] : [],
    );
    if (questions.length !== 1 || answers.length !== 1) {
      violations.push(`${number}: stands ${questions.length} times in the session, answered ${answers.length} times`);
    } else if (
      (answers[0] ?? 0) <= (questions[0] ?? 0) ||
      rows.slice((questions[0] ?? 0) + 1, answers[0]).some(({ role }) => role === "user")
    ) {
      violations.push(`${number}: its turn is not whole and in order`);
    }
    const told =
      channel === "telegram"
        ? telegram.sent.filter(({ text }) => text.includes(`answer ${number}`)).map(({ text }) => text)
        : discord.posts.filter(({ content }) => content.includes(`answer ${number}`)).map(({ content }) => content);
    const unlabelled = told.filter((text) => !text.includes("↻"));
    if (told.length === 0) violations.push(`${number}: never told`);
    if (unlabelled.length > 1) violations.push(`${number}: told ${unlabelled.length} times without saying so`);
    if (channel === "discord" && told.length > 1) violations.push(`${number}: Discord shows it ${told.length} times`);
  }
  await sessions.close();
  const labelled = telegram.sent.filter(({ text }) => text.includes("↻")).length;
  if (labelled > kills) violations.push(`${labelled} labelled repeats for ${kills} kills`);
  const marks = join(home, "workspace", "marks.txt");
  const runs = existsSync(marks) ? readFileSync(marks, "utf8").trim().split("\n") : [];
  for (const number of new Set(runs)) {
    const count = runs.filter((run) => run === number).length;
    if (count > 1) violations.push(`${number}: its tool ran ${count} times`);
  }
  violations.push(...discord.violations.map((text) => `Discord: ${text}`));
  return violations;
}
