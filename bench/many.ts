/** Many sessions: opened one after the other in a process that knows none of them, and saved all at once. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { driverNames, grownSession, jsonlFile, openDriver } from "./drivers.js";
import { type Bench, milliseconds, percentile, turnOf } from "./harness.js";
import { parseAll, rewriteWith } from "./rewriting.js";

const opened = 1000;
const saved = 100;
const rowsEach = 200;
const rounds = 4;
const keyOf = (number: number): string => `bench:${number}`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

/** One contestant's way to do both; each tells the milliseconds of every session, saving also those of all together. */
type Contestant = {
  readonly name: string;
  readonly open: () => Promise<number[]>;
  readonly save: () => Promise<{ readonly each: number[]; readonly together: number }>;
};

export const many: Bench = {
  name: "many",
  title: `${opened} sessions of ${rowsEach} rows opened cold; ${saved} sessions saved at the same time`,
  async run(folder) {
    const contestants: Contestant[] = [];
    for (const driver of driverNames) {
      const sessions = openDriver(folder, driver);
      for (const number of numbers(opened)) await grownSession(sessions, keyOf(number), rowsEach);
      await sessions.close();
      contestants.push(driverContestant(folder, driver));
    }
    contestants.push(rewritingContestant(folder));
    const openTimes = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
    const saveTimes = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
    const saveRounds = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
    for (let round = 0; round <= rounds; round++) {
      for (const { name, open, save } of contestants) {
        const openRound = await open();
        const { each, together } = await save();
        if (round === 0) continue; // warming up
        openTimes.get(name)?.push(...openRound);
        saveTimes.get(name)?.push(...each);
        saveRounds.get(name)?.push(together);
      }
    }
    return {
      table: contestants.map(({ name }) => {
        const opens = openTimes.get(name) ?? [];
        const saves = saveTimes.get(name) ?? [];
        return {
          contestant: name,
          "opened per s": 1000 / percentile(opens, 0.5),
          "open ms p50": percentile(opens, 0.5),
          "open ms p99": percentile(opens, 0.99),
          "saved per s": (1000 * saved) / percentile(saveRounds.get(name) ?? [], 0.5),
          "save ms p50": percentile(saves, 0.5),
          "save ms p99": percentile(saves, 0.99),
        };
      }),
      targets: [],
      notes: [
        "No target; rates and p99 are reported. A save's time is from asking for it until it is durable,",
        `with ${saved} asked for in the same instant. The files are in the page cache.`,
      ],
    };
  },
};

function driverContestant(folder: string, driver: (typeof driverNames)[number]): Contestant {
  return {
    name: driver,
    async open() {
      const sessions = openDriver(folder, driver);
      const times: number[] = [];
      for (const number of numbers(opened)) {
        times.push(await milliseconds(async () => (await sessions.getOrCreate(keyOf(number))).history(100)));
      }
      await sessions.close();
      return times;
    },
    async save() {
      const sessions = openDriver(folder, driver);
      const chats = await Promise.all(numbers(saved).map((number) => sessions.getOrCreate(keyOf(number))));
      for (const session of chats) session.addRows(turnOf(session.length));
      const times = await allAtOnce(chats.map((session) => () => sessions.save(session)));
      await sessions.close();
      return times;
    },
  };
}

function rewritingContestant(folder: string): Contestant {
  mkdirSync(join(folder, "rewriting"));
  const fileOf = (number: number): string => join(folder, "rewriting", `${number}.jsonl`);
  for (const number of numbers(opened)) copyFileSync(jsonlFile(folder, keyOf(number)), fileOf(number));
  return {
    name: "rewriting",
    async open() {
      const times: number[] = [];
      for (const number of numbers(opened)) {
        times.push(await milliseconds(async () => (await parseAll(fileOf(number))).slice(-100)));
      }
      return times;
    },
    save: () => allAtOnce(numbers(saved).map((number) => () => rewriteWith(fileOf(number), turnOf(number)))),
  };
}

async function allAtOnce(saves: readonly (() => Promise<void>)[]): Promise<{ each: number[]; together: number }> {
  let each: number[] = [];
  const together = await milliseconds(async () => {
    each = await Promise.all(saves.map(milliseconds));
  });
  return { each, together };
}
