/** The file of jobs: as it may be found, where, and written by several. */
import { existsSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createJobsFile } from "../../src/cron/jobs-file.js";
import type { ProcessLock } from "../../src/util/process-lock.js";
import { caseOf, every, jobsOf, type LoadCase, names, openStore, payload, start } from "../support/job-shop.js";

describe("a file as it may be found", async () => {
  const decided: Readonly<
    Record<string, { readonly listed: readonly string[]; readonly aside?: true; readonly told?: string }>
  > = {
    "load-array-top": { listed: [], aside: true, told: "it is not an object" },
    "load-bom": { listed: ["aaaa1111"] },
    "load-crlf": { listed: ["aaaa1111"] },
    "load-disabled-kept": { listed: ["aaaa1111"] },
    "load-empty-file": { listed: [], aside: true, told: "Unexpected end" },
    "load-extra-fields": { listed: ["aaaa1111"] },
    "load-legacy-delivery": { listed: ["aaaa1111"] },
    "load-legacy-no-delivery": { listed: ["aaaa1111"] },
    "load-legacy-no-to": { listed: ["aaaa1111"] },
    "load-minimal-fields": { listed: ["b"] },
    "load-missing-payload": { listed: ["b"] },
    "load-missing-schedule": { listed: [], told: "job b has no schedule of a known kind" },
    "load-no-jobs-key": { listed: [] },
    "load-not-json": { listed: [], aside: true, told: "could not be read" },
    "load-snake-case": { listed: ["s"] },
    "load-string-numbers": { listed: ["aaaa1111"] },
    "load-version-2": { listed: ["aaaa1111"] },
  };

  it("is each of nanobot's cases", async () => {
    for (const version of ["v0.1.4.post4", "v0.3.0"]) {
      const loads = (await names(version)).filter((name) => name.startsWith("load-"));
      expect(loads.sort()).toEqual(Object.keys(decided).sort());
    }
  });

  it.each(Object.entries(decided))("%s", async (name, { listed, aside, told: expected }) => {
    const { jobs_json_before: before } = await caseOf<LoadCase>("v0.3.0", name);
    const { store, read, path, told } = await openStore({ files: { "cron/jobs.json": before } });
    expect((await store.list()).map(({ id }) => id)).toEqual(listed);
    expect(told).toEqual(expected === undefined ? [] : [expect.stringContaining(expected)]);
    expect(store.problems()).toHaveLength(told.length);
    const others = (await readdir(path("cron"))).filter((one) => one !== "jobs.json");
    // v0.3.0's name for it. What could be read is not touched by looking.
    expect(others).toEqual(aside ? [`jobs.json.corrupt-${Math.floor(start / 1000)}`] : []);
    expect(await read(`cron/${others[0] ?? "jobs.json"}`)).toBe(before);
  });

  it("and whose next run is what the file says, in whatever spelling", async () => {
    for (const [name, next] of [
      ["load-snake-case", 5],
      ["load-string-numbers", 1_773_146_096_784],
    ] as const) {
      const { jobs_json_before: before } = await caseOf<LoadCase>("v0.3.0", name);
      const { store, read, pass, now } = await openStore({ files: { "cron/jobs.json": before } });
      const [job] = await store.list();
      expect(job?.nextRunAtMs).toBe(next);
      expect(job?.schedule).toEqual({ kind: "every", everyMs: name === "load-snake-case" ? 1000 : 60_000 });
      pass(1);
      await store.enable(job?.id ?? "", false);
      // In its place and in its spelling, and nothing else.
      const after = before
        .replace(`"next_run_at_ms": 5`, `"next_run_at_ms": null`)
        .replace(`"nextRunAtMs": 1773146096784`, `"nextRunAtMs": null`);
      expect(JSON.parse(await read())).toEqual({
        version: 1,
        jobs: [{ ...(JSON.parse(after) as { jobs: [object] }).jobs[0], enabled: false, updatedAtMs: now() }],
      });
    }
  });

  it("is given time where another program is just writing it", async () => {
    const whole = await jobsOf("v0.1.4.post4", "add-cron");
    const { store, path, told } = await openStore({ files: { "cron/jobs.json": whole.slice(0, 100) } });
    const listed = store.list();
    await sleep(150);
    await writeFile(path("cron/jobs.json"), whole);
    expect(await listed).toHaveLength(1);
    expect(told).toEqual([]);
  });

  it("that is no text is set aside too", async () => {
    const { store, path, told } = await openStore({ files: { "cron/jobs.json": "" } });
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]);
    await writeFile(path("cron/jobs.json"), bytes);
    await store.add({ name: "n", message: "m", schedule: { kind: "every", everyMs: 1 }, deleteAfterRun: false });
    expect(await readFile(path(`cron/jobs.json.corrupt-${Math.floor(start / 1000)}`))).toEqual(bytes);
    expect(told).toEqual([expect.stringContaining("it is not UTF-8")]);
  });
});

describe("the place of the file", () => {
  it("is the home for a new one, as v0.1.4.post4 has it", async () => {
    const { store, path } = await openStore();
    await store.add(every("a"));
    expect(existsSync(path("cron/jobs.json"))).toBe(true);
    expect(existsSync(path("workspace/cron/jobs.json"))).toBe(false);
  });

  it("is the workspace where a later version has put it, also while we run", async () => {
    const { store, path, read, told } = await openStore();
    await store.add(every("a"));
    const text = await read();
    await mkdir(path("workspace/cron"), { recursive: true });
    await writeFile(path("workspace/cron/jobs.json"), text);
    await rm(path("cron/jobs.json"));
    expect(await store.list()).toHaveLength(1);
    await store.add(every("b"));
    expect(existsSync(path("cron/jobs.json"))).toBe(false);
    expect(await read("workspace/cron/jobs.json")).toContain('"name": "b"');
    expect(told).toEqual([]);
  });

  it("is the workspace where both have one, and the owner is told", async () => {
    const files = { "cron/jobs.json": payload({}), "workspace/cron/jobs.json": '{"version": 1, "jobs": []}' };
    const { store, told } = await openStore({ files });
    expect(await store.list()).toEqual([]);
    expect(told).toEqual([expect.stringContaining("what is in /home/cron/jobs.json does not run")]);
  });
});

describe("several at once", () => {
  it("see what the others did, and lose nothing of it", async () => {
    const shop = await openStore({ newId: undefined as never });
    const other = shop.another();
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? shop.store : other).add(every(`job ${n}`))));
    expect(new Set((await shop.store.list()).map(({ name }) => name)).size).toBe(40);
    expect(await other.list()).toEqual(await shop.store.list());
  });

  it("a program that does not know our lock and writes in place included", async () => {
    const { store, path, read } = await openStore();
    await store.add(every("ours"));
    const theirs = JSON.parse(await read()) as { jobs: object[] };
    theirs.jobs.push({ ...theirs.jobs[0], id: "theirs" });
    await writeFile(path("cron/jobs.json"), JSON.stringify(theirs));
    await store.enable("2442ffee", false);
    expect((await store.list()).map(({ id, enabled }) => [id, enabled])).toEqual([
      ["2442ffee", false],
      ["theirs", true],
    ]);
  });

  it("and one that writes in the very moment of our change", async () => {
    let interfere = (): void => {};
    const shop = await openStore({
      now() {
        interfere();
        return start;
      },
    });
    const { id } = await shop.store.add(every("ours"));
    const [mine] = (JSON.parse(await shop.read()) as { jobs: [object] }).jobs;
    interfere = () => {
      writeFileSync(shop.path("cron/jobs.json"), JSON.stringify({ jobs: [{ ...mine, id: "theirs" }, mine] }));
      interfere = () => {};
    };
    await shop.store.enable(id, false);
    expect((await shop.store.list()).map((job) => [job.id, job.enabled])).toEqual([
      ["theirs", true],
      [id, false],
    ]);
  });

  it("a wish is granted in whatever moment it comes", async () => {
    const { path } = await openStore({ files: { "cron/jobs.json": "{}" } });
    const lock: ProcessLock = { hold: (work) => work(), close() {} };
    const parts = { home: path("."), workspace: path("workspace"), now: () => start, report() {} };
    const file = createJobsFile({ ...parts, lock });
    for (let later = 0; later < 20; later++) {
      expect(await file.change((entries) => ({ entries, result: later }))).toBe(later);
      for (let moment = 0; moment < later; moment++) await Promise.resolve();
    }
  });

  it("a wish that fails does not take the others with it", async () => {
    const { store } = await openStore();
    const settled = await Promise.allSettled([
      store.add(every("a")),
      store.add({ ...every("b"), schedule: { kind: "every", everyMs: 0 } }),
      store.add(every("c")),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await store.list()).toHaveLength(2);
  });
});

describe("any file", () => {
  it("keeps what we do not know, whatever happens to the other jobs", async () => {
    const name = fc.string({ minLength: 1, maxLength: 6, unit: "grapheme" }).filter((key) => !known.has(key));
    // As it comes back from a file: there is no -0 in JSON.
    const extras = fc
      .dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
      .map((value) => JSON.parse(JSON.stringify(value)) as typeof value);
    const job = fc.record({
      more: extras,
      inPayload: extras,
      inState: extras,
      inSchedule: extras,
      isForeign: fc.boolean(),
    });
    const known = new Set([
      "id",
      "name",
      "enabled",
      "schedule",
      "payload",
      "state",
      "version",
      "jobs",
      "kind",
      "__proto__",
    ]);
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 4 }), extras, fc.nat({ max: 3 }), async (jobs, root, touched) => {
        const entries = jobs.map(({ more, inPayload, inState, inSchedule, isForeign }, n) => ({
          id: `j${n}`,
          name: "n",
          ...more,
          schedule: { kind: "every", everyMs: 1000, ...inSchedule },
          payload: { kind: isForeign ? "system_event" : "agent_turn", ...inPayload },
          state: { nextRunAtMs: 1, ...inState },
        }));
        const { store, read } = await openStore({
          files: { "cron/jobs.json": JSON.stringify({ ...root, version: 1, jobs: entries }) },
          newId: () => "new",
        });
        await store.add(every("new"));
        await store.enable("new", false);
        await store.ran("new", { atMs: 1, status: "error", error: "x" }, 7);
        await store.enable(`j${touched}`, true);
        await store.ran(`j${touched}`, { atMs: 2, status: "ok" }, 9);
        await store.remove("new");
        const after = JSON.parse(await read()) as { jobs: (typeof entries)[number][] };
        expect({ ...after, jobs: [] }).toEqual({ ...root, version: 1, jobs: [] });
        const own = jobs.map(({ isForeign }, n) => n === touched && !isForeign);
        expect(after.jobs.filter((_, n) => !own[n])).toEqual(entries.filter((_, n) => !own[n]));
        for (const [n, entry] of after.jobs.entries()) {
          expect(entry).toMatchObject({ ...jobs[n]?.more, ...(own[n] ? {} : entries[n]) });
          expect(entry.state).toMatchObject(jobs[n]?.inState ?? {});
          expect(entry.payload).toEqual(entries[n]?.payload);
          expect(entry.schedule).toEqual(entries[n]?.schedule);
        }
      }),
      { numRuns: 40 },
    );
  });
});
