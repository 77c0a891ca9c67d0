/**
 * The lab: the real daemon as a child process between a fake Telegram, a fake Discord and a fake model, killed again and
 * again, at chosen points or at random moments. Afterwards the books are checked: what was said, stored and told.
 * `nanogate selftest` and `npm run chaos` are its doors.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Lab, LabReport } from "../../src/cli/selftest.js";
import { audit, labelledRepeats, type Said, toldFor } from "./audit.js";
import { clockChat, clockFaults, clockPoints, plantJob } from "./clock.js";
import {
  awaitDeath,
  configure,
  type Daemon,
  endDaemon,
  type Fakes,
  isRunning,
  patienceMs,
  startDaemon,
} from "./daemon.js";
import { startFakeDiscord } from "./fake-discord.js";
import { openFakeModel } from "./fake-model.js";
import { openFakeTelegram } from "./fake-telegram.js";
import { createRandom } from "./random.js";

/** Every place where the daemon can be made to die. */
export const killPoints: Lab["killPoints"] = [
  ...["accept", "begin", "step", "tool start", "finish", "appended", "sending", "sent"].flatMap((what) => [
    `before ${what}`,
    `after ${what}`,
  ]),
  "before commit",
  "before store",
  "after store",
  "before send",
  "after send",
  ...clockPoints,
];

/** Killed at any moment, not at a point. */
const random = "random";
/** After so many kills the daemon is left in peace, and the books are checked. */
const killsPerHouse = 20;
/** A point that is not reached by then is not reached; the daemon is killed all the same. */
const reachMs = 6000;

export const runLab: Lab["runLab"] = async ({ kills, seed, points = [...killPoints, random], onKill, signal }) => {
  const killed: Record<string, number> = {};
  const violations: string[] = [];
  const evidence: string[] = [];
  let planned = 0;
  let done = 0;
  let messages = 0;
  let repeats = 0;
  /** One house after the other, until all kills are spoken for. */
  const street = async (): Promise<void> => {
    while (planned < kills && !signal?.aborted) {
      // The points follow from the seed too, so that one house can be built again alone.
      const houseSeed = seed + planned;
      const plan = Array.from(
        { length: Math.min(killsPerHouse, kills - planned) },
        (_, at) => points[(houseSeed + at) % points.length] ?? random,
      );
      planned += plan.length;
      const house = await oneHouse(houseSeed, plan, signal, (point) => {
        killed[point] = (killed[point] ?? 0) + 1;
        done++;
        onKill?.(done, violations.length);
      });
      messages += house.messages;
      repeats += house.labelledRepeats;
      violations.push(...house.violations.map((text) => `seed ${houseSeed}: ${text}`));
      if (house.evidence !== undefined) evidence.push(house.evidence);
    }
  };
  // A street that cannot go on builds no more, nor do the others; all have ended before anybody hears of it.
  const giveUp = (reason: unknown): never => {
    planned = kills;
    throw reason;
  };
  const streets = Array.from({ length: availableParallelism() }, () => street().catch(giveUp));
  await Promise.allSettled(streets);
  await Promise.all(streets);
  return { kills: killed, messages, labelledRepeats: repeats, violations, evidence };
};

type HouseReport = Pick<LabReport, "messages" | "labelledRepeats" | "violations"> & {
  /** Where everything lies, if something was wrong. */
  readonly evidence: string | undefined;
};

/** One home, one chain of lives, one check of the books. */
async function oneHouse(
  seed: number,
  plan: readonly string[],
  signal: AbortSignal | undefined,
  onKill: (point: string) => void,
): Promise<HouseReport> {
  const place = mkdtempSync(join(tmpdir(), "nanogate-lab-"));
  const [telegram, discord, model] = await Promise.all([
    openFakeTelegram({ chats: [{ id: clockChat }] }),
    startFakeDiscord(),
    openFakeModel(),
  ]);
  const fakes = { telegram, discord, model };
  let broken = false;
  try {
    const home = join(place, "home");
    configure(home, fakes);
    const plantedAt = plantJob(home);
    const { said, oddEnds } = await liveAndDie(place, seed, plan, fakes, signal, onKill);
    const violations = [
      ...oddEnds,
      ...(await audit(home, said, fakes, plan.length)),
      ...(await clockFaults(home, plantedAt, fakes)),
    ];
    broken = violations.length > 0;
    if (broken) keepEvidence(place, { seed, plan, violations, said }, fakes);
    return {
      messages: said.length,
      labelledRepeats: labelledRepeats(fakes),
      violations,
      evidence: broken ? place : undefined,
    };
  } finally {
    await Promise.all([telegram.close(), discord.close()]);
    model.close();
    if (!broken) rmSync(place, { recursive: true, force: true });
  }
}

/** What was said in all those lives, and which of them ended in a way nobody wanted. */
async function liveAndDie(
  place: string,
  seed: number,
  plan: readonly string[],
  fakes: Fakes,
  signal: AbortSignal | undefined,
  onKill: (point: string) => void,
): Promise<{ readonly said: readonly Said[]; readonly oddEnds: readonly string[] }> {
  const { telegram, discord, model } = fakes;
  const home = join(place, "home");
  const chance = createRandom(seed);
  const rooms = ["ann", "bob"].map((name) => {
    const person = discord.person(name);
    return [discord.addPrivateChat(person), person] as const;
  });
  const said: Said[] = [];
  const oddEnds: string[] = [];
  let alive: Daemon | undefined;

  const start = (kill?: string): Daemon => {
    signal?.throwIfAborted();
    return (alive = startDaemon(home, join(place, "daemon.log"), kill));
  };
  const newText = (): { number: string; text: string } => {
    const number = String(said.length + 1).padStart(4, "0");
    return { number, text: `${chance.oneOf(["say", "do"])} ${number}` };
  };
  const speakOnDiscord = ([room, person]: (typeof rooms)[number]): void => {
    const { number, text } = newText();
    discord.say(room, person, text);
    said.push({ number, channel: "discord", chat: room });
  };
  const speak = (): void => {
    if (chance.below(2) === 0) return speakOnDiscord(chance.oneOf(rooms));
    const { number, text } = newText();
    const chat = chance.oneOf([501, 502]);
    telegram.say(chat, text);
    said.push({ number, channel: "telegram", chat: String(chat) });
  };
  const allTold = async (daemon: Daemon): Promise<void> => {
    const late = Date.now() + patienceMs;
    const isOver = (): boolean => said.every((one) => toldFor(one, fakes).length > 0) || daemon.exitCode !== null;
    while (!isOver() && Date.now() < late && !signal?.aborted) await wait(25);
  };
  /** Long enough to answer everything. */
  const peacefulLife = async (): Promise<void> => {
    const daemon = start();
    await isRunning(daemon);
    await allTold(daemon);
    await wait(50);
    const code = await endDaemon(daemon);
    if (code !== 0) oddEnds.push(`a peaceful life ended with ${code}, not 0`);
  };

  try {
    // Discord tells nobody of private chats that began while nobody was there; they have to be known first.
    const first = start();
    await discord.until(() => discord.isConnected(), "the first login", patienceMs);
    for (const room of rooms) speakOnDiscord(room);
    await allTold(first);
    await endDaemon(first);
    for (const [at, point] of plan.entries()) {
      const daemon = start(point === random ? undefined : `${point}#${1 + chance.below(3)}`);
      for (let count = 0; count < 3; count++) speak();
      if (chance.below(4) === 0) model.fail(chance.oneOf(["429", "500", "cut"]));
      const death = await awaitDeath(daemon, point === random ? 400 + chance.below(1500) : reachMs);
      if (death === "by itself") oddEnds.push(`${point}: the daemon ended by itself with ${daemon.exitCode}`);
      onKill(death === "at the point" ? point : random);
      // A message that is at work in three deaths in a row is put aside, rightly; two are survived.
      if (at % 2 === 1) await peacefulLife();
    }
    await peacefulLife();
    return { said, oddEnds };
  } finally {
    alive?.kill("SIGKILL");
  }
}

/** Beside the home and the daemon's log: what was planned, said and seen. */
function keepEvidence(place: string, report: object, { telegram, discord, model }: Fakes): void {
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(place, name), `${JSON.stringify(value, undefined, 2)}\n`);
  write("report.json", report);
  write("telegram.json", { sent: telegram.sent, calls: telegram.calls, pending: telegram.pending() });
  write("discord.json", { posts: discord.posts, requests: discord.requests, logins: discord.logins });
  write("model.json", { asked: model.asked });
}

// For whoever wants the house without the killing: the build, the benchmarks, tests of one's own.
export { configure, openFakeModel, openFakeTelegram, startFakeDiscord };
