/**
 * Years of a clock that is restarted, killed between any two steps, put back and put forward: in the end every time that
 * every job was due has exactly one outcome, nothing ran twice, and nothing was lost. The same seed, the same years.
 */
import { type Next, nextOf } from "../../src/cron/counting.js";
import type { Job, Policy } from "../../src/cron/job.js";
import type { HistoryEntry } from "../../src/cron/occurrences.js";
import { createRandom } from "../lab/random.js";
import { aJob, day, hour, minute, openClockHouse, usualPolicy } from "../support/clock-house.js";

const start = Date.UTC(2026, 0, 1);

/** For each zone what people ask for: a time of day, a weekday, an interval, a single time. */
function jobsOf(zone: string, number: number, years: number): Job[] {
  const cron = (name: string, expr: string, policy: Partial<Policy> = {}): Job =>
    aJob({
      id: `${number}-${name}`,
      schedule: { kind: "cron", expr, tz: zone },
      createdAtMs: start,
      policy: { ...usualPolicy, ...policy },
    });
  const misfire = (["skip", "once", "all"] as const)[number % 3] ?? "once";
  return [
    cron("night", "30 2 * * *", { misfire }),
    cron("week", "45 1 * * 0", { misfire: "all", graceMs: 3 * day }),
    cron("work", "0 9 * * 1,4", { overlap: "wait", retries: 2 }),
    aJob({
      id: `${number}-every`,
      schedule: { kind: "every", everyMs: 47 * hour },
      createdAtMs: start + number * minute,
      policy: { ...usualPolicy, retries: number % 2 },
    }),
    ...Array.from({ length: years * 5 }, (_, at) =>
      aJob({
        id: `${number}-at-${at}`,
        schedule: { kind: "at", atMs: start + (at + 0.3) * 72 * day + number * hour },
        createdAtMs: start,
        deleteAfterRun: at % 2 === 0,
      }),
    ),
  ];
}

/** The calendar is asked once for each time; the scheduler asks the list. */
function createTimeline() {
  const lists = new Map<string, { readonly next: Next; readonly times: number[] }>();
  const listOf = (job: Job) => {
    const list = lists.get(job.id) ?? { next: nextOf(job, "UTC"), times: [] };
    lists.set(job.id, list);
    return list;
  };
  const next = (job: Job): Next => {
    const { next: ask, times } = listOf(job);
    return (after) => {
      if (after < start) return ask(after);
      while ((times.at(-1) ?? start) <= after) {
        const more = ask(times.at(-1) ?? start);
        if (more === undefined) return undefined;
        times.push(more);
      }
      let [low, high] = [0, times.length - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((times[middle] ?? 0) > after) high = middle;
        else low = middle + 1;
      }
      return times[low];
    };
  };
  return {
    next,
    until: (job: Job, end: number) => (
      next(job)(end),
      listOf(job).times.filter((at) => at > job.createdAtMs && at <= end)
    ),
  };
}

export type Years = {
  readonly seed: number;
  readonly zones: readonly string[];
  readonly years: number;
  readonly folder: string;
};

export async function simulate({ seed, zones, years, folder }: Years) {
  const random = createRandom(seed);
  const timeline = createTimeline();
  const jobs = zones.flatMap((zone, at) => jobsOf(zone, at, years));
  let dieAfter = Infinity;
  let died = "";
  const deaths = new Map<string, number>();
  const ran = new Map<string, number>();
  const house = await openClockHouse({
    folder,
    start,
    jobs,
    nextOf: timeline.next,
    turns: 1,
    runs(id) {
      ran.set(id, (ran.get(id) ?? 0) + 1);
      const end =
        random.below(12) === 0 ? ({ kind: "error", reason: "no", again: true } as const) : { kind: "ok" as const };
      return { takesMs: random.oneOf([0, 0, 0, 1000, 5 * minute, 3 * hour]), end };
    },
    reach(point) {
      if (--dieAfter > 0) return;
      died = point;
      deaths.set(point, (deaths.get(point) ?? 0) + 1);
      throw new Error("killed");
    },
  });
  const archive = new Map<string, Map<number, HistoryEntry>>(jobs.map(({ id }) => [id, new Map()]));
  const { time } = house;
  const end = start + years * 365 * day;
  let highest = start;

  const sweep = async (): Promise<void> => {
    for (const { id } of jobs) {
      for (const entry of await house.book().history({ job: id, limit: 1e6 })) archive.get(id)?.set(entry.dueAt, entry);
    }
    const before = time.now - 30 * day;
    for (let rows = 1; rows > 0;) rows = await house.book().sweep(before);
    // What is still there may still change.
    for (const { id } of jobs) {
      for (const { dueAt } of await house.book().history({ job: id, limit: 1e6 })) archive.get(id)?.delete(dueAt);
    }
  };
  const live = async (): Promise<void> => {
    const soonest = Math.min(...house.jobs().map((job) => timeline.next(job)(time.now) ?? Infinity));
    const next = Math.min(soonest, house.nextEnd() ?? Infinity, time.now + day);
    await house.tickAt(random.below(8) === 0 ? time.now + random.below(20 * minute) : next + random.below(3) * 1000);
    if (random.below(60) === 0) dieAfter = 1 + random.below(12);
    if (died === "") return;
    [died, dieAfter] = ["", Infinity];
    await house.kill();
    time.now += random.oneOf([0, 2000, 10 * minute, 5 * hour, 2 * day]);
    await house.start();
  };
  const jump = async (): Promise<void> => {
    const far = random.below(4) === 0 ? 500 * day : 3 * day;
    const before = time.now;
    house.set(Math.max(start, before + (random.below(2) === 0 ? random.below(far) : -random.below(3 * day))));
    if (time.now - before <= 4 * day) return;
    // Somebody notices and puts it right.
    for (let step = 0; step < 4; step++) await live();
    house.set(before + random.below(hour));
  };

  for (let swept = start; time.now < end;) {
    await live();
    const chance = random.below(150);
    if (chance === 0) await jump();
    if (chance === 1) {
      await house.restart();
      time.now += random.oneOf([0, 3 * hour, 9 * hour, 4 * day]);
    }
    if (time.now - swept > 60 * day) {
      dieAfter = Infinity;
      await sweep();
      swept = time.now;
    }
    highest = Math.max(highest, time.now);
  }
  // In peace until everything that was due has its outcome.
  dieAfter = Infinity;
  for (time.now = highest + 3 * day; ;) {
    await house.tickAt(time.now + 20 * minute);
    if ((await house.book().open()).length === 0) break;
  }
  await house.tick();
  const rows = new Map<string, HistoryEntry[]>();
  for (const { id } of jobs) {
    rows.set(id, [...(archive.get(id)?.values() ?? []), ...(await house.book().history({ job: id, limit: 1e6 }))]);
  }
  const left = house.jobs();
  await house.close();
  return { jobs, rows, ran, left, deaths, end: time.now, timeline, accepted: house.accepted };
}

export type Result = Awaited<ReturnType<typeof simulate>>;

/** What is wrong, in words. */
export function audit({ jobs, rows, accepted, left, end, timeline }: Result): {
  wrong: string[];
  outcomes: Map<string, number>;
} {
  const wrong: string[] = [];
  const outcomes = new Map<string, number>();
  for (const job of jobs) {
    const mine = (rows.get(job.id) ?? []).sort((a, b) => a.dueAt - b.dueAt);
    const endOf = (due: number, attempt: number) =>
      accepted.get(`cron-${job.id}-${due}${attempt === 1 ? "" : `-${attempt}`}`)?.end.kind;
    let at = 0;
    for (const due of timeline.until(job, end)) {
      while (at < mine.length && (mine[at]?.until ?? 0) < due) at++;
      const covering = mine.slice(at, at + 3).filter(({ dueAt, until }) => dueAt <= due && due <= until);
      const [row] = covering;
      const what = `${job.id} ${new Date(due).toISOString()}`;
      if (!row || covering.length !== 1) {
        wrong.push(`${what}: ${covering.length} outcomes`);
        continue;
      }
      outcomes.set(row.outcome, (outcomes.get(row.outcome) ?? 0) + 1);
      const [first, last] = [endOf(due, 1), endOf(due, row.attempts)];
      if (row.outcome === "open") wrong.push(`${what}: no outcome`);
      if (row.outcome === "skipped" && first !== undefined) wrong.push(`${what}: skipped, and it ran`);
      if ((row.outcome === "ran" || row.outcome === "late") && last !== "ok") wrong.push(`${what}: it did not run`);
      if (row.outcome === "failed" && (endOf(due, 1) !== "error" || last === "ok")) wrong.push(`${what}: did not fail`);
      for (let attempt = 2; attempt <= row.attempts; attempt++) {
        if (endOf(due, attempt - 1) !== "error") wrong.push(`${what}: tried again although it had not failed`);
      }
      if (endOf(due, row.attempts + 1) !== undefined) wrong.push(`${what}: ran once more than it was tried`);
      const age = row.decidedAt - row.until;
      if (row.outcome === "skipped" && row.reason === "grace" && (row.endedAt ?? 0) - row.until < job.policy.graceMs) {
        wrong.push(`${what}: called too old after ${age / hour} hours`);
      }
    }
    if (job.schedule.kind !== "at") continue;
    const now = left.find(({ id }) => id === job.id);
    if (job.deleteAfterRun ? now !== undefined : now?.enabled !== false) wrong.push(`${job.id}: is not over`);
  }
  return { wrong, outcomes };
}

/** The date that the people of a zone have on their calendars. */
const dateIn = (zone: string) => {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
  return (at: number): string => format.format(at);
};

/** Once on each date, whatever the clocks of the zone do. */
export function auditDates({ jobs, timeline, end }: Result): string[] {
  return jobs.flatMap(({ id, schedule }) => {
    if (schedule.kind !== "cron" || schedule.expr !== "30 2 * * *") return [];
    const date = dateIn(schedule.tz ?? "UTC");
    const job = jobs.find((one) => one.id === id);
    const dates = job ? timeline.until(job, end).map(date) : [];
    return dates.flatMap((one, at) => (one === dates[at + 1] ? [`${id}: twice on ${one}`] : []));
  });
}
