/** A job that is due every two seconds through all the lives of a house, and what must be true of its times afterwards. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HistoryEntry } from "../../src/cron/occurrences.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { openSessions } from "../../src/session/open.js";
import type { Fakes } from "./daemon.js";

const id = "lab";
const everyMs = 2000;
/** Nobody else speaks there. */
export const clockChat = 503;

/** Where a daemon can be made to die over the clock's work. */
export const clockPoints = ["occurrence", "cron accept", "occurrence end"].flatMap((what) => [
  `before ${what}`,
  `after ${what}`,
]);

/** As nanobot would have written it. When it was made. */
export function plantJob(home: string): number {
  const now = Date.now();
  const job = {
    id,
    name: "lab",
    enabled: true,
    schedule: { kind: "every", atMs: null, everyMs, expr: null, tz: null },
    payload: { kind: "agent_turn", message: "say tick", deliver: true, channel: "telegram", to: String(clockChat) },
    state: { nextRunAtMs: now + everyMs, lastRunAtMs: null, lastStatus: null, lastError: null },
    createdAtMs: now,
    updatedAtMs: now,
    deleteAfterRun: false,
  };
  mkdirSync(join(home, "cron"), { recursive: true });
  writeFileSync(join(home, "cron", "jobs.json"), JSON.stringify({ version: 1, jobs: [job] }, undefined, 2));
  return now;
}

/** In words, one per thing that is not as it must be. */
export async function clockFaults(
  home: string,
  plantedAt: number,
  { telegram }: Pick<Fakes, "telegram">,
): Promise<string[]> {
  const file = join(home, "state", "ledger.sqlite");
  const ledger = await openSqliteLedger({ file, now: Date.now, reach: () => {} });
  const rows = await ledger.occurrences.history({ job: id, limit: 100_000 });
  const entries = (await ledger.reports.entries("all", 100_000)).filter(({ platformId }) =>
    platformId.startsWith(`cron-${id}-`),
  );
  await ledger.close();
  const sessions = openSessions({ workspace: join(home, "workspace") });
  const answers = (await sessions.getOrCreate(`cron:${id}`))
    .slice(0)
    .filter(({ content }) => content === "answer tick");
  await sessions.close();

  const faults = [...timeFaults(rows, plantedAt), ...rows.flatMap(rowFaults)];
  const runs = rows.filter(({ outcome }) => outcome === "ran" || outcome === "late");
  for (const { dueAt } of runs) {
    const mine = entries.filter(({ platformId }) => platformId === `cron-${id}-${dueAt}`);
    if (mine.length !== 1) faults.push(`${dueAt}: ran, with ${mine.length} entries in the ledger`);
  }
  // The last one may have been under way when the last life ended.
  const open = rows.filter(({ outcome }) => outcome === "open").length;
  if (open > 1) faults.push(`${open} times without an outcome`);
  // Some lives are so short that it only began.
  if (entries.length === 0 && Date.now() - plantedAt > 5 * everyMs) faults.push("it never ran");
  if (entries.length < runs.length || entries.length > runs.length + open) {
    faults.push(`${entries.length} entries in the ledger for ${runs.length} runs`);
  }
  if (answers.length < runs.length || answers.length > runs.length + open) {
    faults.push(`${answers.length} answers in the session for ${runs.length} runs`);
  }
  const told = telegram.sent.filter(({ chat }) => chat === clockChat).map(({ text }) => text);
  const unlabelled = told.filter((text) => !text.includes("↻")).length;
  if (unlabelled > answers.length)
    faults.push(`told ${unlabelled} times without saying so, for ${answers.length} runs`);
  if (told.length < runs.length - 1) faults.push(`told ${told.length} times for ${runs.length} runs`);
  return faults.map((text) => `the clock: ${text}`);
}

/** Each time since the job was made is in exactly one row. */
function timeFaults(rows: readonly HistoryEntry[], plantedAt: number): string[] {
  const last = Math.max(...rows.map(({ until }) => until));
  const faults: string[] = [];
  for (let at = plantedAt + everyMs; at <= last; at += everyMs) {
    const count = rows.filter(({ dueAt, until }) => dueAt <= at && at <= until).length;
    if (count !== 1) faults.push(`${at}: ${count} outcomes`);
  }
  return faults;
}

const rowFaults = ({ dueAt, outcome, reason }: HistoryEntry): string[] =>
  outcome === "failed" || (outcome === "skipped" && reason !== "once" && reason !== "overlap")
    ? [`${dueAt}: ${outcome} (${reason})`]
    : [];
