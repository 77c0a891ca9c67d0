import { describe, expect, it, onTestFinished } from "vitest";
import type { Job } from "../../src/cron/job.js";
import {
  aJob,
  type ClockHouseOptions,
  day,
  hour,
  minute,
  openClockHouse,
  usualPolicy,
} from "../support/clock-house.js";

const start = Date.UTC(2026, 0, 1, 8);

async function open(options: ClockHouseOptions) {
  const house = await openClockHouse({ start, ...options });
  onTestFinished(() => house.close());
  return house;
}

const every = (everyMs: number, parts: Partial<Job> = {}): Job =>
  aJob({ id: "a", schedule: { kind: "every", everyMs }, createdAtMs: start, ...parts });
const at = (atMs: number, parts: Partial<Job> = {}): Job =>
  aJob({ id: "a", schedule: { kind: "at", atMs }, createdAtMs: start, nextRunAtMs: atMs, ...parts });
const daily = (parts: Partial<Job> = {}, expr = "0 9 * * *"): Job =>
  aJob({ id: "a", schedule: { kind: "cron", expr }, createdAtMs: start, ...parts });
const ok = { kind: "ok" } as const;
const failure = (reason: string) => ({ kind: "error", reason, again: true }) as const;

describe("a job", () => {
  it("runs at its time and the list is told", async () => {
    const house = await open({ jobs: [daily()] });
    await house.tickAt(start + hour - 1);
    expect(house.accepted.size).toBe(0);
    await house.tickAt(start + hour);
    expect([...house.accepted.keys()]).toEqual([`cron-a-${start + hour}`]);
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
    expect(house.lastRuns.get("a")).toEqual({ atMs: start + hour, status: "ok" });
    expect(house.jobs()[0]?.nextRunAtMs).toBe(start + 25 * hour);
  });

  it("every 24 hours survives a restart every 12 hours", async () => {
    const house = await open({ jobs: [every(day)] });
    for (let half = 0; half < 20; half++) {
      await house.pass(12 * hour - 1000, hour);
      await house.restart();
      await house.pass(1000);
    }
    expect(await house.history("a")).toEqual(Array.from({ length: 10 }, (_, n) => `${n + 2} 08:00 ran`));
  });

  it("that is over is removed, or switched off, as it wished", async () => {
    const jobs = [at(start + hour), at(start + hour, { id: "b", deleteAfterRun: false })];
    const house = await open({ jobs });
    await house.tickAt(start + hour);
    expect(house.jobs()).toMatchObject([{ id: "b", enabled: false }]);
    expect(house.jobs()[0]).not.toHaveProperty("nextRunAtMs");
  });

  it("of one time that was missed runs once on start, and is said to be late", async () => {
    const house = await open({ jobs: [at(start + hour)] });
    await house.kill();
    house.time.now = start + 5 * hour;
    await house.start();
    await house.tick();
    await house.restart();
    await house.tick();
    expect(await house.history("a")).toEqual(["1 09:00 late"]);
    expect(house.accepted.size).toBe(1);
    expect(house.jobs()).toEqual([]);
  });

  it("of one time that was missed too long ago is skipped, and somebody is told", async () => {
    const house = await open({ jobs: [at(start + hour)] });
    await house.tickAt(start + 3 * day);
    expect(await house.history("a")).toEqual(["1 09:00 skipped: grace"]);
    expect(house.told).toEqual([`cron-a-${start + hour}: grace`]);
    expect(house.jobs()).toEqual([]);
  });

  it("of one time is over even if the process died before the list was told", async () => {
    let isMortal = true;
    const reach = (point: string): void => {
      if (isMortal && point === "before ran") throw new Error("killed");
    };
    const house = await open({ jobs: [at(start + hour)], reach });
    await house.tickAt(start + 3 * day);
    expect(house.jobs()).toHaveLength(1);
    isMortal = false;
    await house.restart();
    await house.tick();
    expect(house.jobs()).toEqual([]);
    expect(await house.history("a")).toEqual(["1 09:00 skipped: grace"]);
  });

  it("that is switched off does not run, and what was due meanwhile is not made up for", async () => {
    const house = await open({ jobs: [daily({ enabled: false })] });
    await house.pass(2 * hour, minute);
    house.write([daily()]);
    await house.pass(hour, minute);
    expect(await house.history("a")).toEqual([]);
    await house.tickAt(start + 25 * hour);
    expect(await house.history("a")).toEqual(["2 09:00 ran"]);
  });
});

describe("another program", () => {
  it("that ran the job meanwhile has run it: the list says when it is next", async () => {
    const house = await open({ jobs: [daily()] });
    await house.tickAt(start + hour);
    await house.kill();
    // nanobot took over for two days and has put down the next run.
    house.write([daily({ nextRunAtMs: start + 3 * day + hour })]);
    house.time.now = start + 2 * day + 2 * hour;
    await house.start();
    await house.tick();
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
    await house.tickAt(start + 3 * day + hour);
    expect(await house.history("a")).toEqual(["1 09:00 ran", "4 09:00 ran"]);
  });

  it("that left a job overdue has left it to us", async () => {
    const house = await open({ jobs: [daily({ createdAtMs: start - 300 * day, nextRunAtMs: start - 23 * hour })] });
    await house.tick();
    expect(await house.history("a")).toEqual(["31 09:00 late"]);
  });

  it("may add, change and remove jobs while the clock runs", async () => {
    const house = await open({ jobs: [] });
    await house.tick();
    house.write([at(start + 2000)]);
    await house.pass(3000);
    expect(await house.history("a")).toEqual(["1 08:00:02 ran"]);
    // At half past nine the daily nine o'clock becomes ten o'clock: today still.
    const other = daily({ id: "b", nextRunAtMs: start + hour });
    house.write([other]);
    await house.tickAt(start + hour);
    await house.tickAt(start + 1.5 * hour);
    house.write([daily({ id: "b", nextRunAtMs: start + 25 * hour }, "0 10 * * *")]);
    await house.tickAt(start + 1.6 * hour);
    await house.tickAt(start + 2 * hour);
    expect(await house.history("b")).toEqual(["1 09:00 ran", "1 10:00 ran"]);
    // In the afternoon it becomes eleven o'clock: that is over for today.
    await house.tickAt(start + 6 * hour);
    house.write([daily({ id: "b", nextRunAtMs: start + 26 * hour }, "0 11 * * *")]);
    await house.tickAt(start + 6.1 * hour);
    expect(await house.history("b")).toHaveLength(2);
    house.write([]);
    await house.tickAt(start + 40 * hour);
    expect(await house.history("b")).toHaveLength(2);
  });

  it("changes a job while nobody runs: what was due by the new time before that is not made up for", async () => {
    const house = await open({ jobs: [daily()] });
    await house.tickAt(start + hour);
    await house.kill();
    house.time.now = start + 6 * hour;
    house.write([daily({ nextRunAtMs: start + 25 * hour }, "0 11 * * *")]);
    await house.start();
    await house.tick();
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
  });

  it("removes a job that is decided and not begun: it is skipped", async () => {
    let isMortal = true;
    const reach = (point: string): void => {
      if (isMortal && point === "before cron accept") throw new Error("killed");
    };
    const house = await open({ jobs: [daily()], reach });
    await house.tickAt(start + hour);
    await house.kill();
    isMortal = false;
    house.write([]);
    await house.start();
    await house.tick();
    expect(await house.history("a")).toEqual(["1 09:00 skipped: removed"]);
    expect(house.accepted.size).toBe(0);
  });
});

describe("the clock", () => {
  it("is put back: nothing runs a second time, and nothing is forgotten", async () => {
    const house = await open({ jobs: [every(hour)] });
    await house.pass(4 * hour, 10 * minute);
    house.set(start + 30 * minute);
    await house.pass(6 * hour, 10 * minute);
    expect(await house.history("a")).toEqual(
      [9, 10, 11, 12, 13, 14].map((at) => `1 ${`${at}`.padStart(2, "0")}:00 ran`),
    );
    expect(house.accepted.size).toBe(6);
  });

  it("is put back, and then sleeps: what ran is not skipped as well", async () => {
    const house = await open({ jobs: [every(hour)] });
    await house.pass(4 * hour, 10 * minute);
    house.set(start + 30 * minute);
    await house.tick();
    await house.tickAt(start + 7.5 * hour);
    const ran = [9, 10, 11, 12].map((at) => `1 ${`${at}`.padStart(2, "0")}:00 ran`);
    expect(await house.history("a")).toEqual([...ran, "1 13:00…1 14:00 skipped: once", "1 15:00 late"]);
  });

  it("is a year ahead for a while: only one run of the wrong year is made, and today goes on", async () => {
    const house = await open({ jobs: [daily()] });
    await house.tickAt(start + hour);
    house.set(start + 365 * day + 2 * hour);
    await house.tick();
    house.set(start + 2 * hour);
    await house.tick();
    await house.restart();
    for (const days of [1, 2]) await house.tickAt(start + days * day + hour);
    const told = ["1 09:00 ran", "2 09:00 ran", "3 09:00 ran", "1 09:00 late"];
    expect(await house.history("a")).toEqual(told);
    await house.tickAt(start + 365 * day + hour);
    expect((await house.history("a")).slice(-2)).toEqual(["4 09:00…31 09:00 skipped: once", "1 09:00 late"]);
    expect(house.accepted.size).toBe(4);
  });

  it("sleeps: once awake, what was missed is made up for once, or as the job wishes", async () => {
    const house = await open({
      jobs: [
        every(hour),
        every(hour, { id: "b", policy: { ...usualPolicy, misfire: "skip" } }),
        every(hour, { id: "c", policy: { ...usualPolicy, misfire: "all" } }),
      ],
    });
    await house.tickAt(start + 3.5 * hour);
    expect(await house.history("a")).toEqual(["1 09:00…1 10:00 skipped: once", "1 11:00 late"]);
    expect(await house.history("b")).toEqual(["1 09:00…1 11:00 skipped: skip"]);
    expect(await house.history("c")).toEqual(["1 09:00 late", "1 10:00 late", "1 11:00 late"]);
  });

  it("moves to another zone with the machine, and only forwards", async () => {
    const house = await open({
      jobs: [daily(), daily({ id: "b", schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" } })],
    });
    await house.tickAt(start + hour);
    await house.tickAt(start + hour + 1000);
    house.time.zone = "Asia/Tokyo";
    await house.tickAt(start + 2 * hour);
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
    await house.tickAt(Date.UTC(2026, 0, 2, 0));
    await house.tickAt(Date.UTC(2026, 0, 2, 9));
    expect(await house.history("a")).toEqual(["1 09:00 ran", "2 00:00 ran"]);
    expect(await house.history("b")).toEqual(["1 09:00 ran", "2 09:00 ran"]);
  });
});

describe("runs", () => {
  it("of one job do not overlap; of others they do not wait for it", async () => {
    const house = await open({
      jobs: [every(minute), every(minute, { id: "b" })],
      runs: (id) => ({ takesMs: id.startsWith("cron-a") ? 150_000 : 0, end: ok }),
    });
    await house.pass(4 * minute);
    expect(await house.history("a")).toEqual([
      "1 08:01 ran",
      "1 08:02 skipped: overlap",
      "1 08:03 skipped: overlap",
      "1 08:04 open",
    ]);
    expect(await house.history("b")).toEqual(["1 08:01 ran", "1 08:02 ran", "1 08:03 ran", "1 08:04 ran"]);
  });

  it("wait for the one before, where the job wants that", async () => {
    const house = await open({
      jobs: [every(minute, { policy: { ...usualPolicy, overlap: "wait" } })],
      runs: () => ({ takesMs: 80_000, end: ok }),
    });
    await house.pass(3 * minute);
    expect(await house.history("a")).toEqual(["1 08:01 ran", "1 08:02 open", "1 08:03 open"]);
    expect(house.accepted.size).toBe(2);
  });

  it("are not more than so many at a time, the oldest first; the next begins when one is over", async () => {
    const jobs = ["a", "b", "c"].map((id, number) => every(minute + number, { id }));
    const house = await open({ jobs, atOnce: 2, runs: () => ({ takesMs: 5000, end: ok }) });
    await house.tickAt(start + minute + 1000);
    expect([...house.accepted.keys()].map((id) => id.slice(5, 6))).toEqual(["a", "b"]);
    await house.tickAt(start + minute + 6000);
    expect([...house.accepted.keys()].map((id) => id.slice(5, 6))).toEqual(["a", "b", "c"]);
  });

  it("that fail are tried again with growing pauses, as often as the job wants; the outcome is one", async () => {
    const house = await open({
      jobs: [every(hour, { policy: { ...usualPolicy, retries: 2, graceMs: 0 } })],
      runs: (id) => ({ takesMs: 0, end: id.endsWith("-3") ? ok : failure("no model") }),
    });
    await house.pass(hour + 95_000, 1000);
    const id = `cron-a-${start + hour}`;
    expect([...house.accepted.keys()]).toEqual([id, `${id}-2`, `${id}-3`]);
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
    expect(house.lastRuns.get("a")?.status).toBe("ok");
  });

  it("that fail for good say so, with the reason", async () => {
    const house = await open({
      jobs: [every(hour, { policy: { ...usualPolicy, retries: 1 } })],
      runs: () => ({ takesMs: 0, end: failure("no model") }),
    });
    await house.pass(hour + 2 * minute, 10_000);
    expect(await house.history("a")).toEqual(["1 09:00 failed: no model"]);
    expect(house.told).toEqual([`cron-a-${start + hour}-2: failed`]);
    expect(house.lastRuns.get("a")).toMatchObject({ status: "error", error: "no model" });
  });

  it("that cannot get better are not tried again", async () => {
    const house = await open({
      jobs: [every(hour, { policy: { ...usualPolicy, retries: 5 } })],
      runs: () => ({ takesMs: 0, end: { kind: "error", reason: "put aside", again: false } }),
    });
    await house.tickAt(start + hour);
    expect(await house.history("a")).toEqual(["1 09:00 failed: put aside"]);
  });

  it("that wait for another try make room for what is due now", async () => {
    const house = await open({
      jobs: [every(minute, { policy: { ...usualPolicy, retries: 5 } })],
      runs: (id) => ({ takesMs: 0, end: id.includes(`${start + minute}`) ? failure("no model") : ok }),
    });
    await house.pass(2 * minute);
    expect(await house.history("a")).toEqual(["1 08:01 failed: no model", "1 08:02 ran"]);
  });

  it("that the owner asked for are made at once, once, and change nothing else", async () => {
    const house = await open({ jobs: [daily({ enabled: false })] });
    await house.tick();
    const { dueAt } = await house.book().request({ id: "a", name: "job a" });
    await house.tickAt(start + 1000);
    await house.restart();
    await house.tick();
    expect([...house.accepted.keys()]).toEqual([`cron-a-${dueAt}m`]);
    expect(await house.history("a")).toEqual(["1 08:00 (manual) ran"]);
  });

  it.each([
    "before occurrence",
    "after occurrence",
    "before cron accept",
    "after cron accept",
    "before ran",
    "after ran",
    "before occurrence end",
    "after occurrence end",
  ])("happen once if the process dies %s", async (point) => {
    let lives = 3;
    const reach = (reached: string): void => {
      if (reached !== point || --lives < 0) return;
      void house.kill();
      throw new Error("killed");
    };
    const house = await open({ jobs: [daily()], reach });
    for (let second = 0; second < 20; second++) {
      if (!house.isAlive()) await house.start();
      await house.tickAt(start + hour + second * 1000);
    }
    expect(lives).toBeLessThan(3);
    expect([...house.accepted.keys()]).toEqual([`cron-a-${start + hour}`]);
    expect(await house.history("a")).toEqual(["1 09:00 ran"]);
  });
});
