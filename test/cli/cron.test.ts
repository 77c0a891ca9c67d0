/** `nanogate cron`, as people and scripts use it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Job } from "../../src/cron/job.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { openHome, runMain } from "../support/cli.js";

const berlin = { agents: { defaults: { model: "demo", timezone: "Europe/Berlin" } } };
const reminder = ["--message", "drink water", "--to", "telegram:42"];

/** A home and `nanogate cron` on it. */
function openCron(config: object = berlin) {
  const home = openHome(config);
  const cron = (...args: string[]) => runMain(["cron", ...args, "--home", home]);
  const added = async (...args: string[]): Promise<Job> => {
    const { out, err } = await cron("add", ...reminder, ...args, "--json");
    return JSON.parse(out || err) as Job;
  };
  return { home, cron, added };
}

async function openBook(home: string, now = Date.now()) {
  return openSqliteLedger({ file: join(home, "state", "ledger.sqlite"), now: () => now, reach: () => {} });
}

describe("nanogate cron add and list", () => {
  it("plan a job and show it", async () => {
    const { home, cron } = openCron();
    const { code, out, err } = await cron("add", "--cron", "0 9 * * 1-5", ...reminder);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Job [0-9a-f]{8} \(drink water\) is planned: cron: 0 9 \* \* 1-5 \(Europe\/Berlin\); next run \d{4}-\d\d-\d\d 09:00:00 \(Europe\/Berlin\)\.$/m,
    );
    expect(err).toContain("There is no channel telegram in the configuration");
    const list = await cron("list");
    expect(list.out).toMatch(/^[0-9a-f]{8} {2}drink water {2}cron: 0 9 \* \* 1-5 .* 09:00:00 {2}telegram:42$/m);
    expect(list.out).toContain("Times are in Europe/Berlin.");
    expect(readFileSync(join(home, "cron", "jobs.json"), "utf8")).toContain('"expr": "0 9 * * 1-5"');
  });

  it("know when a job comes that was written by hand and names no zone", async () => {
    const { home, cron } = openCron({ agents: { defaults: { model: "demo", timezone: "Asia/Tokyo" } } });
    mkdirSync(join(home, "cron"));
    const job = { id: "mine", name: "m", schedule: { kind: "cron", expr: "0 9 * * *" }, payload: { message: "a" } };
    writeFileSync(join(home, "cron", "jobs.json"), JSON.stringify({ version: 1, jobs: [job] }));
    expect((await cron("list")).out).toMatch(/^mine .*-\d\d 09:00:00 {2}nobody/m);
    await cron("disable", "mine");
    expect((await cron("enable", "mine")).out).toMatch(/switched on; next run \S+ 09:00:00 \(Asia\/Tokyo\)/);
    expect((await cron("list")).out).toMatch(/^mine .*-\d\d 09:00:00 {2}nobody/m);
  });

  it("say nothing about a channel that is there", async () => {
    const { cron } = openCron({ ...berlin, channels: { telegram: { enabled: true, token: "1:a" } } });
    expect((await cron("add", "--every", "2h", ...reminder)).err).toBe("");
  });

  it("take each kind of schedule, each with its zone", async () => {
    const { added } = openCron();
    expect((await added("--every", "1h30m")).schedule).toEqual({ kind: "every", everyMs: 5_400_000 });
    expect((await added("--at", "2099-12-24T18:00")).schedule).toEqual({
      kind: "at",
      atMs: Date.UTC(2099, 11, 24, 17),
    });
    expect((await added("--at", "2099-12-24T18:00", "--tz", "UTC")).schedule).toEqual({
      kind: "at",
      atMs: Date.UTC(2099, 11, 24, 18),
    });
    const { schedule, deleteAfterRun, name } = await added("--cron", "@daily", "--tz", "Asia/Tokyo", "--name", "sun");
    expect({ schedule, deleteAfterRun, name }).toEqual({
      schedule: { kind: "cron", expr: "@daily", tz: "Asia/Tokyo" },
      deleteAfterRun: false,
      name: "sun",
    });
    const unzoned = openCron({ agents: { defaults: { model: "demo" } } });
    expect((await unzoned.added("--cron", "0 9 * * *")).schedule).toEqual({ kind: "cron", expr: "0 9 * * *" });
  });

  it("keep how a job wants to be treated, and the owner's defaults for the rest", async () => {
    const { added, cron } = openCron({ ...berlin, cron: { graceHours: 2, retries: 1 } });
    const { id } = await added("--every", "2h", "--misfire", "all", "--overlap", "wait", "--limit", "5m");
    const [job] = JSON.parse((await cron("list", "--json")).out) as Job[];
    expect(job).toMatchObject({
      id,
      policy: { misfire: "all", graceMs: 7_200_000, overlap: "wait", limitMs: 300_000, retries: 1 },
    });
  });

  it("keep that each run of a job stands alone", async () => {
    const { added, cron } = openCron();
    await added("--every", "2h", "--stateless");
    const [job] = JSON.parse((await cron("list", "--json")).out) as Job[];
    expect(job?.policy.stateless).toBe(true);
    expect((await added("--every", "3h")).policy).not.toHaveProperty("stateless");
  });

  it("can tell nobody", async () => {
    const { cron } = openCron();
    await cron("add", "--every", "2h", "--message", "tidy up", "--silent");
    expect((await cron("list")).out).toMatch(/tidy up {2}every 2h .* nobody$/m);
  });

  it("look without leaving anything behind", async () => {
    const { home, cron } = openCron();
    expect((await cron("list")).out).toContain("No jobs.");
    expect((await cron("list", "--json")).out).toBe("[]\n");
    expect((await cron("history")).out).toBe("Nothing was due yet.\n");
    expect(existsSync(join(home, "state"))).toBe(false);
    expect(existsSync(join(home, "cron"))).toBe(false);
  });

  it("tell of a damaged file, and keep it", async () => {
    const { home, cron } = openCron();
    mkdirSync(join(home, "cron"));
    writeFileSync(join(home, "cron", "jobs.json"), "{oops");
    const { err } = await cron("list");
    expect(err).toContain("jobs.json could not be read");
    const aside = /kept as (\S+);/.exec(err)?.[1] ?? "";
    expect(readFileSync(aside, "utf8")).toBe("{oops");
  });

  it("let no control character reach the terminal", async () => {
    const { cron } = openCron();
    await cron("add", "--every", "2h", "--message", "a\u001b[31mred", "--to", "telegram:4\u00072");
    expect((await cron("list")).out).not.toMatch(/[\u0007\u001b]/);
  });
});

describe("nanogate cron add refuses with 2 what makes no sense", () => {
  it.each([
    [["--cron", "61 * * * *"], '"61 * * * *": minute 61: use 0–59.'],
    [["--cron", "0 9 * *"], "5 fields: minute hour day month weekday; there are 4"],
    [["--cron", "0 9 * * FUNDAY"], "weekday FUNDAY: use 0–7 or SUN–SAT"],
    [["--cron", "0 9 * * *", "--tz", "Europe/Berln"], "did you mean Europe/Berlin?"],
    [["--cron", "0 0 30 2 *"], "never comes"],
    [["--cron", "0 9 * * *", "--tz", "berlin"], "did you mean Europe/Berlin?\n"],
    [["--at", "2099-12-24T18:00", "--tz", "Mars/Base"], "nanogate: unknown timezone 'Mars/Base'"],
    [["--at", "tomorrow"], '--at "tomorrow" is no time.'],
    [["--at", "2020-01-01T00:00"], "That time is over, so it would never run."],
    [["--every", "soon"], '--every "soon" is no length of time.'],
    [["--every", "5ms"], '--every "5ms" is too short.'],
    [["--every", "2h", "--tz", "UTC"], "--tz goes with --cron or --at."],
    [["--every", "2h", "--at", "2099-01-01"], "A job needs one of --every, --cron and --at."],
    [[], "A job needs one of --every, --cron and --at."],
    [["--every", "2h", "--silent"], "--silent tells nobody, and --to somebody."],
    [["--every", "2h", "--misfire", "never"], "Allowed choices are skip, once, all"],
    [["--every", "2h", "--retries", "-1"], '--retries must be a number, not "-1".'],
    [["--every", "2h", "--grace", "long"], '--grace "long" is no length of time.'],
  ])("%j: %s", async (args, problem) => {
    const { home, cron } = openCron();
    const { code, out, err } = await cron("add", ...reminder, ...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(problem);
    expect(existsSync(join(home, "cron"))).toBe(false);
  });

  it.each([
    [["--every", "2h", "--to", "telegram:1"], "required option '--message <text>' not specified"],
    [["--every", "2h", "--to", "telegram:1", "--message", " "], "--message is empty."],
    [["--every", "2h", "--message", "a"], "Who gets the answer?"],
    [["--every", "2h", "--message", "a", "--to", "42"], '--to "42" is no chat.'],
  ])("%j: %s", async (args, problem) => {
    const { code, err } = await openCron().cron("add", ...args);
    expect(code).toBe(2);
    expect(err).toContain(problem);
  });
});

describe("nanogate cron remove, enable and disable", () => {
  it("change the one job", async () => {
    const { added, cron } = openCron();
    const { id } = await added("--every", "2h");
    expect((await cron("disable", id)).out).toBe(`Job ${id} is switched off.\n`);
    expect((await cron("list")).out).toContain("switched off");
    expect((await cron("enable", id)).out).toMatch(/is switched on; next run .* \(Europe\/Berlin\)\.$/m);
    expect(JSON.parse((await cron("disable", id, "--json")).out)).toMatchObject({ id, enabled: false });
    expect((await cron("remove", id, "--json")).out).toBe(`{"id":"${id}","removed":true}\n`);
    expect((await cron("list", "--json")).out).toBe("[]\n");
  });

  it.each(["remove", "enable", "disable", "run", "history", "preview"])(
    "%s ends with 4 for a job that is not there",
    async (what) => {
      const { code, err } = await openCron().cron(what, "nope");
      expect(code).toBe(4);
      expect(err).toContain('There is no job "nope".');
    },
  );
});

describe("nanogate cron preview", () => {
  it("shows the next runs of an expression, in its zone and in one's own", async () => {
    const { out, code } = await openCron().cron("preview", "0 9 * * *", "--tz", "Asia/Tokyo", "-n", "3");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toBe("cron: 0 9 * * * (Asia/Tokyo), times in Asia/Tokyo");
    expect(lines.filter((line) => / 09:00:00 \+09:00 {3}.* 0[12]:00:00 in Europe\/Berlin$/.test(line))).toHaveLength(3);
  });

  it("marks the change of the clocks, and the run that has to move for it", async () => {
    // Every day of half a year: one change is in it for sure.
    const { out } = await openCron().cron("preview", "30", "2", "*", "*", "*", "-n", "366");
    expect(out).toMatch(
      /the clocks go forward by 1h: \d{4}-03-\d\d, 02:00 → 03:00\n.* 03:00:00 \+02:00 {3}its time does not exist that day/,
    );
    expect(out).toMatch(
      / 02:30:00 \+02:00\n +the clocks go back by 1h: \d{4}-10-\d\d, 03:00 → 02:00\n.* 02:30:00 \+01:00\n/,
    );
  });

  it("shows those of a job, and JSON for scripts", async () => {
    const { added, cron } = openCron();
    const { id, createdAtMs } = await added("--every", "1d");
    const { schedule, zone, rows } = JSON.parse((await cron("preview", id, "--json")).out) as {
      schedule: object;
      zone: string;
      rows: { kind: string; at: string }[];
    };
    expect(schedule).toEqual({ kind: "every", everyMs: 86_400_000 });
    expect(zone).toBe("Europe/Berlin");
    const runs = rows.filter(({ kind }) => kind === "run").map(({ at }) => Date.parse(at));
    expect(runs).toEqual(Array.from({ length: 10 }, (_, n) => createdAtMs + (n + 1) * 86_400_000));
  });

  it.each([
    ["61 * * * *", "minute 61: use 0–59"],
    ["@dayly", "@dayly: use @daily"],
  ])("explains %j: %s", async (expr, problem) => {
    const { code, err } = await openCron().cron("preview", expr);
    expect(code).toBe(2);
    expect(err).toContain(problem);
  });
});

describe("nanogate cron run and history", () => {
  it("ask for one run and show what came of it", async () => {
    const { home, added, cron } = openCron();
    const { id } = await added("--every", "2h");
    const early = await cron("run", id);
    expect(early.code).toBe(1);
    expect(early.err).toContain("No gateway has run here yet");
    await (await openBook(home)).close();
    expect((await cron("run", id)).out).toContain(`Job ${id} runs within seconds if the gateway runs`);
    const book = await openBook(home);
    const [open] = await book.occurrences.open();
    expect(open).toMatchObject({ job: id, name: "drink water", how: "manual" });
    expect((await cron("history", id)).out).toMatch(/ drink water {2}open .* asked for$/m);
    if (open) await book.occurrences.change(open, { kind: "failed", reason: "the model\u0007 was away" });
    await book.close();
    const { out } = await cron("history");
    expect(out).toMatch(/ failed {3}1 .* asked for; the model\\x07 was away$/m);
    expect(JSON.parse((await cron("history", "--json")).out)).toMatchObject([{ job: id, outcome: "failed" }]);
  });

  it("say why a time was skipped, and how many at once", async () => {
    const { home, cron } = openCron();
    const at = Date.UTC(2026, 0, 1, 12);
    const book = await openBook(home, at);
    const skipped = [{ from: at - 7_200_000, to: at - 3_600_000, count: 2, by: "grace" as const }];
    await book.occurrences.decide([
      { job: "j", name: "n", through: at, timing: "", planned: undefined, listed: undefined, runs: [], skipped },
    ]);
    await book.close();
    expect((await cron("history", "j")).out).toMatch(
      /^2026-01-01 11:00:00 {2}j .* skipped .* 2 times until 2026-01-01 12:00:00; it was missed too long ago$/m,
    );
  });
});
