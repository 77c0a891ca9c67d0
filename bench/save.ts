/** What a save of one turn costs, against the length of the session and against writing the file anew. */
import { spawnSync } from "node:child_process";
import { closeSync, copyFileSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pythonJson } from "../src/index.js";
import {
  appendingDrivers,
  canHold,
  type DriverName,
  driverNames,
  grownSession,
  jsonlFile,
  openDriver,
} from "./drivers.js";
import { atLeast, atMost, type Bench, type Contestant, median, race, rowsPerTurn, turnOf } from "./harness.js";
import { rewriteWith } from "./rewriting.js";

const sizes = [10, 1000, 10_000, 100_000];
const [shortest = 0, , middle = 0, longest = 0] = sizes;
const keyOf = (rows: number): string => `bench:${rows}`;

export const save: Bench = {
  name: "save",
  title: "Save of one 4-row turn, durable, by rows already in the session",
  async run(folder) {
    const stores = driverNames.map((driver) => ({ driver, sessions: openDriver(folder, driver) }));
    const contestants: Record<string, Contestant> = { disk: diskAlone(join(folder, "disk.bin")) };
    for (const rows of sizes) {
      for (const { driver, sessions } of stores) {
        if (!canHold(driver, rows)) continue;
        const session = await grownSession(sessions, keyOf(rows), rows);
        const work = (): Promise<void> => {
          session.addRows(turnOf(session.length));
          return sessions.save(session);
        };
        const often = appends(driver) ? { rounds: 60, burst: 10 } : { rounds: roundsOfRewriting(rows) };
        contestants[name(driver, rows)] = { work, ...often };
      }
      const copy = join(folder, `rewritten-${rows}.jsonl`);
      copyFileSync(jsonlFile(folder, keyOf(rows)), copy);
      contestants[name("rewriting", rows)] = {
        work: () => rewriteWith(copy, turnOf(rows)),
        rounds: roundsOfRewriting(rows),
      };
    }
    const times = await race(contestants);
    for (const { sessions } of stores) await sessions.close();
    const took = (contestant: string, rows: number): number => median(times[name(contestant, rows)] ?? []);
    const disk = median(times["disk"] ?? []);
    const python = nanobotSave(folder);
    return {
      table: [...driverNames, "rewriting", ...(python ? [nanobot] : [])].map((contestant) => {
        const at = (rows: number): number =>
          contestant === nanobot ? (python?.[sizes.indexOf(rows)] ?? Number.NaN) : took(contestant, rows);
        return {
          contestant,
          ...Object.fromEntries(sizes.map((rows) => [`ms at ${rows}`, at(rows)])),
          [`${longest} / ${shortest}`]: at(longest) / at(shortest),
          [`jsonl at ${middle} is faster by`]: at(middle) / took("jsonl", middle),
        };
      }),
      targets: [
        ...appendingDrivers.map((driver) =>
          atMost(
            `${driver}: time at ${longest} rows against ${shortest}`,
            took(driver, longest) / took(driver, shortest),
            1.5,
          ),
        ),
        atLeast(
          `jsonl: faster than rewriting at ${middle} rows`,
          took("rewriting", middle) / took("jsonl", middle),
          100,
        ),
      ],
      notes: [
        `The disk alone (append ${rowsPerTurn} rows to an open file, fdatasync) takes ${disk.toFixed(3)} ms,` +
          ` ${Math.round((100 * disk) / took("jsonl", middle))} % of a jsonl save at ${middle} rows.`,
        "A document is written as a whole each time, by design, and may have 16 MB.",
        "Rewriting: read, JSON.parse every line, add the turn, print all, write, fsync.",
        python
          ? "nanobot keeps all rows in memory, so it does not read before it writes; it does not fsync."
          : "python3 has no nanobot-ai to compare with; skipped.",
      ],
    };
  },
};

const nanobot = "nanobot (Python)";
const name = (contestant: string, rows: number): string => `${contestant} ${rows}`;
const appends = (driver: DriverName): boolean => appendingDrivers.includes(driver);
const roundsOfRewriting = (rows: number): number => (rows >= longest ? 4 : rows >= middle ? 20 : 60);

/** The least that any durable save can cost on this machine. */
function diskAlone(path: string): Contestant {
  const turn = turnOf(1).map((row) => `${pythonJson(row)}\n`);
  const bytes = Buffer.from(turn.join(""));
  const work = (): void => {
    const file = openSync(path, "a");
    writeSync(file, bytes);
    fdatasyncSync(file);
    closeSync(file);
  };
  return { work, rounds: 60, burst: 10 };
}

/** The median milliseconds of nanobot's own save for each of the sizes, if it is installed. */
function nanobotSave(folder: string): number[] | undefined {
  const turns = JSON.stringify([0, 1, 2].map(turnOf));
  const { status, stdout } = spawnSync("python3", ["-c", nanobotScript, folder, turns, ...sizes.map(String)], {
    encoding: "utf8",
  });
  return status === 0 ? (JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as number[]) : undefined;
}

const nanobotScript = `
import json, statistics, sys, time
from pathlib import Path
from nanobot.session.manager import SessionManager
folder, turns, *sizes = sys.argv[1:]
turns = json.loads(turns)
manager = SessionManager(Path(folder) / "nanobot")
medians = []
for size in map(int, sizes):
    session = manager.get_or_create(f"bench:{size}")
    while len(session.messages) < size:
        session.messages.extend(dict(row) for row in turns[0])
    times = []
    for _ in range(5 if size >= 100000 else 15):
        session.messages.extend(dict(row) for row in turns[1])
        start = time.perf_counter()
        manager.save(session)
        times.append((time.perf_counter() - start) * 1000)
    medians.append(statistics.median(times))
print(json.dumps(medians))
`;
