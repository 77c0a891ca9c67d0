/** What every book of the clock owes, whatever it is kept in. */
import { describe, expect, it } from "vitest";
import type { Decision, Occurrences, OpenOccurrence } from "../../src/cron/occurrences.js";
import type { LedgerBench } from "./ledger.contract.js";

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);
const at = (hours: number): number => start + hours * hour;

const decision = (parts: Partial<Decision> & { readonly through: number }): Decision => ({
  job: "a",
  name: "water the plants",
  timing: "hourly",
  planned: undefined,
  listed: undefined,
  runs: [],
  skipped: [],
  ...parts,
});
const run = (hours: number, late = false): Decision =>
  decision({ through: at(hours), runs: [{ dueAt: at(hours), late }] });
const skip = (from: number, to: number): Decision =>
  decision({ through: at(to), skipped: [{ from: at(from), to: at(to), count: to - from + 1, by: "once" }] });

const all = new Map([
  ["a", 7],
  ["b", undefined],
]);
const mark = (hours: number, ahead: readonly number[] = [], ...ours: readonly number[]) => ({
  through: at(hours),
  timing: "hourly",
  ours,
  ahead: ahead.map(at),
});

const only = ([occurrence, ...more]: readonly OpenOccurrence[]): OpenOccurrence => {
  if (!occurrence || more.length > 0) throw new Error("one is expected");
  return occurrence;
};

export function describeOccurrences(name: string, bench: () => LedgerBench): void {
  const book = async () => {
    const { open, pass } = bench();
    const ledger = await open();
    const { occurrences } = ledger;
    const told = async (job = "a"): Promise<string[]> =>
      (await occurrences.history({ job, limit: 100 })).map(
        ({ dueAt, until, outcome, reason }) =>
          `${(dueAt - start) / hour}${until === dueAt ? "" : `–${(until - start) / hour}`} ${outcome}${reason === undefined ? "" : ` (${reason})`}`,
      );
    return { occurrences, told, open, pass, close: () => ledger.close() };
  };

  describe(`${name}: the clock's book`, () => {
    it("knows what was decided, after it was opened again too", async () => {
      const { occurrences, open, close } = await book();
      await occurrences.decide([run(9), { ...run(10, true), job: "b", name: "another" }]);
      await close();
      const again = await open();
      expect(await again.occurrences.open()).toEqual([
        {
          job: "a",
          name: "water the plants",
          dueAt: at(9),
          how: "scheduled",
          late: false,
          attempt: 1,
          notBefore: 0,
        },
        { job: "b", name: "another", dueAt: at(10), how: "scheduled", late: true, attempt: 1, notBefore: 0 },
      ]);
      expect(await again.occurrences.marks()).toEqual(
        new Map([
          ["a", mark(9)],
          ["b", mark(10)],
        ]),
      );
      await again.close();
    });

    it("decides each once: what has an outcome keeps it, and no mark goes back by deciding", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([run(9)]);
      await occurrences.change(only(await occurrences.open()), { kind: "ran" });
      await occurrences.decide([run(9, true), skip(9, 9)]);
      await occurrences.decide([decision({ through: at(3) })]);
      expect(await told()).toEqual(["9 ran"]);
      expect(await occurrences.open()).toEqual([]);
      expect((await occurrences.marks()).get("a")).toEqual(mark(9));
      await close();
    });

    it("knows how a job was timed, and what its next run was thought to be, as decided last", async () => {
      const { occurrences, close } = await book();
      await occurrences.decide([{ ...run(9), timing: "daily", planned: at(33), listed: at(9) }]);
      await occurrences.decide([{ ...run(10), planned: at(11), listed: at(33) }]);
      expect((await occurrences.marks()).get("a")).toEqual(mark(10, [], at(11), at(33)));
      await close();
    });

    it("decides all or nothing", async () => {
      const { occurrences, close } = await book();
      const broken = { ...run(10), job: null as unknown as string };
      await expect(occurrences.decide([run(9), broken])).rejects.toThrow();
      expect(await occurrences.open()).toEqual([]);
      expect(await occurrences.marks()).toEqual(new Map());
      await close();
    });

    it("gives each one outcome, the first", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([run(9)]);
      const occurrence = only(await occurrences.open());
      expect(await occurrences.change(occurrence, { kind: "failed", reason: "no\0 model" })).toBe(true);
      expect(await occurrences.change(occurrence, { kind: "ran" })).toBe(false);
      expect(await occurrences.change(occurrence, { kind: "again", notBefore: 0, reason: "?" })).toBe(false);
      expect(await told()).toEqual(["9 failed (no model)"]);
      await close();
    });

    it("counts the tries of one and remembers when and why the next one is due", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([run(9, true)]);
      await occurrences.change(only(await occurrences.open()), { kind: "again", notBefore: at(10), reason: "busy" });
      const second = only(await occurrences.open());
      expect(second).toMatchObject({ attempt: 2, notBefore: at(10), reason: "busy", late: true });
      await occurrences.change(second, { kind: "late" });
      expect(await told()).toEqual(["9 late"]);
      expect((await occurrences.history({ limit: 1 }))[0]).toMatchObject({ attempts: 2 });
      await close();
    });

    it("has runs that the owner asked for beside the scheduled ones, as many as they like", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([run(0)]);
      const job = { id: "a", name: "water the plants" };
      const asked = [await occurrences.request(job), await occurrences.request(job)];
      expect(await occurrences.open()).toHaveLength(3);
      expect((await occurrences.open()).filter(({ how }) => how === "manual")).toEqual(asked);
      expect((await occurrences.marks()).get("a")).toEqual(mark(0));
      for (const occurrence of asked) await occurrences.change(occurrence, { kind: "ran" });
      expect(await told()).toContain("0 open");
      await close();
    });

    it("tells the newest first, of one job or of all", async () => {
      const { occurrences, told, close, pass } = await book();
      await occurrences.decide([skip(1, 4), { ...run(3), job: "b" }]);
      pass(hour);
      await occurrences.decide([run(5)]);
      expect(await told()).toEqual(["5 open", "1–4 skipped (once)"]);
      expect((await occurrences.history({ limit: 2 })).map(({ job, count }) => [job, count])).toEqual([
        ["a", 1],
        ["b", 1],
      ]);
      expect((await occurrences.history({ job: "a", limit: 5 }))[1]).toMatchObject({ count: 4 });
      await close();
    });
  });

  describe(`${name}: the clock is put back`, () => {
    it("what was skipped as missed and is yet to come was not missed; what ran has run", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([skip(1, 8)]);
      await occurrences.decide([
        decision({ ...skip(10, 99), through: at(100), runs: [{ dueAt: at(100), late: true }] }),
      ]);
      await occurrences.change(only(await occurrences.open()), { kind: "late" });
      const marks = await occurrences.takeBack(at(4.5), all);
      expect(marks.get("a")).toEqual(mark(4.5, [100], 7));
      expect(await occurrences.marks()).toEqual(marks);
      expect(await told()).toEqual(["100 late", "1–4.5 skipped (once)"]);
      expect((await occurrences.history({ job: "a", limit: 5 }))[1]?.count).toBeUndefined();
      await occurrences.decide([decision({ through: at(101), runs: [{ dueAt: at(100), late: false }] })]);
      expect(await occurrences.open()).toEqual([]);
      await close();
    });

    it("a job that is over or switched off has had its chance", async () => {
      const { occurrences, told, close } = await book();
      await occurrences.decide([skip(9, 9)]);
      const marks = await occurrences.takeBack(at(5), new Map([["b", 7]]));
      expect(marks.get("a")).toEqual(mark(9));
      expect(await told()).toEqual(["9 skipped (once)"]);
      await close();
    });

    it("what was skipped for another reason, and jobs that are not ahead, stay as they are", async () => {
      const { occurrences, told, close } = await book();
      const overlap = { from: at(9), to: at(9), count: 1, by: "overlap" } as const;
      await occurrences.decide([decision({ through: at(9), skipped: [overlap] }), { ...skip(1, 3), job: "b" }]);
      const marks = await occurrences.takeBack(at(5), all);
      expect(marks.get("a")).toEqual(mark(5, [9], 7));
      expect(marks.get("b")).toEqual(mark(3));
      expect(await told()).toEqual(["9 skipped (overlap)"]);
      expect(await told("b")).toEqual(["1–3 skipped (once)"]);
      await close();
    });
  });

  describe(`${name}: what is old is forgotten`, () => {
    const sweepAll = async (occurrences: Occurrences, before: number): Promise<void> => {
      for (let rows = 1; rows > 0;) rows = await occurrences.sweep(before);
    };

    it("but not how far a job was decided, nor what is open", async () => {
      const { occurrences, told, close, pass } = await book();
      await occurrences.decide([run(1)]);
      await occurrences.change(only(await occurrences.open()), { kind: "ran" });
      await occurrences.decide([run(2)]);
      pass(40 * 24 * hour);
      await occurrences.decide([run(960)]);
      await sweepAll(occurrences, at(240));
      expect(await told()).toEqual(["960 open", "2 open"]);
      expect((await occurrences.marks()).get("a")).toEqual(mark(960));
      await close();
    });

    it("and the clock is not taken back to before it: those may have run", async () => {
      const { occurrences, close, pass } = await book();
      await occurrences.decide([run(5)]);
      await occurrences.change(only(await occurrences.open()), { kind: "ran" });
      pass(40 * 24 * hour);
      await sweepAll(occurrences, at(240));
      expect((await occurrences.takeBack(at(2), all)).get("a")).toEqual(mark(5, [], 7));
      await close();
    });

    it("but not what ran while the clock was ahead, until its time has come", async () => {
      const { occurrences, told, close, pass } = await book();
      await occurrences.decide([run(9000)]);
      await occurrences.change(only(await occurrences.open()), { kind: "ran" });
      await occurrences.takeBack(at(1), all);
      pass(40 * 24 * hour);
      await sweepAll(occurrences, at(960));
      expect(await told()).toEqual(["9000 ran"]);
      await occurrences.decide([decision({ through: at(9001) })]);
      await sweepAll(occurrences, at(960));
      expect(await told()).toEqual([]);
      await close();
    });

    it("a job that is due every second does not fill the disk", async () => {
      const { occurrences, close } = await book();
      const many = Array.from({ length: 900 }, (_, number) => skip(number, number));
      await occurrences.decide([...many, { ...skip(1, 1), job: "b" }]);
      await sweepAll(occurrences, at(-1));
      const left = await occurrences.history({ job: "a", limit: 1000 });
      expect(left).toHaveLength(200);
      expect(left[0]?.dueAt).toBe(at(899));
      expect(await occurrences.history({ job: "b", limit: 10 })).toHaveLength(1);
      await close();
    });
  });
}
