/** A time that a job is due, as a message to the agent: nanobot's three lines, and what is worth knowing besides. */
import { type Address, type Inbound, nothingToSay } from "../message.js";
import { onTimeMs } from "./due.js";
import type { Job } from "./job.js";
import { type OpenOccurrence, runIdOf } from "./occurrences.js";
import { moment } from "./words.js";

/** Where a job runs that nobody is told about. */
export const nobody: Address = { channel: "cli", chat: "direct" };

export const silence = `(If there is nothing worth telling, answer with ${nothingToSay} and nothing else: that is not sent.)`;

/** `zone` is meant where the job names none. */
export function taskOf(occurrence: OpenOccurrence, job: Job, now: number, zone: string): Inbound {
  const { schedule, to, name, message, session, policy } = job;
  const isLate = occurrence.late || (occurrence.how === "scheduled" && now - occurrence.dueAt > onTimeMs);
  const due = moment(occurrence.dueAt, schedule.kind === "cron" ? (schedule.tz ?? zone) : zone);
  const lines = [
    "[Scheduled Task] Timer finished.",
    "",
    `Task '${name}' has been triggered.`,
    `Scheduled instruction: ${message}`,
    ...(isLate ? [`(This run is late: it was due at ${due}.)`] : []),
    ...(to ? [silence] : []),
  ];
  return {
    id: runIdOf(occurrence),
    from: to ?? nobody,
    sender: ["cron"],
    text: lines.join("\n"),
    media: [],
    session,
    quiet: true,
    limitMs: policy.limitMs,
    ...(policy.stateless && { stateless: true }),
  };
}
