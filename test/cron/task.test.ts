import { describe, expect, it } from "vitest";
import type { OpenOccurrence } from "../../src/cron/occurrences.js";
import { taskOf } from "../../src/cron/task.js";
import { aJob } from "../support/clock-house.js";

const dueAt = Date.UTC(2026, 0, 1, 8);
const occurrence: OpenOccurrence = {
  job: "1a2b3c4d",
  name: "water",
  dueAt,
  how: "scheduled",
  late: false,
  attempt: 1,
  notBefore: 0,
};
const job = aJob({
  id: "1a2b3c4d",
  name: "water",
  message: "water the plants",
  schedule: { kind: "cron", expr: "0 9 * * *" },
  to: { channel: "telegram", chat: "-100:topic:5" },
});

describe("the task of a job", () => {
  it("is nanobot's three lines, in the job's session, answered in its chat", () => {
    expect(taskOf(occurrence, job, dueAt, "Europe/Berlin")).toEqual({
      id: `cron-1a2b3c4d-${dueAt}`,
      from: { channel: "telegram", chat: "-100:topic:5" },
      sender: ["cron"],
      media: [],
      session: "cron:1a2b3c4d",
      quiet: true,
      limitMs: 600_000,
      text:
        "[Scheduled Task] Timer finished.\n\nTask 'water' has been triggered.\nScheduled instruction: water the plants\n" +
        "(If there is nothing worth telling, answer with [SILENT] and nothing else: that is not sent.)",
    });
  });

  it("says that it is late, and when it was due, in the job's zone", () => {
    const late = taskOf({ ...occurrence, late: true }, job, dueAt, "Europe/Berlin").text;
    expect(late).toContain("(This run is late: it was due at 2026-01-01 09:00:00 (Europe/Berlin).)");
    const tokyo = { ...job, schedule: { kind: "cron", expr: "0 9 * * *", tz: "Asia/Tokyo" } } as const;
    expect(taskOf({ ...occurrence, late: true }, tokyo, dueAt, "UTC").text).toContain("17:00:00 (Asia/Tokyo)");
    expect(taskOf(occurrence, job, dueAt + 61_000, "UTC").text).toContain("This run is late");
  });

  it("has an id for each try, and for each time the owner asks", () => {
    expect(taskOf({ ...occurrence, attempt: 2 }, job, dueAt, "UTC").id).toBe(`cron-1a2b3c4d-${dueAt}-2`);
    expect(taskOf({ ...occurrence, how: "manual" }, job, dueAt + 90_000, "UTC").text).not.toContain("late");
    expect(taskOf({ ...occurrence, how: "manual" }, job, dueAt, "UTC").id).toBe(`cron-1a2b3c4d-${dueAt}m`);
  });

  it("stands alone if the job wishes so", () => {
    const alone = { ...job, policy: { ...job.policy, stateless: true } } as const;
    expect(taskOf(occurrence, alone, dueAt, "UTC").stateless).toBe(true);
  });

  it("of a job without a chat runs where nobody is told", () => {
    const { to: _, ...alone } = job;
    const { from, text } = taskOf(occurrence, alone, dueAt, "UTC");
    expect(from).toEqual({ channel: "cli", chat: "direct" });
    expect(text).not.toContain("[SILENT]");
  });
});
