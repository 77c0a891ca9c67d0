/** `nanogate cron preview`: when a job or an expression comes next, and where the clocks change. */
import { asSentence, checkSchedule } from "../cron/check-schedule.js";
import type { Job, Schedule } from "../cron/job.js";
import { preview, type PreviewRow } from "../cron/preview.js";
import { duration, scheduleInWords } from "../cron/words.js";
import { machineZone, offsetAt, timeIn } from "../util/zone.js";
import { type CronOptions, unknownJob, withJobs } from "./open-jobs.js";
import { spelledOut } from "./printable.js";
import { positive, styled, type Terminal, WrongUse } from "./terminal.js";

export type PreviewOptions = CronOptions & { readonly tz?: string; readonly runs: string };

export async function showPreview(what: string, options: PreviewOptions, terminal: Terminal): Promise<void> {
  const count = positive(options.runs, "--runs");
  await withJobs(options, terminal, async ({ jobs, zone: own }) => {
    const job = (await jobs.list()).find(({ id }) => id === what);
    const schedule = job ? job.schedule : expressionFrom(what, options.tz ?? own);
    const zone = (schedule.kind === "cron" ? schedule.tz : undefined) ?? own ?? machineZone();
    const rows = preview(schedule, { after: Date.now(), count, zone, ...anchor(job) });
    if (options.json) return terminal.out(JSON.stringify({ schedule, zone, rows: rows.map(asJson) }));
    terminal.out(styled(terminal, "bold", `${spelledOut(scheduleInWords(schedule, zone))}, times in ${zone}`));
    if (rows.length === 0) return terminal.out("It does not come any more.");
    for (const row of rows) terminal.out(line(terminal, row, zone, own ?? machineZone()));
  });
}

const anchor = (job: Job | undefined) => (job === undefined ? {} : { anchorMs: job.createdAtMs });

function expressionFrom(expr: string, tz: string | undefined): Schedule {
  // Nobody writes an expression of one word, but for aliases.
  if (!/\s/.test(expr) && !expr.startsWith("@")) unknownJob(expr);
  const schedule: Schedule = { kind: "cron", expr, ...(tz !== undefined && { tz }) };
  const problem = checkSchedule(schedule);
  if (problem === undefined) return schedule;
  throw new WrongUse(
    asSentence(`${JSON.stringify(expr)}: ${problem}`),
    'For instance "0 9 * * 1-5": at nine from Monday to Friday.',
  );
}

function line(terminal: Terminal, row: PreviewRow, zone: string, own: string): string {
  if (row.kind === "change") {
    const [before, after] = [timeIn(row.at - 1, zone), timeIn(row.at, zone)];
    const [way, by] = [row.byMs > 0 ? "forward" : "back", duration(Math.abs(row.byMs))];
    const hands = `${afterSecond(before).slice(11, 16)} → ${after.slice(11, 16)}`;
    return styled(
      terminal,
      "yellow",
      `      the clocks go ${way} by ${by}: ${afterSecond(before).slice(0, 10)}, ${hands}`,
    );
  }
  const there = zone === own ? "" : styled(terminal, "dim", `   ${timeIn(row.at, own)} in ${own}`);
  const moved = row.moved ? styled(terminal, "yellow", "   its time does not exist that day") : "";
  return `  ${weekday(row.at, zone)} ${timeIn(row.at, zone)} ${offsetText(row.at, zone)}${there}${moved}`;
}

/** What the clocks would have shown next. */
const afterSecond = (shown: string): string => timeIn(Date.parse(`${shown.replace(" ", "T")}Z`) + 1000, "UTC");

const weekday = (at: number, zone: string): string =>
  new Intl.DateTimeFormat("en", { timeZone: zone, weekday: "short" }).format(at);

function offsetText(at: number, zone: string): string {
  const minutes = Math.round(offsetAt(at, zone) / 60_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

const asJson = (row: PreviewRow): object => ({ ...row, at: new Date(row.at).toISOString() });
