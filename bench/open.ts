/** Opening a long session for its newest rows, against parsing all of it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  appendingDrivers,
  canHold,
  type DriverName,
  driverNames,
  grownSession,
  jsonlFile,
  openDriver,
} from "./drivers.js";
import { atLeast, atMost, type Bench, type Contestant, median, race } from "./harness.js";
import type { Opening } from "./open-once.js";
import { parseAll } from "./rewriting.js";

const short = 1000;
const long = 100_000;
const freshProcesses = 5;
const keyOf = (rows: number): string => `bench:${rows}`;

export const open: Bench = {
  name: "open",
  title: `Open a session of ${long} rows (40 MB) and get history(100)`,
  async run(folder) {
    for (const driver of driverNames) {
      const sessions = openDriver(folder, driver);
      for (const rows of sizesFor(driver)) await grownSession(sessions, keyOf(rows), rows);
      await sessions.close();
    }
    const contestants: Record<string, Contestant> = {};
    for (const driver of driverNames) {
      for (const rows of sizesFor(driver)) {
        contestants[nameOf(driver, rows)] = { work: () => openCold(folder, driver, rows), rounds: 60 };
      }
    }
    for (const rows of sizesFor(parsing)) {
      const work = (): Promise<unknown> => parseAll(jsonlFile(folder, keyOf(rows)));
      contestants[nameOf(parsing, rows)] = { work, rounds: rows === short ? 60 : 8 };
    }
    const times = await race(contestants);
    const ms = (contestant: string, rows: number): number => median(times[nameOf(contestant, rows)] ?? []);
    const fresh = await openInFreshProcesses(folder);
    const freshMs = (contestant: string): number =>
      median((fresh.get(nameOf(contestant, long)) ?? []).map((opening) => opening.ms));
    const grownMb = (contestant: string, rows: number): number =>
      median((fresh.get(nameOf(contestant, rows)) ?? []).map((opening) => opening.grownBytes)) / 1e6;
    return {
      table: [...driverNames, parsing].map((contestant) => ({
        contestant,
        [`ms at ${short}`]: ms(contestant, short),
        [`ms at ${long}`]: ms(contestant, long),
        "faster than parsing": ms(parsing, long) / ms(contestant, long),
        "ms, fresh process": freshMs(contestant),
        [`MB held at ${short}`]: grownMb(contestant, short),
        [`MB held at ${long}`]: grownMb(contestant, long),
      })),
      targets: [
        atLeast("jsonl: faster than parsing the whole file", ms(parsing, long) / ms("jsonl", long), 30),
        ...appendingDrivers.map((driver) =>
          atMost(
            `${driver}: memory held at ${long} rows beyond that at ${short}`,
            grownMb(driver, long) - grownMb(driver, short),
            4,
            "MB",
          ),
        ),
      ],
      notes: [
        "Times are those of a process that has done it before, as a gateway has; a fresh one has yet to compile its code.",
        "Memory: how much a fresh process's resident size grows. The files are in the page cache.",
      ],
    };
  },
};

const parsing = "parsing";
const sizesFor = (contestant: string): number[] => [short, long].filter((rows) => canHold(contestant, rows));
const nameOf = (contestant: string, rows: number): string => `${contestant} ${rows}`;

/** By a manager that has never seen the session. */
async function openCold(folder: string, driver: DriverName, rows: number): Promise<void> {
  const sessions = openDriver(folder, driver);
  (await sessions.getOrCreate(keyOf(rows))).history(100);
  await sessions.close();
}

async function openInFreshProcesses(folder: string): Promise<Map<string, Opening[]>> {
  const openings = new Map<string, Opening[]>();
  for (let round = 0; round < freshProcesses; round++) {
    for (const contestant of [...driverNames, parsing]) {
      for (const rows of sizesFor(contestant)) {
        const name = nameOf(contestant, rows);
        const place = contestant === parsing ? jsonlFile(folder, keyOf(rows)) : folder;
        openings.set(name, [...(openings.get(name) ?? []), await openOnce(contestant, place, keyOf(rows))]);
      }
    }
  }
  return openings;
}

async function openOnce(contestant: string, place: string, key: string): Promise<Opening> {
  const child = fork(fileURLToPath(new URL("open-once.ts", import.meta.url)), [contestant, place, key]);
  const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`opening ended with ${String(code)}`)));
  failed.catch(() => {}); // after the message nobody minds how it ends
  const [opening] = (await Promise.race([once(child, "message"), failed])) as [Opening];
  return opening;
}
