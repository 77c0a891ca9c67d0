/** Jobs by the clock, over HTTP. */
import { describe, expect, it } from "vitest";
import type { Job, JobStore, NewJob } from "../../src/cron/job.js";
import { createJobStore } from "../../src/cron/job-store.js";
import type { JobList, OccurrenceList } from "../../src/http/api.js";
import { checkedClient } from "../support/checked-client.js";
import { openDoor } from "../support/door.js";
import { temporaryFolder } from "../support/workspace.js";

const policy = { misfire: "once", graceMs: 1000, overlap: "skip", limitMs: 60_000, retries: 0 } as const;
const every: NewJob = {
  name: "water",
  message: "Remind me to water the plants.",
  schedule: { kind: "every", everyMs: 3_600_000 },
  to: { channel: "telegram", chat: "42" },
  deleteAfterRun: false,
};

async function openJobs(...wanted: NewJob[]) {
  const home = temporaryFolder();
  const store: JobStore = createJobStore({
    home,
    workspace: home,
    now: Date.now,
    log: { warn: () => {} },
    defaults: policy,
  });
  const jobs: Job[] = [];
  for (const job of wanted) jobs.push(await store.add(job));
  const door = await openDoor({ clock: { jobs: store, zone: () => "Europe/Berlin" } });
  return { ...door, store, jobs, ids: jobs.map(({ id }) => id), client: await checkedClient(door.url) };
}

describe("GET /api/jobs", () => {
  it("shows when each is due, in words and ten times ahead", async () => {
    const cron = { kind: "cron", expr: "30 7 * * 1-5", tz: "Europe/Berlin" } as const;
    const { client } = await openJobs(every, { ...every, name: "up", schedule: cron });
    const { jobs }: JobList = await client.get("GET /api/jobs");
    expect(jobs).toMatchObject([
      { name: "water", enabled: true, timing: "every 1h", to: "telegram:42", schedule: every.schedule, policy },
      { name: "up", timing: "30 7 * * 1-5 (Europe/Berlin)", schedule: cron },
    ]);
    for (const { nextRunsMs } of jobs) {
      expect(nextRunsMs).toHaveLength(10);
      expect(nextRunsMs).toEqual(nextRunsMs.toSorted((a, b) => a - b));
      expect(nextRunsMs[0]).toBeGreaterThan(Date.now() - 1000);
    }
  });
});

describe("a job", () => {
  it("can be paused, let run again, and removed", async () => {
    const { client, ids, store } = await openJobs(every);
    const [id = ""] = ids;
    const look = async () =>
      (await client.get<JobList>("GET /api/jobs")).jobs.map((job) => [job.enabled, job.nextRunsMs.length]);
    expect(await client.get("POST /api/jobs/{id}/disable", { id })).toEqual({ done: true });
    expect(await look()).toEqual([[false, 0]]);
    expect(await client.get("POST /api/jobs/{id}/enable", { id })).toEqual({ done: true });
    expect(await look()).toEqual([[true, 10]]);
    expect(await client.get("DELETE /api/jobs/{id}", { id })).toEqual({ done: true });
    expect(await store.list()).toEqual([]);
  });

  it("can be run now: the clock finds it in its book", async () => {
    const { client, ids, house } = await openJobs(every);
    const [id = ""] = ids;
    await client.get("POST /api/jobs/{id}/run", { id });
    expect(await house.ledger.occurrences.open()).toMatchObject([{ job: id, name: "water", how: "manual" }]);
    const { occurrences }: OccurrenceList = await client.get("GET /api/occurrences", {}, { query: { job: id } });
    expect(occurrences).toEqual([{ jobId: id, dueAtMs: expect.any(Number), startedAtMs: expect.any(Number) }]);
    const [open] = await house.ledger.occurrences.open();
    if (open) await house.ledger.occurrences.change(open, { kind: "failed", reason: "no network" });
    expect(await client.get("GET /api/occurrences")).toMatchObject({
      occurrences: [{ jobId: id, outcome: "failed", reason: "no network", finishedAtMs: expect.any(Number) }],
    });
    expect(await client.get("GET /api/occurrences", {}, { query: { job: "another" } })).toEqual({ occurrences: [] });
  });

  it("that nobody knows is not found", async () => {
    const { client } = await openJobs();
    for (const what of [
      "POST /api/jobs/{id}/run",
      "POST /api/jobs/{id}/enable",
      "POST /api/jobs/{id}/disable",
      "DELETE /api/jobs/{id}",
    ]) {
      expect(await client.call(what, { id: "none" })).toEqual({
        status: 404,
        body: { error: "There is no job none." },
      });
    }
  });
});

describe("without a clock", () => {
  it("there are no jobs, and it is said why", async () => {
    const { url } = await openDoor();
    const client = await checkedClient(url);
    for (const what of [
      "GET /api/jobs",
      "POST /api/jobs/{id}/run",
      "POST /api/jobs/{id}/enable",
      "DELETE /api/jobs/{id}",
    ]) {
      const error = "No clock is running in this gateway.";
      expect(await client.call(what, { id: "x" })).toEqual({ status: 404, body: { error } });
    }
  });
});
