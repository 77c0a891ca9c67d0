/** The tool that schedules messages to the agent itself: reminders and recurring tasks of the chat it is used in. */
import * as z from "zod/mini";
import type { Job, Jobs, Schedule } from "../../cron/job.js";
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
  cron_expr: z.optional(z.string().check(z.describe("Cron expression like '0 9 * * *' (for scheduled tasks)"))),
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

const add: Action = async ({ jobs, clock, timezone }, given, { session, from }) => {
  // A job that makes jobs would multiply while nobody looks.
  if (session.startsWith("cron:")) throw new ToolError("cannot schedule new jobs from within a cron job execution");
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
  if (tz && !isZone(tz)) throw new ToolError(`unknown timezone '${tz}'`);
  if (every) return { kind: "every", everyMs: every * 1000 };
  if (expr) {
    if (expr.trim().split(/\s+/).length !== 5) {
      throw new ToolError(`invalid cron expression '${expr}'. Expected five fields: minute hour day month weekday`);
    }
    const where = tz || zone;
    return { kind: "cron", expr: expr.trim(), ...(where !== undefined && { tz: where }) };
  }
  if (!at) throw new ToolError("either every_seconds, cron_expr, or at is required");
  const atMs = parseLocalTime(at, zone);
  if (atMs === undefined) {
    throw new ToolError(`invalid ISO datetime format '${at}'. Expected format: YYYY-MM-DDTHH:MM:SS`);
  }
  if (atMs <= now) throw new ToolError(`'${at}' is in the past, so it would never run`);
  return { kind: "at", atMs };
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const list: Action = async ({ jobs }, _, { from }) => {
  const own = await jobsOf(jobs, from);
  if (own.length === 0) return "No scheduled jobs.";
  return ["Scheduled jobs:", ...own.map((job) => `- ${job.name} (id: ${job.id}, ${timing(job.schedule)})`)].join("\n");
};

const remove: Action = async ({ jobs }, { job_id: id }, { from }) => {
  if (!id) throw new ToolError("job_id is required for remove");
  const isOwn = (await jobsOf(jobs, from)).some((job) => job.id === id);
  return isOwn && (await jobs.remove(id)) ? `Removed job ${id}` : `Job ${id} not found`;
};

const actions = { add, list, remove } as const;

/** One chat neither sees nor removes what another has planned. */
const jobsOf = async (jobs: Jobs, { channel, chat }: Address): Promise<Job[]> =>
  (await jobs.list()).filter(({ to }) => to?.channel === channel && to.chat === chat);

function timing(schedule: Schedule): string {
  if (schedule.kind === "every") return `every ${duration(schedule.everyMs)}`;
  if (schedule.kind === "at") return `at ${new Date(schedule.atMs).toISOString()}`;
  return `cron: ${schedule.expr}${schedule.tz === undefined ? "" : ` (${schedule.tz})`}`;
}

function duration(ms: number): string {
  const [unit, size] = units.find(([, length]) => ms % length === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;
