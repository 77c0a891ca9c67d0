/** The tool that schedules messages to the agent itself: reminders and recurring tasks of the chat it is used in. */
import * as z from "zod/mini";
import { checkSchedule } from "../../cron/check-schedule.js";
import type { Job, Jobs, Schedule } from "../../cron/job.js";
import { nextRun } from "../../cron/next-run.js";
import { moment, scheduleInWords } from "../../cron/words.js";
import type { Address } from "../../message.js";
import { firstCharacters } from "../../session/turn-rows.js";
import type { Clock } from "../../world.js";
import { parseLocalTime } from "./local-time.js";
import { defineTool, type Tool, type ToolContext, ToolError } from "./tool.js";

export type CronParts = {
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** The zone of times that name none; absent: the machine's. */
  readonly timezone?: string;
};

const nameChars = 30;
/** A chat that wants more has a loop in it. */
const mostJobs = 50;
const mostSeconds = 10 * 366 * 24 * 3600;

const input = z.object({
  action: z.enum(["add", "list", "remove"]).check(z.describe("Action to perform")),
  message: z.optional(z.string().check(z.maxLength(20_000), z.describe("What to be reminded of or to do (for add)"))),
  every_seconds: z.optional(
    z.int().check(z.gte(1), z.lte(mostSeconds), z.describe("Interval in seconds (for recurring tasks)")),
  ),
  cron_expr: z.optional(
    z
      .string()
      .check(z.describe("Cron expression like '0 9 * * 1-5' (minute hour day month weekday; seconds as a sixth)")),
  ),
  tz: z.optional(z.string().check(z.describe("IANA timezone for cron_expr, like 'America/Vancouver'"))),
  at: z.optional(z.string().check(z.describe("ISO datetime for a single run, like '2026-02-12T10:30:00'"))),
  job_id: z.optional(z.string().check(z.describe("Job id (for remove)"))),
});
type Input = z.infer<typeof input>;
type Action = (parts: CronParts, given: Input, context: ToolContext) => Promise<string>;

export const cronTool = (parts: CronParts): Tool =>
  defineTool({
    name: "cron",
    description:
      "Schedule reminders and recurring tasks of this chat. Actions: add, list, remove. When a job runs, its message " +
      "is given to you as a task and your answer is sent to this chat.",
    input,
    run: (given, context) => actions[given.action](parts, given, context),
  });

const add: Action = async ({ jobs, clock, timezone }, given, { session, from, unasked }) => {
  // A job that makes jobs would multiply while nobody looks.
  if (unasked || session.startsWith("cron:"))
    throw new ToolError("cannot schedule new jobs from within a cron job execution");
  const message = given.message?.trim() ?? "";
  if (message === "") throw new ToolError("message is required for add");
  if (from.channel === "" || from.chat === "") throw new ToolError("no session context (channel/chat_id)");
  const schedule = scheduleOf(given, timezone, Date.parse(clock()));
  if ((await jobsOf(jobs, from)).length >= mostJobs) {
    throw new ToolError(`this chat already has ${mostJobs} jobs; remove one first`);
  }
  const name = firstCharacters(message, nameChars);
  const job = await jobs.add({ name, message, schedule, to: from, deleteAfterRun: schedule.kind === "at" });
  return `Created job '${job.name}' (id: ${job.id})`;
};

function scheduleOf(
  { every_seconds: every, cron_expr: expr, tz, at }: Input,
  zone: string | undefined,
  now: number,
): Schedule {
  if (tz && !expr) throw new ToolError("tz can only be used with cron_expr");
  if (every) return { kind: "every", everyMs: every * 1000 };
  if (expr) {
    const where = tz || zone;
    const schedule: Schedule = { kind: "cron", expr: expr.trim(), ...(where !== undefined && { tz: where }) };
    const problem = checkSchedule(schedule);
    if (problem?.startsWith("unknown timezone")) throw new ToolError(problem);
    if (problem !== undefined) throw new ToolError(`invalid cron expression '${expr}': ${problem}`);
    if (nextRun(schedule, now) === undefined) throw new ToolError(`'${expr}' is over, so it would never run`);
    return schedule;
  }
  if (!at) throw new ToolError("either every_seconds, cron_expr, or at is required");
  const atMs = parseLocalTime(at, zone);
  if (atMs === undefined) {
    throw new ToolError(`invalid ISO datetime format '${at}'. Expected format: YYYY-MM-DDTHH:MM:SS`);
  }
  if (atMs <= now) throw new ToolError(`'${at}' is in the past, so it would never run`);
  return { kind: "at", atMs };
}

const list: Action = async ({ jobs, timezone }, _, { from }) => {
  const own = await jobsOf(jobs, from);
  if (own.length === 0) return "No scheduled jobs.";
  return ["Scheduled jobs:", ...own.flatMap((job) => linesFor(job, timezone))].join("\n");
};

function linesFor({ name, id, schedule, enabled, nextRunAtMs }: Job, timezone: string | undefined): string[] {
  const zone = (schedule.kind === "cron" ? schedule.tz : undefined) ?? timezone;
  const first = `- ${name} (id: ${id}, ${scheduleInWords(schedule, zone)})`;
  if (!enabled) return [first, "  Switched off"];
  return nextRunAtMs === undefined ? [first] : [first, `  Next run: ${moment(nextRunAtMs, zone)}`];
}

const remove: Action = async ({ jobs }, { job_id: id }, { from }) => {
  if (!id) throw new ToolError("job_id is required for remove");
  const isOwn = (await jobsOf(jobs, from)).some((job) => job.id === id);
  return isOwn && (await jobs.remove(id)) ? `Removed job ${id}` : `Job ${id} not found`;
};

const actions = { add, list, remove } as const;

/** One chat neither sees nor removes what another has planned. */
const jobsOf = async (jobs: Jobs, { channel, chat }: Address): Promise<Job[]> =>
  (await jobs.list()).filter(({ to }) => to?.channel === channel && to.chat === chat);
