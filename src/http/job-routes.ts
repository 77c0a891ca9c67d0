/** Jobs by the clock, for the page: when they are due, what became of each time, run now, pause, remove. */
import type { Job, JobStore } from "../cron/job.js";
import type { HistoryEntry, OccurrenceReports } from "../cron/occurrences.js";
import { preview } from "../cron/preview.js";
import { scheduleInWords } from "../cron/words.js";
import { keyOf } from "../message.js";
import type { JobView, OccurrenceView } from "./api.js";
import type { Asked, DoorApp } from "./event-stream.js";
import { numberIn } from "./query.js";

export type JobParts = {
  /** Absent: no clock is running here. */
  readonly clock?: {
    readonly jobs: Pick<JobStore, "list" | "enable" | "remove">;
    /** The zone of schedules that name none; absent: the machine's. */
    readonly zone?: () => string;
  };
  readonly occurrences: Pick<OccurrenceReports, "history" | "request">;
  readonly now: () => number;
};

const shownRuns = 10;

export function addJobRoutes(app: DoorApp, { clock, occurrences, now }: JobParts): void {
  const noClock = (context: Asked): Response => context.json({ error: "No clock is running in this gateway." }, 404);
  const unknown = (context: Asked): Response =>
    context.json({ error: `There is no job ${context.req.param("id")}.` }, 404);
  const find = async (context: Asked): Promise<Job | undefined> =>
    (await clock?.jobs.list())?.find(({ id }) => id === context.req.param("id"));

  app.get("/api/jobs", async (context) => {
    if (!clock) return noClock(context);
    return context.json({ jobs: (await clock.jobs.list()).map((job) => viewOf(job, now(), clock.zone?.())) });
  });

  app.post("/api/jobs/:id/run", async (context) => {
    if (!clock) return noClock(context);
    const job = await find(context);
    if (!job) return unknown(context);
    await occurrences.request(job);
    return context.json({ done: true });
  });

  for (const [change, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    app.post(`/api/jobs/:id/${change}`, async (context) => {
      if (!clock) return noClock(context);
      const job = await find(context);
      if (!job) return unknown(context);
      return context.json({ done: (await clock.jobs.enable(job.id, enabled)) !== undefined });
    });
  }

  app.delete("/api/jobs/:id", async (context) => {
    if (!clock) return noClock(context);
    const job = await find(context);
    if (!job) return unknown(context);
    return context.json({ done: await clock.jobs.remove(job.id) });
  });

  app.get("/api/occurrences", async (context) => {
    const job = context.req.query("job");
    const limit = numberIn(context, "limit", { otherwise: 100, most: 1000 });
    const found = await occurrences.history({ ...(job && { job }), limit });
    return context.json({ occurrences: found.map(occurrenceOf) });
  });
}

function viewOf(job: Job, now: number, zone: string | undefined): JobView {
  const { id, name, message, enabled, schedule, to, policy, createdAtMs } = job;
  const options = { ...(zone !== undefined && { zone }), anchorMs: createdAtMs };
  const rows = enabled ? preview(schedule, { ...options, after: now, count: shownRuns }) : [];
  return {
    id,
    name,
    message,
    enabled,
    schedule,
    timing: scheduleInWords(schedule, zone).replace(/^cron: /, ""),
    ...(to && { to: keyOf(to) }),
    policy,
    nextRunsMs: rows.flatMap((row) => (row.kind === "run" ? [row.at] : [])),
  };
}

const occurrenceOf = ({ job, dueAt, decidedAt, endedAt, outcome, reason }: HistoryEntry): OccurrenceView => ({
  jobId: job,
  dueAtMs: dueAt,
  ...(outcome !== "skipped" && { startedAtMs: decidedAt }),
  ...(endedAt !== undefined && { finishedAtMs: endedAt }),
  ...(outcome !== "open" && { outcome }),
  ...(reason !== undefined && { reason }),
});
