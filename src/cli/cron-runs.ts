/** `nanogate cron run` and `history`: the clock's book, which lies in the ledger. */
import { type HistoryEntry, runIdOf } from "../cron/occurrences.js";
import { UserError } from "../util/errors.js";
import { machineZone, timeIn } from "../util/zone.js";
import { type CronOptions, existingJob, unknownJob, withJobs } from "./open-jobs.js";
import { openLedger } from "./open-ledger.js";
import { spelledOut } from "./printable.js";
import { positive, styled, table, type Terminal } from "./terminal.js";

export async function runJob(id: string, options: CronOptions, terminal: Terminal): Promise<void> {
  await withJobs(options, terminal, async ({ jobs }) => {
    const job = await existingJob(jobs, id);
    const ledger = await openLedger(options, "change");
    if (!ledger)
      throw new UserError("No gateway has run here yet, so there is nobody to run it.", "Start one: nanogate gateway.");
    const run = runIdOf(await ledger.occurrences.request(job));
    await ledger.close();
    if (options.json) return terminal.out(JSON.stringify({ id, run }));
    terminal.out(
      `Job ${id} runs within seconds if the gateway runs, else at its next start.\n` +
        styled(
          terminal,
          "dim",
          `\`nanogate cron history ${id}\` shows what came of it, \`nanogate trace ${run}\` how.`,
        ),
    );
  });
}

export async function showHistory(
  id: string | undefined,
  options: CronOptions & { readonly limit: string },
  terminal: Terminal,
): Promise<void> {
  const limit = positive(options.limit, "--limit");
  await withJobs(options, terminal, async ({ jobs, zone }) => {
    const ledger = await openLedger(options, "look");
    const rows = (await ledger?.occurrences.history({ limit, ...(id !== undefined && { job: id }) })) ?? [];
    await ledger?.close();
    const isKnown = rows.length > 0 || id === undefined || (await jobs.list()).some((job) => job.id === id);
    if (!isKnown) unknownJob(id);
    if (options.json) return terminal.out(JSON.stringify(rows));
    if (rows.length === 0) return terminal.out("Nothing was due yet.");
    terminal.out(
      table(
        terminal,
        ["DUE", "JOB", "NAME", "OUTCOME", "TRIES", "ENDED", "REMARK"],
        rows.map((row) => cells(row, zone)),
      ),
    );
    terminal.out(styled(terminal, "dim", `Times are in ${zone ?? machineZone()}.`));
  });
}

const cells = (row: HistoryEntry, zone: string | undefined): string[] => [
  timeIn(row.dueAt, zone),
  spelledOut(row.job),
  spelledOut(row.name),
  outcomes[row.outcome],
  row.outcome === "skipped" ? "" : String(row.attempts),
  row.endedAt === undefined ? "" : timeIn(row.endedAt, zone),
  remark(row, zone),
];

const outcomes: Readonly<Record<HistoryEntry["outcome"], string>> = {
  open: "open",
  ran: "ran",
  late: "caught up",
  skipped: "skipped",
  failed: "failed",
};

/** Why a time was skipped, in words. */
const skipped: Readonly<Record<string, string>> = {
  skip: "it was missed, and missed ones are skipped",
  once: "it was missed, and a newer one was made up for",
  grace: "it was missed too long ago",
  overlap: "the one before was still running",
  removed: "the job was removed",
  asleep: "it was outside the active hours",
  idle: "there was nothing to do",
};

function remark({ outcome, reason, how, count, dueAt, until }: HistoryEntry, zone: string | undefined): string {
  const why = reason === undefined ? "" : outcome === "skipped" ? (skipped[reason] ?? reason) : reason;
  const several = until > dueAt ? `${count ?? "all"} times until ${timeIn(until, zone)}` : "";
  return [how === "manual" ? "asked for" : "", several, spelledOut(why)].filter(Boolean).join("; ");
}
