/** `nanogate cron list`, `remove`, `enable` and `disable`. */
import type { Job } from "../cron/job.js";
import { nextRun } from "../cron/next-run.js";
import { moment, scheduleInWords } from "../cron/words.js";
import { keyOf } from "../message.js";
import { machineZone, timeIn } from "../util/zone.js";
import { type CronOptions, unknownJob, withJobs } from "./open-jobs.js";
import { spelledOut } from "./printable.js";
import { styled, table, type Terminal } from "./terminal.js";

export async function listJobs(options: CronOptions, terminal: Terminal): Promise<void> {
  await withJobs(options, terminal, async ({ jobs, zone }) => {
    const listed = await jobs.list();
    if (options.json) return terminal.out(JSON.stringify([...listed].sort((a, b) => nextOf(a) - nextOf(b))));
    const found = listed.map((job) => planned(job, zone)).sort((a, b) => nextOf(a) - nextOf(b));
    if (found.length === 0) return terminal.out("No jobs. `nanogate cron add --help` shows how to plan one.");
    const rows = found.map((job) => [
      spelledOut(job.id),
      spelledOut(job.name),
      spelledOut(scheduleInWords(job.schedule, zone)),
      whenNext(job, zone),
      job.to === undefined ? "nobody" : spelledOut(keyOf(job.to)),
      lastOf(job, zone),
    ]);
    terminal.out(table(terminal, ["ID", "NAME", "WHEN", "NEXT RUN", "TELLS", "LAST RUN"], rows));
    terminal.out(styled(terminal, "dim", `Times are in ${zone ?? machineZone()}.`));
  });
}

/** A job that somebody wrote into the file has no next run there until the gateway has run it. */
function planned(job: Job, zone: string | undefined): Job {
  if (job.nextRunAtMs !== undefined) return job;
  const options = { anchorMs: job.createdAtMs, ...(zone !== undefined && { zone }) };
  const next = nextRun(job.schedule, Date.now(), options);
  return next === undefined ? job : { ...job, nextRunAtMs: next };
}

const nextOf = ({ enabled, nextRunAtMs }: Job): number => (enabled ? (nextRunAtMs ?? Infinity) : Infinity);

function whenNext({ enabled, nextRunAtMs }: Job, zone: string | undefined): string {
  if (!enabled) return "switched off";
  if (nextRunAtMs === undefined) return "never";
  return `${timeIn(nextRunAtMs, zone)}${nextRunAtMs <= Date.now() ? " (due)" : ""}`;
}

const lastOf = ({ last }: Job, zone: string | undefined): string =>
  last === undefined
    ? ""
    : [timeIn(last.atMs, zone), last.status, ...(last.error === undefined ? [] : [`(${spelledOut(last.error)})`])].join(
        " ",
      );

export async function changeJob(
  change: "remove" | "enable" | "disable",
  id: string,
  options: CronOptions,
  terminal: Terminal,
): Promise<void> {
  await withJobs(options, terminal, async ({ jobs, zone }) => {
    if (change === "remove") {
      if (!(await jobs.remove(id))) unknownJob(id);
      return terminal.out(options.json ? JSON.stringify({ id, removed: true }) : `Job ${id} is removed.`);
    }
    const job = (await jobs.enable(id, change === "enable")) ?? unknownJob(id);
    if (options.json) return terminal.out(JSON.stringify(job));
    if (change === "disable") return terminal.out(`Job ${id} is switched off.`);
    const next = job.nextRunAtMs === undefined ? "it never comes" : `next run ${moment(job.nextRunAtMs, zone)}`;
    return terminal.out(`Job ${id} is switched on; ${next}.`);
  });
}
