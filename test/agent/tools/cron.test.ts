/** The cron tool: what can be scheduled, and who sees it. */
import { describe, expect, it } from "vitest";
import { type CronParts, cronTool } from "../../../src/agent/tools/cron.js";
import type { Job, Jobs, Policy } from "../../../src/cron/job.js";
import { nextRun } from "../../../src/cron/next-run.js";
import { parseLocalTime } from "../../../src/agent/tools/local-time.js";
import { errorAdvice, type ToolContext } from "../../../src/agent/tools/tool.js";
import { call } from "./bench-of-tools.js";

/** On the hand of the clock below. */
const now = new Date(2026, 5, 30, 12).getTime();
const policy: Policy = { misfire: "once", graceMs: 86_400_000, overlap: "skip", limitMs: 600_000, retries: 0 };

function openCron(more: Partial<CronParts> = {}) {
  const kept: Job[] = [];
  const jobs: Jobs = {
    list: async () => kept,
    async add(job) {
      const id = `job${kept.length + 1}`;
      const nextRunAtMs = nextRun(job.schedule, now) ?? 0;
      const stored: Job = { ...job, id, enabled: true, session: `cron:${id}`, policy, createdAtMs: now, nextRunAtMs };
      kept.push(stored);
      return stored;
    },
    async remove(id) {
      const at = kept.findIndex((job) => job.id === id);
      if (at >= 0) kept.splice(at, 1);
      return at >= 0;
    },
  };
  const tool = cronTool({ jobs, clock: () => "2026-06-30T12:00:00.000000", timezone: "Europe/Berlin", ...more });
  return { kept, ask: (input: object, context?: Partial<ToolContext>) => call(tool, input, context) };
}

describe("cron add", () => {
  it("keeps an interval", async () => {
    const { ask, kept } = openCron();
    expect(await ask({ action: "add", message: "drink some water, it is good for you", every_seconds: "7200" })).toBe(
      "Created job 'drink some water, it is good f' (id: job1)",
    );
    expect(kept[0]).toMatchObject({
      name: "drink some water, it is good f",
      message: "drink some water, it is good for you",
      schedule: { kind: "every", everyMs: 7_200_000 },
      to: { channel: "telegram", chat: "1" },
      deleteAfterRun: false,
    });
  });

  it("keeps an expression with its zone, or the configured one", async () => {
    const { ask, kept } = openCron();
    await ask({ action: "add", message: "a", cron_expr: "0 9 * * 1-5", tz: "America/Vancouver" });
    await ask({ action: "add", message: "b", cron_expr: " 0 9 * * * " });
    await ask({ action: "add", message: "c", cron_expr: "0 9 * * * 30", tz: "UTC" });
    await ask({ action: "add", message: "d", cron_expr: "@daily", tz: "UTC" });
    expect(kept.map(({ schedule }) => schedule)).toEqual([
      { kind: "cron", expr: "0 9 * * 1-5", tz: "America/Vancouver" },
      { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" },
      { kind: "cron", expr: "0 9 * * * 30", tz: "UTC" },
      { kind: "cron", expr: "@daily", tz: "UTC" },
    ]);
  });

  it("keeps a single moment, in the configured zone unless it names one", async () => {
    const { ask, kept } = openCron();
    await ask({ action: "add", message: "a", at: "2026-12-24T18:00:00" });
    await ask({ action: "add", message: "b", at: "2026-12-24T18:00:00Z" });
    expect(kept.map(({ schedule, deleteAfterRun }) => ({ schedule, deleteAfterRun }))).toEqual([
      { schedule: { kind: "at", atMs: Date.UTC(2026, 11, 24, 17) }, deleteAfterRun: true },
      { schedule: { kind: "at", atMs: Date.UTC(2026, 11, 24, 18) }, deleteAfterRun: true },
    ]);
  });

  it.each([
    [{}, "message is required for add"],
    [{ message: " " }, "message is required for add"],
    [{ message: "a" }, "either every_seconds, cron_expr, or at is required"],
    [{ message: "a", every_seconds: 5, tz: "UTC" }, "tz can only be used with cron_expr"],
    [{ message: "a", cron_expr: "0 9 * * *", tz: "Mars/Base" }, "unknown timezone 'Mars/Base'"],
    [{ message: "a", cron_expr: "0 9 * * *", tz: "Europe/Berln" }, "did you mean Europe/Berlin?"],
    [
      { message: "a", cron_expr: "every day" },
      "invalid cron expression 'every day': 5 fields: minute hour day month weekday; there are 2",
    ],
    [{ message: "a", cron_expr: "61 * * * *" }, "invalid cron expression '61 * * * *': minute 61: use 0–59"],
    [{ message: "a", cron_expr: "0 0 30 2 *" }, "never comes: no month 2 has a day 30"],
    [{ message: "a", cron_expr: "0 0 1 1 * 0 2020" }, "'0 0 1 1 * 0 2020' is over, so it would never run"],
    [{ message: "a", at: "tomorrow" }, "invalid ISO datetime format 'tomorrow'. Expected format: YYYY-MM-DDTHH:MM:SS"],
    [{ message: "a", at: "2026-02-31T10:00:00" }, "invalid ISO datetime format"],
    [{ message: "a", at: "2020-01-01T00:00:00" }, "is in the past"],
  ])("refuses %j", async (input, reason) => {
    const { ask, kept } = openCron();
    const result = await ask({ action: "add", ...input });
    expect(result).toContain(`Error: `);
    expect(result).toContain(reason);
    expect(result.endsWith(errorAdvice)).toBe(true);
    expect(kept).toEqual([]);
  });

  it("is not for jobs themselves, nor for a turn without a chat", async () => {
    const { ask, kept } = openCron();
    const input = { action: "add", message: "again", every_seconds: 1 };
    expect(await ask(input, { session: "cron:job1" })).toContain("cannot schedule new jobs from within a cron job");
    // A job of a chat runs in the conversation of that chat.
    expect(await ask(input, { unasked: true })).toContain("cannot schedule new jobs from within a cron job");
    expect(await ask(input, { from: { channel: "", chat: "" } })).toContain("no session context (channel/chat_id)");
    expect(kept).toEqual([]);
  });

  it("ends at fifty jobs in a chat", async () => {
    const { ask, kept } = openCron();
    for (let n = 0; n < 51; n++) await ask({ action: "add", message: "x", every_seconds: 60 });
    expect(kept).toHaveLength(50);
  });
});

describe("cron list and remove", () => {
  it("show and take away what this chat has planned, and nothing of another", async () => {
    const { ask, kept } = openCron();
    const other = { from: { channel: "telegram", chat: "2" } };
    expect(await ask({ action: "list" })).toBe("No scheduled jobs.");
    await ask({ action: "add", message: "water", every_seconds: 7200 });
    await ask({ action: "add", message: "secret", cron_expr: "0 9 * * *" }, other);
    const shown = (text: string): string => text.replace(/Next run: .*/, "Next run: …");
    expect(shown(await ask({ action: "list" }))).toBe("Scheduled jobs:\n- water (id: job1, every 2h)\n  Next run: …");
    expect(shown(await ask({ action: "list" }, other))).toBe(
      "Scheduled jobs:\n- secret (id: job2, cron: 0 9 * * * (Europe/Berlin))\n  Next run: …",
    );
    expect(await ask({ action: "remove", job_id: "job2" })).toBe("Job job2 not found");
    expect(await ask({ action: "remove", job_id: "job1" })).toBe("Removed job job1");
    expect(kept.map(({ id }) => id)).toEqual(["job2"]);
    expect(await ask({ action: "remove" })).toContain("Error: job_id is required for remove");
    expect(await ask({ action: "explode" })).toContain("Invalid parameters for tool 'cron'");
  });
});

describe("cron list", () => {
  it("says when each job comes next, in the zone it was meant in", async () => {
    const { ask, kept } = openCron();
    await ask({ action: "add", message: "a", cron_expr: "30 9 * * *", tz: "Asia/Kolkata" });
    await ask({ action: "add", message: "b", at: "2026-12-24T18:00:00" });
    const lines = (await ask({ action: "list" })).split("\n");
    expect(lines[2]).toMatch(/^ {2}Next run: 2026-0[67]-\d\d 09:30:00 \(Asia\/Kolkata\)$/);
    expect(lines.slice(3)).toEqual([
      "- b (id: job2, at 2026-12-24 18:00:00 (Europe/Berlin))",
      "  Next run: 2026-12-24 18:00:00 (Europe/Berlin)",
    ]);
    kept.splice(0, 2, { ...(kept[0] as Job), enabled: false });
    expect((await ask({ action: "list" })).split("\n")[2]).toBe("  Switched off");
  });
});

describe("a local time", () => {
  it.each([
    ["2026-07-01T12:00:00", "Europe/Berlin", "2026-07-01T10:00:00.000Z"],
    ["2026-01-01T12:00", "Europe/Berlin", "2026-01-01T11:00:00.000Z"],
    ["2026-01-01", "Asia/Kolkata", "2025-12-31T18:30:00.000Z"],
    ["2026-01-01 12:00:00", "America/New_York", "2026-01-01T17:00:00.000Z"],
    ["2026-10-25T03:30:00", "Europe/Berlin", "2026-10-25T02:30:00.000Z"],
    ["2026-01-01T12:00:00+05:30", "UTC", "2026-01-01T06:30:00.000Z"],
  ])("%s in %s is %s", (text, zone, expected) => {
    expect(new Date(parseLocalTime(text, zone) ?? 0).toISOString()).toBe(expected);
  });

  it.each(["", "12:00", "2026-13-01T00:00:00", "2026-02-29", "2026-01-01T25:00:00", "2026-1-1"])(
    "%j is none",
    (text) => {
      expect(parseLocalTime(text, "UTC")).toBeUndefined();
      expect(parseLocalTime(text)).toBeUndefined();
    },
  );
});
