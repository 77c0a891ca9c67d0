/** The list of jobs, against the files that nanobot really wrote. */
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  caseOf,
  defaults,
  every,
  golden,
  jobsOf,
  names,
  openStore,
  type OpsCase,
  payload,
  perform,
  start,
} from "../support/job-shop.js";

describe("after the same events the file is v0.1.4.post4's, byte for byte", async () => {
  const version = "v0.1.4.post4";
  /** Where we do otherwise, and why. */
  const differs: Readonly<Record<string, string>> = {
    "add-at-past": "a job that would never run is refused",
    "add-cron-invalid": "a job that would never run is refused",
    "add-every-zero": "a job that would never run is refused",
    "add-unknown-tz": "nothing is written where nothing has changed",
    "add-tz-on-every": "our words for a schedule have no zone there",
    "restart-recomputes": "a restart puts nothing off",
    "disable-enable": "nor does a pause",
  };
  const cases = (await names(version)).filter((name) => !name.startsWith("load-"));

  it("for every case but the seven listed", () => {
    expect(cases).toHaveLength(22);
    expect(cases).toEqual(expect.arrayContaining(Object.keys(differs)));
  });

  it.each(cases.filter((name) => !differs[name]))("%s", async (name) => {
    const { ops, results } = await caseOf<OpsCase>(version, name);
    const shop = await openStore();
    const got: unknown[] = [];
    for (const op of ops) got.push(await perform(shop, op));
    expect(got).toEqual(results);
    expect(await shop.read()).toBe(await jobsOf(version, name));
  });

  it.each([
    ["add-at-past", "that time is over, so it would never run"],
    ["add-cron-invalid", "5 fields: minute hour day month weekday; there are 3"],
    ["add-every-zero", "an interval has to be at least one millisecond long"],
    ["add-unknown-tz", "unknown timezone 'Mars/Base'"],
  ])("%s is refused: %s", async (name, reason) => {
    const { ops } = await caseOf<OpsCase>(version, name);
    const shop = await openStore();
    for (const op of ops) await expect(perform(shop, op)).rejects.toThrow(reason);
    expect(existsSync(shop.path("cron/jobs.json"))).toBe(false);
  });

  it("disable-enable: an interval goes on where it was", async () => {
    const { ops } = await caseOf<OpsCase>(version, "disable-enable");
    const shop = await openStore();
    for (const op of ops) await perform(shop, op);
    const theirs = await jobsOf(version, "disable-enable");
    expect(await shop.read()).toBe(theirs.replace(`: ${start + 750 + 1000}`, `: ${start + 1000}`));
  });

  it("restart-recomputes: a restart changes nothing, so that nothing is put off or forgotten", async () => {
    const { ops } = await caseOf<OpsCase>(version, "restart-recomputes");
    const shop = await openStore();
    for (const op of ops) await perform(shop, op);
    const before = await shop.read();
    const again = shop.another();
    expect((await again.list()).map(({ nextRunAtMs }) => nextRunAtMs)).toEqual([start + 60_000, start + 1000]);
    expect(await shop.read()).toBe(before);
  });
});

describe("a file that nanobot wrote", async () => {
  for (const version of ["v0.1.4.post4", "v0.3.0"]) {
    const files = (await readdir(join(golden, version))).filter((name) => name.endsWith(".jobs.json"));

    it.each(files)(`is kept byte for byte when a job comes and goes: ${version}/%s`, async (name) => {
      const text = await readFile(join(golden, version, name), "utf8");
      const { store, read } = await openStore({ files: { "cron/jobs.json": text }, newId: () => "new" });
      const before = await store.list();
      const { id } = await store.add({
        name: "n",
        message: "m",
        schedule: { kind: "every", everyMs: 1 },
        deleteAfterRun: false,
      });
      expect(await read()).not.toBe(text);
      expect(await store.remove(id)).toBe(true);
      expect(await read()).toBe(text);
      expect(await store.list()).toEqual(before);
    });
  }

  it("and that counts its runs goes on being counted (v0.3.0)", async () => {
    for (const name of ["run-ok", "run-error", "run-disabled", "run-at-once"]) {
      const { ops } = await caseOf<OpsCase>("v0.3.0", name);
      const shop = await openStore({ files: { "cron/jobs.json": await jobsOf("v0.3.0", "restart-recomputes") } });
      const [job] = JSON.parse(await jobsOf("v0.3.0", name)).jobs as [Record<string, unknown>];
      const fresh = {
        ...job,
        state: { ...(job["state"] as object), lastRunAtMs: null, lastStatus: null, lastError: null, runHistory: [] },
      };
      await writeFile(
        shop.path("cron/jobs.json"),
        JSON.stringify({ version: 1, jobs: [{ ...fresh, enabled: true, updatedAtMs: start }] }),
      );
      for (const op of ops) if (op.op !== "add") await perform(shop, op);
      expect(await shop.read()).toBe(await jobsOf("v0.3.0", name));
    }
  });
});

describe("where a job runs and whom it tells", () => {
  it.each([
    [
      "of the old shape",
      { deliver: true, channel: "telegram", to: "77" },
      "cron:j",
      { channel: "telegram", chat: "77" },
    ],
    ["that tells nobody", { deliver: false, channel: "telegram", to: "77" }, "cron:j", undefined],
    ["without a chat", { deliver: true, channel: "telegram", to: null }, "cron:j", undefined],
    [
      "bound to a session",
      {
        deliver: false,
        channel: null,
        to: null,
        sessionKey: "telegram:77",
        originChannel: "telegram",
        originChatId: "77",
      },
      "telegram:77",
      { channel: "telegram", chat: "77" },
    ],
    [
      "bound to a topic",
      { sessionKey: "telegram:-100:topic:5", originChannel: "telegram", originChatId: "-100" },
      "telegram:-100:topic:5",
      { channel: "telegram", chat: "-100:topic:5" },
    ],
    [
      "of the old shape, made in a topic",
      { deliver: true, channel: "telegram", to: "-100", sessionKey: "telegram:-100:topic:5" },
      "cron:j",
      { channel: "telegram", chat: "-100:topic:5" },
    ],
    [
      "in another spelling",
      { session_key: "cli:d", origin_channel: "cli", origin_chat_id: "d" },
      "cli:d",
      { channel: "cli", chat: "d" },
    ],
  ])("%s", async (_, fields, session, to) => {
    const { store } = await openStore({ files: { "cron/jobs.json": payload(fields) } });
    const [job] = await store.list();
    expect(job?.session).toBe(session);
    expect(job?.to).toEqual(to);
  });

  it("another program's jobs are kept, and neither shown nor changed", async () => {
    const text = payload({ kind: "system_event", message: "" });
    const { store, read } = await openStore({ files: { "cron/jobs.json": text } });
    expect(await store.list()).toEqual([]);
    expect(await store.remove("j")).toBe(false);
    expect(await store.enable("j", false)).toBeUndefined();
    await store.ran("j", { atMs: 1, status: "ok" }, 2);
    expect(await read()).toBe(text);
  });
});

describe("a job that nanobot took although it can never run", () => {
  it.each([
    ["add-cron-invalid", "Job 2442ffee (broken) never runs: 5 fields: minute hour day month weekday; there are 3."],
    ["add-every-zero", "Job 2442ffee (zero) never runs: an interval has to be at least one millisecond long."],
  ])("is told of, once: %s", async (name, problem) => {
    const { store, told } = await openStore({ files: { "cron/jobs.json": await jobsOf("v0.1.4.post4", name) } });
    await store.list();
    await store.enable("2442ffee", true);
    await store.list();
    expect(told[0]).toBe(problem);
    expect(new Set(told).size).toBe(told.length);
  });
});

describe("a job that was copied by hand, with its id", () => {
  it("is kept and told of; only the first counts", async () => {
    const shop = await openStore();
    await shop.store.add(every("a"));
    const file = JSON.parse(await shop.read()) as { jobs: object[] };
    const text = JSON.stringify({ ...file, jobs: [...file.jobs, { ...file.jobs[0], name: "b" }] });
    const { store, told, read } = await openStore({ files: { "cron/jobs.json": text } });
    expect((await store.list()).map(({ name }) => name)).toEqual(["a"]);
    expect(told).toEqual(["A second job in jobs.json has the id 2442ffee (b). It never runs: give it one of its own."]);
    await store.ran("2442ffee", { atMs: start, status: "ok" }, start + 1);
    expect((await store.list()).map(({ name }) => name)).toEqual(["a"]);
    expect((JSON.parse(await read()) as typeof file).jobs).toHaveLength(2);
    expect(told).toHaveLength(1);
  });
});

describe("how a job wants to be treated", () => {
  it("is kept beside nanobot's file, which does not change by it", async () => {
    const shop = await openStore();
    const { policy } = await shop.store.add({ ...every("a"), policy: { misfire: "all", retries: 2 } });
    expect(policy).toEqual({ ...defaults, misfire: "all", retries: 2 });
    expect(await shop.read()).not.toContain("misfire");
    const [job] = await shop.another().list();
    expect(job?.policy).toEqual(policy);
    await shop.store.remove("2442ffee");
    expect(JSON.parse(await shop.read("state/cron-policies.json"))).toEqual({ version: 1, jobs: {} });
  });

  it("is forgotten with a job that is over", async () => {
    const { store, read } = await openStore();
    const at = {
      ...every("a"),
      schedule: { kind: "at", atMs: start + 1 },
      deleteAfterRun: true,
      policy: { retries: 1 },
    } as const;
    const { id } = await store.add(at);
    await store.ran(id, { atMs: start, status: "ok" }, undefined);
    expect(await store.list()).toEqual([]);
    expect(await read("state/cron-policies.json")).not.toContain(id);
  });

  it("is what everybody gets where that file is damaged, which is told and kept", async () => {
    const { store, told, path } = await openStore({ files: { "state/cron-policies.json": "{oops" } });
    await store.add(every("a"));
    expect((await store.list())[0]?.policy).toEqual(defaults);
    expect(told).toEqual([expect.stringContaining("all jobs are treated alike")]);
    await store.add({ ...every("b"), policy: { retries: 3 } });
    expect((await store.list())[1]?.policy.retries).toBe(3);
    expect(await readFile(path(`state/cron-policies.json.corrupt-${Math.floor(start / 1000)}`), "utf8")).toBe("{oops");
  });
});
