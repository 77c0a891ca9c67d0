/** The clock and the gateway together: real ledger, lanes and sessions; a scripted model, and ticks by hand. */
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createCron, newestChat } from "../../src/app/cron.js";
import type { Settings } from "../../src/config/load.js";
import type { Job, LastRun } from "../../src/cron/job.js";
import { ModelError } from "../../src/providers/provider.js";
import { aJob, hour, minute, usualPolicy } from "../support/clock-house.js";
import { openHouse } from "../support/house.js";
import type { Line } from "../support/scripted-model.js";

const start = Date.UTC(2026, 0, 1);
const ann = { channel: "fake", chat: "ann" };
const hourly = (parts: Partial<Job> = {}): Job =>
  aJob({
    id: "a",
    name: "water",
    message: "look after the plants",
    schedule: { kind: "every", everyMs: hour },
    to: ann,
    ...parts,
  });

type Options = {
  readonly jobs?: readonly Job[];
  readonly model?: readonly Line[];
  readonly folder?: string;
  readonly heartbeat?: { readonly file: string; readonly tasks?: string };
};

async function openCronHouse({ jobs = [], model, folder, heartbeat }: Options) {
  const house = await openHouse({ ...(model && { model }), ...(folder !== undefined && { folder }) });
  const lastRuns: LastRun[] = [];
  const asked: string[] = [];
  let ticker = async (): Promise<void> => {};
  const settings = {
    home: house.folder,
    agents: { defaults: { timezone: "Europe/Berlin" } },
    cron: { limitMinutes: 10 },
    gateway: {
      maxConcurrentTurns: 8,
      heartbeat: { enabled: heartbeat !== undefined, intervalS: 1800, activeHours: "08:00-22:00", timezone: "UTC" },
    },
  } as unknown as Settings;
  const cron = createCron({
    settings,
    world: {
      env: {},
      log: { warn: (message) => void house.warnings.push(message) },
      // A look every five seconds takes too long here.
      sleep: (ms, signal) => wait(ms / 100, undefined, { signal }),
    },
    ledger: house.ledger,
    gateway: house.gateway,
    live: house.live,
    jobs: { list: async () => jobs, ran: async (_, last) => void lastRuns.push(last) },
    app: {
      sessions: house.sessions,
      ownersFile: async () => heartbeat?.file,
      askHeartbeat: async (file) => {
        asked.push(file);
        return heartbeat?.tasks;
      },
    },
    channels: ["fake"],
    say: async (to, text) => house.gateway.say([{ kind: "text", to, text }]),
    now: () => house.time.now,
    reach: () => {},
    ticks: async (tick, signal) => {
      ticker = tick;
      await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
    },
  });
  const life = new AbortController();
  const run = cron.run(life.signal);
  const close = async (): Promise<void> => {
    life.abort();
    await run;
    await house.close();
  };
  return {
    ...house,
    cron,
    asked,
    lastRuns,
    close,
    /** Ticks at `at`, until everything that was due then has its outcome. */
    async tickAt(at: number): Promise<void> {
      house.time.now = at;
      await ticker();
      await vi.waitFor(async () => expect(await house.ledger.occurrences.open()).toEqual([]));
      await house.settle();
    },
    history: async (job: string) =>
      (await house.ledger.occurrences.history({ job, limit: 100 })).map(({ outcome, reason }) =>
        [outcome, reason].filter(Boolean).join(": "),
      ),
  };
}

const open = async (options: Options) => {
  const house = await openCronHouse(options);
  onTestFinished(() => house.close());
  return house;
};

describe("a job in the gateway", () => {
  it("runs in its own session and is answered in its chat", async () => {
    const house = await open({ jobs: [hourly()], model: [{ text: "They are wet." }] });
    await house.tickAt(start + hour);
    expect(house.heard).toEqual(["ann: They are wet."]);
    expect(JSON.stringify(house.requests[0]?.messages.at(-1))).toContain(
      "Scheduled instruction: look after the plants",
    );
    const session = await house.sessions.getOrCreate("cron:a");
    expect(session.length).toBe(2);
    expect(await house.history("a")).toEqual(["ran"]);
    expect(house.lastRuns).toEqual([{ atMs: start + hour, status: "ok" }]);
  });

  it("runs in the session it is bound to", async () => {
    const house = await open({ jobs: [hourly({ session: "fake:ann" })], model: [{ text: "They are wet." }] });
    await house.tickAt(start + hour);
    expect(await house.rows("ann")).toHaveLength(2);
  });

  it("that stands alone is shown nothing of what was said before, and is written down all the same", async () => {
    const alone = { session: "fake:ann", policy: { ...usualPolicy, stateless: true } } as const;
    const house = await open({ jobs: [hourly(alone)], model: [{ text: "one" }, { text: "two" }] });
    await house.tickAt(start + hour);
    await house.tickAt(start + 2 * hour);
    expect(house.requests.map(({ messages }) => messages.filter(({ role }) => role !== "system").length)).toEqual([
      1, 1,
    ]);
    expect(await house.rows("ann")).toHaveLength(4);
  });

  it("says nothing if there is nothing to say, and has run all the same", async () => {
    const house = await open({ jobs: [hourly()], model: [{ text: "[SILENT]" }] });
    await house.tickAt(start + hour);
    expect(house.heard).toEqual([]);
    expect(await house.history("a")).toEqual(["ran"]);
  });

  it("that fails for good says so once, in plain words; the history knows why", async () => {
    const broken = new ModelError("auth", "the key /secret/path is wrong", "get another");
    const house = await open({ jobs: [hourly({ policy: { ...usualPolicy, retries: 1 } })], model: [broken] });
    await house.tickAt(start + hour).catch(() => {});
    house.time.now = start + hour + minute;
    await house.tickAt(start + hour + minute);
    expect(house.heard).toEqual(["ann: The scheduled task 'water' failed. `nanogate cron history a` says why."]);
    expect(await house.history("a")).toEqual(["failed: the key /secret/path is wrong"]);
    expect(house.requests).toHaveLength(2);
  });

  it("of one time that nobody could run in time tells its chat", async () => {
    const schedule = { kind: "at", atMs: start + hour } as const;
    const house = await open({ jobs: [hourly({ schedule, createdAtMs: start, nextRunAtMs: start + hour })] });
    await house.tickAt(start + 50 * hour);
    expect(house.heard).toEqual([
      "ann: The scheduled task 'water' was due at 2026-01-01 02:00:00 (Europe/Berlin) and did not run: I was not there in time.",
    ]);
  });

  it("that the owner discards while it waits is over", async () => {
    const house = await open({ jobs: [hourly()], model: [() => new Promise(() => {})] });
    const ticking = house.tickAt(start + hour);
    await vi.waitFor(() => expect(house.requests).toHaveLength(1));
    await house.ledger.reports.discard(`cron-a-${start + hour}`);
    house.lanes.stopAll(new Error("discarded"));
    await ticking;
    expect(await house.history("a")).toEqual(["ran"]);
  });

  it("goes on after a restart, once", async () => {
    const first = await openCronHouse({ jobs: [hourly()], model: [() => new Promise(() => {})] });
    const ticking = first.tickAt(start + hour).catch(() => {});
    await vi.waitFor(() => expect(first.requests).toHaveLength(1));
    first.kill();
    await first.close().catch(() => {});
    await ticking;
    const second = await open({ jobs: [hourly()], model: [{ text: "They are wet." }], folder: first.folder });
    await second.gateway.resume();
    await second.tickAt(start + hour + minute);
    expect(second.heard).toEqual(["ann: They are wet."]);
    expect(await second.history("a")).toEqual(["ran"]);
  });
});

describe("a heartbeat in the gateway", () => {
  const nine = start + 9 * hour;

  it("is told in the chat that somebody wrote from last, topic and all", async () => {
    const house = await open({ heartbeat: { file: "- water", tasks: "water them" }, model: [{ text: "done" }] });
    for (const chat of ["bob", "-100:topic:5"]) await house.say(chat, "hi");
    await house.settle();
    await house.tickAt(nine - 1000);
    await house.tickAt(nine);
    expect(house.heard.at(-1)).toBe("-100:topic:5: done");
    expect((await house.sessions.getOrCreate("heartbeat")).length).toBe(2);
    expect(await house.history("heartbeat")).toEqual(["ran"]);
  });

  it("costs nothing while the file holds no task", async () => {
    const house = await open({ heartbeat: { file: "# Tasks\n\n- [ ]\n" } });
    await house.tickAt(nine - 1000);
    for (let beat = 0; beat < 5; beat++) await house.tickAt(nine + beat * 30 * minute);
    expect(house.asked).toEqual([]);
    expect(house.requests).toEqual([]);
    expect(await house.history("heartbeat")).toEqual(Array(5).fill("skipped: idle"));
  });

  it("sleeps at night, and survives restarts", async () => {
    const options = { heartbeat: { file: "- water", tasks: "water them" } };
    const first = await openCronHouse(options);
    await first.tickAt(start + 21.7 * hour);
    await first.tickAt(start + 22 * hour);
    expect(await first.history("heartbeat")).toEqual(["skipped: asleep"]);
    await first.close();
    const second = await open({ ...options, folder: first.folder });
    await second.tickAt(start + 32.1 * hour);
    expect((await second.history("heartbeat"))[0]).toBe("late");
    expect(second.asked).toEqual(["- water"]);
  });

  it("of a home without a ledger goes to the conversation that changed last on a channel that is on", () => {
    const session = (key: string, updatedAt?: string) => ({ key, updatedAt });
    const sessions = [
      session("telegram:1", "2026-01-01"),
      session("telegram:-100:topic:5", "2026-01-03"),
      session("discord:2", "2026-01-04"),
      session("cli:direct", "2026-01-05"),
      session("heartbeat", "2026-01-06"),
      session("telegram:3"),
    ];
    expect(newestChat(sessions, ["telegram", "slack"])).toEqual({ channel: "telegram", chat: "-100:topic:5" });
    expect(newestChat(sessions, ["slack"])).toBeUndefined();
  });
});

describe("trouble with the list of jobs", () => {
  it("is told in the last used chat, once, also across restarts, and without whole paths", async () => {
    const first = await openCronHouse({});
    const problem =
      "/home/ann/.nanogate/cron/jobs.json could not be read. It is kept as /home/ann/x/jobs.json.corrupt-1.";
    await first.cron.tellOwner("nobody has ever written");
    await first.say("ann", "hi");
    await first.settle();
    await first.cron.tellOwner(problem);
    await first.cron.tellOwner(problem);
    await first.settle();
    const told = "ann: jobs.json could not be read. It is kept as jobs.json.corrupt-1.";
    expect(first.heard.filter((text) => text.includes("jobs"))).toEqual([told]);
    await first.close();
    const second = await open({ folder: first.folder });
    await second.cron.tellOwner(problem);
    await second.settle();
    expect(second.heard).toEqual([]);
  });
});
