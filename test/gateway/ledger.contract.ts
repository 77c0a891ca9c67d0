/** What every ledger owes, whatever it is kept in. */
import { describe, expect, it } from "vitest";
import type { FinishedTurn, Item, Ledger, Outcome, Progress, Step } from "../../src/gateway/ledger.js";
import type { Inbound, Outbound } from "../../src/message.js";
import { localIsoTime } from "../../src/util/clock.js";

export type LedgerBench = {
  /** Opens the same ledger, again and again, also side by side. */
  readonly open: () => Promise<Ledger>;
  /** Moves the ledger's clock. */
  readonly pass: (ms: number) => void;
};

const message = (id: string, text = "hi", chat = "ann"): Inbound => ({
  id,
  from: { channel: "fake", chat },
  sender: ["ann"],
  text,
  media: [],
});
const localDay = (ms: number): string => localIsoTime(ms * 1000).slice(0, 10);
const said = (text: string, chat = "ann"): Outbound => ({ kind: "text", to: { channel: "fake", chat }, text });
const turn = (texts: readonly string[], outcome: Outcome = { kind: "answered" }, chat = "ann"): FinishedTurn => ({
  rows: [{ role: "user", content: "hi" }],
  messages: texts.map((text) => said(text, chat)),
  outcome,
});

const later = { kind: "later", waitMs: 0, tookMs: 0, reason: "down", mayRepeat: true } as const;

async function accept(ledger: Ledger, id: string, text?: string, chat?: string): Promise<Item> {
  const item = await ledger.inbox.accept(message(id, text, chat), `fake:${chat ?? "ann"}`);
  if (item === "repeat") throw new Error(`${id} is known`);
  return item;
}

async function begin(ledger: Ledger, item: Item): Promise<Progress> {
  const progress = await ledger.journal.begin(item);
  if (progress === "over") throw new Error("it is over");
  return progress;
}

/** All the way until only the sending is left. */
async function answer(ledger: Ledger, item: Item, made: FinishedTurn): Promise<void> {
  await begin(ledger, item);
  await ledger.journal.finish(item, made);
  await ledger.journal.appended(item);
}

async function next(ledger: Ledger, chat = "ann") {
  const part = await ledger.outbox.next("fake", chat);
  if (!part) throw new Error("nothing is to be sent");
  return part;
}

async function send(ledger: Ledger, chat = "ann"): Promise<string> {
  const part = await next(ledger, chat);
  await ledger.outbox.change(part, { kind: "sending" });
  await ledger.outbox.change(part, { kind: "sent", receipt: `r${part.id}` });
  return part.message.kind === "text" ? part.message.text : part.message.path;
}

const outcomeOf = async (ledger: Ledger, id: string) => (await ledger.reports.trace(id))?.entry;

export function describeLedger(name: string, bench: () => LedgerBench): void {
  describe(`${name}: the inbox`, () => {
    it("takes a message once, also after it was opened again", async () => {
      const { open } = bench();
      const ledger = await open();
      await accept(ledger, "1");
      expect(await ledger.inbox.accept(message("1", "other words"), "fake:ann")).toBe("repeat");
      await ledger.close();
      const again = await open();
      expect(await again.inbox.accept(message("1"), "fake:ann")).toBe("repeat");
      await again.close();
    });

    it("knows ids by channel: another platform may have the same", async () => {
      const ledger = await bench().open();
      await accept(ledger, "1");
      const other = { ...message("1"), from: { channel: "other", chat: "ann" } };
      expect(await ledger.inbox.accept(other, "other:ann")).not.toBe("repeat");
      await ledger.close();
    });

    it("gives back what is open in the order of arrival, whole", async () => {
      const { open } = bench();
      const ledger = await open();
      for (const id of ["b", "a", "c"]) await accept(ledger, id, `text ${id}`);
      await ledger.close();
      const again = await open();
      const items = await again.inbox.open();
      expect(items.map(({ message: { id, text } }) => [id, text])).toEqual([
        ["b", "text b"],
        ["a", "text a"],
        ["c", "text c"],
      ]);
      expect(items[0]?.message).toEqual(message("b", "text b"));
      await again.close();
    });

    it("does not give back what only has to be sent", async () => {
      const ledger = await bench().open();
      await answer(ledger, await accept(ledger, "1"), turn(["ok"]));
      expect(await ledger.inbox.open()).toEqual([]);
      expect(await ledger.outbox.waiting()).toEqual([{ channel: "fake", chat: "ann" }]);
      await ledger.close();
    });

    it("knows who has been heard", async () => {
      const ledger = await bench().open();
      await accept(ledger, "1");
      expect(await ledger.inbox.knows({ channel: "fake", chat: "ann" })).toBe(true);
      expect(await ledger.inbox.knows({ channel: "fake", chat: "bob" })).toBe(false);
      expect(await ledger.inbox.knows({ channel: "other", chat: "ann" })).toBe(false);
      await ledger.close();
    });

    it.each([
      ["a NUL", "a\0b"],
      ["a lone surrogate", "a\ud800b"],
      ["a megabyte", "x".repeat(1_000_000)],
      ["emoji, line ends, quotes", "👩‍👩‍👧 \r\n \u2028 '\"`; DROP TABLE inbox"],
    ])("keeps %s", async (_, text) => {
      const { open } = bench();
      const ledger = await open();
      const item = await accept(ledger, `id${text.slice(0, 3)}`, text);
      await begin(ledger, item);
      const row = { role: "assistant", content: text };
      await ledger.journal.keep(item, { kind: "row", now: row, stored: row });
      await ledger.journal.finish(item, {
        rows: [row],
        messages: [said(text)],
        outcome: { kind: "answered", reason: text },
      });
      await ledger.close();
      const again = await open();
      const [found] = await again.inbox.open();
      expect(found?.message.text).toBe(text);
      const { steps, finished } = await begin(again, item);
      expect(steps).toEqual([{ kind: "row", now: row, stored: row }]);
      expect(finished?.rows).toEqual([row]);
      await again.journal.appended(item);
      expect((await next(again)).message).toEqual(said(text));
      expect(await again.inbox.accept(message(`id${text.slice(0, 3)}`), "fake:ann")).toBe("repeat");
      await again.close();
    });

    it("tells how the run of a job ended, by its id alone, before all of it was sent and for ever", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      expect(await ledger.inbox.endOf("cron-1")).toBeUndefined();
      const item = await accept(ledger, "cron-1");
      expect(await ledger.inbox.endOf("cron-1")).toBe("open");
      await begin(ledger, item);
      await ledger.journal.finish(item, turn(["hello"], { kind: "silent", reason: "why not" }));
      expect(await ledger.inbox.endOf("cron-1")).toBe("open");
      await ledger.journal.appended(item);
      expect(await ledger.inbox.endOf("cron-1")).toEqual({ kind: "silent", reason: "why not" });
      await send(ledger);
      expect(await ledger.inbox.endOf("cron-1")).toEqual({ kind: "silent", reason: "why not" });
      await accept(ledger, "cron-2");
      await ledger.reports.discard("cron-2");
      expect(await ledger.inbox.endOf("cron-2")).toMatchObject({ kind: "silent" });
      pass(1000);
      for (let rows = 1; rows > 0;) rows = await ledger.upkeep.sweep(Date.UTC(2027, 0, 1));
      expect(await ledger.inbox.endOf("cron-1")).toBe("forgotten");
      await ledger.close();
    });

    it("knows where somebody was last heard; what the program says to itself does not count", async () => {
      const ledger = await bench().open();
      expect(await ledger.inbox.lastChat(["fake"])).toBeUndefined();
      await accept(ledger, "1", "hi", "ann:topic:5");
      for (const id of ["own-1", "cron-a-1"]) await accept(ledger, id, "hi", "bob");
      await ledger.inbox.accept({ ...message("3"), from: { channel: "other", chat: "eve" } }, "other:eve");
      expect(await ledger.inbox.lastChat(["fake"])).toEqual({ channel: "fake", chat: "ann:topic:5" });
      expect(await ledger.inbox.lastChat(["fake", "other"])).toEqual({ channel: "other", chat: "eve" });
      expect(await ledger.inbox.lastChat([])).toBeUndefined();
      await ledger.close();
    });
  });

  describe(`${name}: the journal`, () => {
    it("counts attempts over restarts; one that was broken off on purpose does not count", async () => {
      const { open } = bench();
      const ledger = await open();
      const item = await accept(ledger, "1");
      expect((await begin(ledger, item)).attempt).toBe(1);
      await ledger.close();
      const again = await open();
      expect((await begin(again, item)).attempt).toBe(2);
      await again.journal.release(item);
      expect((await begin(again, item)).attempt).toBe(2);
      await again.close();
    });

    it("does not count those down that get further each time; who died in a tool may have died of it", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      const working = { role: "assistant", content: "working" };
      const answered: Step = { kind: "row", now: working, stored: working };
      const started: Step = { kind: "started", call: "c1", name: "exec" };
      const attempts = async (...steps: Step[]): Promise<number> => {
        for (const step of steps) await ledger.journal.keep(item, step);
        return (await begin(ledger, item)).attempt;
      };
      expect(await attempts()).toBe(1);
      expect(await attempts()).toBe(2);
      expect(await attempts(answered)).toBe(2);
      expect(await attempts(answered)).toBe(2);
      expect(await attempts()).toBe(3);
      expect(await attempts(answered, started)).toBe(4);
      expect(await attempts(answered, started)).toBe(5);
      expect(await attempts(answered)).toBe(2);
      await ledger.close();
    });

    it("gives back the finished steps in their order", async () => {
      const ledger = await bench().open();
      const [item, other] = [await accept(ledger, "1"), await accept(ledger, "2")];
      await begin(ledger, item);
      const steps = [
        { kind: "row", now: { role: "assistant", content: "a" }, stored: { role: "assistant", content: "A" } },
        { kind: "started", call: "c1", name: "exec" },
        { kind: "row", now: { role: "tool", name: "exec" }, stored: { role: "tool", name: "exec" } },
      ] as const;
      for (const step of steps) await ledger.journal.keep(item, step);
      expect((await begin(ledger, item)).steps).toEqual(steps);
      expect((await begin(ledger, other)).steps).toEqual([]);
      await ledger.close();
    });

    it("holds back what a turn says until the turn is saved", async () => {
      const { open } = bench();
      const ledger = await open();
      const item = await accept(ledger, "1");
      await begin(ledger, item);
      await ledger.journal.finish(item, turn(["one", "two"]));
      expect(await ledger.outbox.next("fake", "ann")).toBeUndefined();
      expect(await ledger.outbox.waiting()).toEqual([]);
      await ledger.close();
      const again = await open();
      const { finished, appended } = await begin(again, item);
      expect({ finished, appended }).toEqual({ finished: turn(["one", "two"]), appended: false });
      await again.journal.appended(item);
      expect(await send(again)).toBe("one");
      expect(await send(again)).toBe("two");
      await again.close();
    });

    it.each([
      ["answered", { kind: "answered" }],
      ["silent", { kind: "silent", reason: "stopped" }],
      ["failed", { kind: "failed", reason: "the model is down" }],
      ["dead", { kind: "dead", reason: "failed 3 times" }],
    ] as const)("gives a message its outcome once: %s", async (kind, outcome) => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await answer(ledger, item, turn(kind === "silent" ? [] : ["a", "b"], outcome));
      if (kind !== "silent") {
        await send(ledger);
        expect((await outcomeOf(ledger, "1"))?.outcome).toBeUndefined();
        await send(ledger);
      }
      expect(await outcomeOf(ledger, "1")).toMatchObject({ outcome: kind });
      const trace = await ledger.reports.trace("1");
      expect(trace?.events.filter(({ what }) => what === "finished")).toHaveLength(1);
      await ledger.close();
    });

    it("says failed when an answer could not be delivered, whatever became of its other parts", async () => {
      const ledger = await bench().open();
      await answer(ledger, await accept(ledger, "1"), turn(["a", "b"]));
      await ledger.outbox.change(await next(ledger), { kind: "never", reason: "blocked" });
      expect((await outcomeOf(ledger, "1"))?.outcome).toBeUndefined();
      await send(ledger);
      expect(await outcomeOf(ledger, "1")).toMatchObject({ outcome: "failed", reason: "not delivered: blocked" });
      await ledger.close();
    });

    it("waits with the outcome for what was said on the way", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await ledger.outbox.add([said("working on it")], item);
      await answer(ledger, item, turn([]));
      expect((await outcomeOf(ledger, "1"))?.outcome).toBeUndefined();
      await send(ledger);
      expect((await outcomeOf(ledger, "1"))?.outcome).toBe("answered");
      await ledger.close();
    });
  });

  describe(`${name}: the outbox`, () => {
    it("keeps the order within a chat; what is held back holds back what comes after it", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await begin(ledger, item);
      await ledger.outbox.add([said("first")]);
      await ledger.journal.finish(item, turn(["second"]));
      await ledger.outbox.add([said("third"), said("elsewhere", "bob")]);
      expect(await send(ledger)).toBe("first");
      expect(await ledger.outbox.next("fake", "ann")).toBeUndefined();
      expect(await send(ledger, "bob")).toBe("elsewhere");
      await ledger.journal.appended(item);
      expect([await send(ledger), await send(ledger)]).toEqual(["second", "third"]);
      await ledger.close();
    });

    it("says that a try may have arrived if nobody came to tell how it ended", async () => {
      const { open } = bench();
      const ledger = await open();
      await ledger.outbox.add([said("one")]);
      const part = await next(ledger);
      expect(part).toMatchObject({ mayRepeat: false, attempts: 0 });
      await ledger.outbox.change(part, { kind: "sending" });
      await ledger.close();
      const again = await open();
      expect(await again.outbox.waiting()).toHaveLength(1);
      expect(await next(again)).toMatchObject({ id: part.id, mayRepeat: true, attempts: 1 });
      await again.close();
    });

    it("remembers when to try again, how long it was tried, and whether it may be a repeat, over a restart", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      await ledger.outbox.add([said("one")]);
      const part = await next(ledger);
      await ledger.outbox.change(part, { kind: "sending" });
      const first = { kind: "later", waitMs: 77, tookMs: 3, reason: "slow down", mayRepeat: false } as const;
      await ledger.outbox.change(part, first);
      const { nextAt } = await next(ledger);
      expect(await next(ledger)).toMatchObject({ waitMs: 77, triedMs: 80, mayRepeat: false, attempts: 1 });
      pass(1000);
      await ledger.outbox.change(part, { kind: "sending" });
      await ledger.outbox.change(part, { ...first, waitMs: 88, tookMs: 2, mayRepeat: true });
      await ledger.close();
      const again = await open();
      expect(await next(again)).toMatchObject({
        nextAt: nextAt + 1011,
        waitMs: 88,
        triedMs: 170,
        mayRepeat: true,
        attempts: 2,
      });
      await again.close();
    });
  });

  describe(`${name}: the owner`, () => {
    it("finds a message by our id, by the platform's, and by the part of it that people see", async () => {
      const ledger = await bench().open();
      const { trace } = await accept(ledger, "-100/77", "find me");
      for (const id of [trace, "-100/77", "77"]) {
        expect((await ledger.reports.trace(id))?.entry).toMatchObject({
          trace,
          text: "find me",
          platformId: "-100/77",
        });
      }
      for (const id of ["7", "100/77", ""]) expect(await ledger.reports.trace(id)).toBeUndefined();
      await ledger.close();
    });

    it("reads the whole life of a message in order", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      const item = await accept(ledger, "1");
      pass(5);
      await begin(ledger, item);
      await ledger.journal.keep(item, { kind: "started", call: "c1", name: "exec" });
      await ledger.journal.finish(item, turn(["a"]));
      await ledger.journal.appended(item);
      pass(10);
      await send(ledger);
      const events = (await ledger.reports.trace("1"))?.events ?? [];
      expect(events.map(({ what }) => what)).toEqual([
        "received",
        "attempt",
        "tool started",
        "turn finished",
        "saved",
        "sending",
        "sent",
        "finished",
      ]);
      expect(events.map(({ at }) => at - item.receivedAt)).toEqual([0, 5, 5, 5, 5, 15, 15, 15]);
      await ledger.close();
    });

    it("numbers the parts of each message from 1, whatever else was sent before", async () => {
      const ledger = await bench().open();
      await ledger.outbox.add([{ kind: "text", to: { channel: "fake", chat: "ann" }, text: "good morning" }]);
      expect((await next(ledger)).answers).toBeUndefined();
      await send(ledger);
      for (const id of ["1", "2"]) {
        const item = await accept(ledger, id);
        await answer(ledger, item, turn(["a", "b"]));
        expect((await next(ledger)).answers).toEqual({ item: item.id, trace: item.trace, number: 1 });
        await send(ledger);
        await send(ledger);
        const events = (await ledger.reports.trace(id))?.events ?? [];
        const parts = events.flatMap(({ what, detail }) => (what === "sending" ? [detail] : []));
        expect(parts).toEqual(["part 1", "part 2"]);
      }
      await ledger.close();
    });

    it("tells a tool that was interrupted by a crash from one that has finished", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await begin(ledger, item);
      for (const content of ["42", "Error: Task interrupted before this tool finished."]) {
        const row = { role: "tool", tool_call_id: "c", name: "exec", content };
        await ledger.journal.keep(item, { kind: "row", now: row, stored: row });
      }
      const events = (await ledger.reports.trace("1"))?.events ?? [];
      expect(events.slice(-2).map(({ what, detail }) => [what, detail])).toEqual([
        ["tool finished", "exec"],
        ["tool interrupted", "exec"],
      ]);
      await ledger.close();
    });

    it("sees problems apart from the rest, the newest first", async () => {
      const ledger = await bench().open();
      await answer(ledger, await accept(ledger, "fine"), turn([]));
      await answer(ledger, await accept(ledger, "bad"), turn([], { kind: "failed", reason: "x" }));
      await answer(ledger, await accept(ledger, "poison"), turn([], { kind: "dead", reason: "y" }));
      await accept(ledger, "open");
      const ids = async (filter: "problems" | "all", limit = 10) =>
        (await ledger.reports.entries(filter, limit)).map(({ platformId }) => platformId);
      expect(await ids("problems")).toEqual(["open", "poison", "bad"]);
      expect(await ids("all")).toEqual(["open", "poison", "bad", "fine"]);
      expect(await ids("all", 2)).toEqual(["open", "poison"]);
      expect(await ledger.reports.summary()).toMatchObject({ open: 1, dead: 1, unsent: 0, outcomes: { failed: 1 } });
      await ledger.close();
    });

    it("puts a failed message back: it is thought about again, and only the new attempt counts", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await answer(ledger, item, turn(["sorry"], { kind: "failed", reason: "down" }));
      await ledger.outbox.change(await next(ledger), { kind: "never", reason: "blocked" });
      expect(await ledger.reports.retry("1")).toBe(true);
      expect((await ledger.inbox.open()).map(({ id }) => id)).toEqual([item.id]);
      const progress = await begin(ledger, item);
      expect(progress).toMatchObject({ attempt: 1, steps: [], finished: undefined });
      await ledger.journal.finish(item, turn(["answer"]));
      await ledger.journal.appended(item);
      expect(await send(ledger)).toBe("answer");
      expect(await outcomeOf(ledger, "1")).toMatchObject({ outcome: "answered" });
      await ledger.close();
    });

    it("puts an undelivered answer back: only the sending is tried again", async () => {
      const ledger = await bench().open();
      await answer(ledger, await accept(ledger, "1"), turn(["a", "b"]));
      await send(ledger);
      await ledger.outbox.change(await next(ledger), { kind: "never", reason: "blocked" });
      expect(await ledger.reports.retry("1")).toBe(true);
      expect(await ledger.inbox.open()).toEqual([]);
      expect(await send(ledger)).toBe("b");
      expect(await outcomeOf(ledger, "1")).toMatchObject({ outcome: "answered" });
      await ledger.close();
    });

    it("can put back only what has failed", async () => {
      const ledger = await bench().open();
      await accept(ledger, "open");
      await answer(ledger, await accept(ledger, "fine"), turn([]));
      for (const id of ["open", "fine", "unknown"]) expect(await ledger.reports.retry(id)).toBe(false);
      await ledger.close();
    });

    it.each([
      ["before anybody began", async () => {}],
      ["during a turn", async (ledger: Ledger, item: Item) => void (await begin(ledger, item))],
      ["with parts waiting", (ledger: Ledger, item: Item) => answer(ledger, item, turn(["a", "b"]))],
      ["dead", (ledger: Ledger, item: Item) => answer(ledger, item, turn([], { kind: "dead" }))],
    ])("discards for good: %s", async (_, prepare) => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await prepare(ledger, item);
      expect(await ledger.reports.discard("1")).toBe(true);
      expect(await ledger.reports.discard("1")).toBe(false);
      expect(await ledger.inbox.open()).toEqual([]);
      expect(await ledger.journal.begin(item)).toBe("over");
      expect(await ledger.journal.finish(item, turn(["late"]))).toBe("over");
      await ledger.journal.appended(item);
      expect(await ledger.outbox.next("fake", "ann")).toBeUndefined();
      expect(await outcomeOf(ledger, "1")).toMatchObject({ outcome: "silent", reason: "discarded by the owner" });
      expect(await ledger.inbox.accept(message("1"), "fake:ann")).toBe("repeat");
      await ledger.close();
    });

    it("discards a message that is on its way: it does not come back, but that it arrived is remembered", async () => {
      const ledger = await bench().open();
      await answer(ledger, await accept(ledger, "1"), turn(["a", "b"]));
      const part = await next(ledger);
      await ledger.outbox.change(part, { kind: "sending" });
      await ledger.reports.discard("1");
      expect(await ledger.outbox.change(part, { ...later, reason: "" })).toBe(false);
      expect(await ledger.outbox.change(part, { kind: "sending" })).toBe(false);
      expect(await ledger.outbox.change(part, { kind: "sent", receipt: "r" })).toBe(true);
      expect(await ledger.outbox.next("fake", "ann")).toBeUndefined();
      expect((await outcomeOf(ledger, "1"))?.outcome).toBe("silent");
      await ledger.close();
    });
  });

  describe(`${name}: usage`, () => {
    const cost = (input: number, model?: string, outcome: Outcome = { kind: "answered" }): FinishedTurn => ({
      ...turn([], outcome),
      usage: { input, output: 2 * input, cached: 1 },
      ...(model !== undefined && { model }),
    });
    const day = 24 * 3_600_000;

    it("is counted by day, session and model, once for each turn", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      const first = await accept(ledger, "1");
      await answer(ledger, first, cost(10, "a/b"));
      await answer(ledger, await accept(ledger, "2"), cost(5, "a/b"));
      await answer(ledger, await accept(ledger, "3", "hi", "bob"), cost(1, "c", { kind: "silent" }));
      await answer(ledger, await accept(ledger, "4"), turn([]));
      pass(day);
      await answer(ledger, await accept(ledger, "5"), cost(3));
      await ledger.close();
      const again = await open();
      const today = localDay(first.receivedAt);
      const tomorrow = localDay(first.receivedAt + day);
      const all = [
        { day: today, session: "fake:ann", model: "a/b", turns: 2, input: 15, output: 30, cached: 2 },
        { day: today, session: "fake:bob", model: "c", turns: 1, input: 1, output: 2, cached: 1 },
        { day: tomorrow, session: "fake:ann", model: "", turns: 1, input: 3, output: 6, cached: 1 },
      ];
      expect(await again.usage.since("2000-01-01")).toEqual(all);
      expect(await again.usage.since(tomorrow)).toEqual(all.slice(2));
      await again.close();
    });

    it("is not that of a turn that was discarded while it ran", async () => {
      const ledger = await bench().open();
      const item = await accept(ledger, "1");
      await begin(ledger, item);
      await ledger.reports.discard("1");
      expect(await ledger.journal.finish(item, cost(10, "m"))).toBe("over");
      expect(await ledger.usage.since("2000-01-01")).toEqual([]);
      await ledger.close();
    });

    it("is forgotten after a year and a month, long after the messages", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      const sweep = async (at: number): Promise<void> => {
        while ((await ledger.upkeep.sweep(at)) > 0);
      };
      const first = await accept(ledger, "1");
      await answer(ledger, first, cost(10, "m"));
      pass(390 * day);
      await answer(ledger, await accept(ledger, "2"), cost(20, "m"));
      await sweep(first.receivedAt + day);
      expect(await ledger.usage.since("2000-01-01")).toHaveLength(2);
      pass(20 * day);
      await answer(ledger, await accept(ledger, "3"), cost(30, "m"));
      await sweep(first.receivedAt + 400 * day);
      expect((await ledger.usage.since("2000-01-01")).map(({ input }) => input)).toEqual([20, 30]);
      await ledger.close();
    });
  });

  describe(`${name}: upkeep`, () => {
    it("forgets what is long finished, but never an id nor who was heard", async () => {
      const { open, pass } = bench();
      const ledger = await open();
      const [old, stuck] = [await accept(ledger, "old"), await accept(ledger, "stuck", "x", "bob")];
      await answer(ledger, old, turn(["a"]));
      await send(ledger);
      await ledger.outbox.add([said("by the way")]);
      await send(ledger);
      pass(1000);
      const cut = old.receivedAt + 500;
      await answer(ledger, await accept(ledger, "new"), turn([]));
      while ((await ledger.upkeep.sweep(cut)) > 0);
      expect(await ledger.reports.trace("old")).toBeUndefined();
      expect((await ledger.reports.entries("all", 10)).map(({ platformId }) => platformId)).toEqual(["new", "stuck"]);
      expect((await ledger.inbox.open()).map(({ id }) => id)).toEqual([stuck.id]);
      expect(await ledger.inbox.accept(message("old"), "fake:ann")).toBe("repeat");
      expect(await ledger.inbox.knows({ channel: "fake", chat: "ann" })).toBe(true);
      await ledger.close();
    });

    it("notices what another process has changed, and only that", async () => {
      const { open } = bench();
      const [gateway, owner] = [await open(), await open()];
      await gateway.upkeep.touched();
      await answer(gateway, await accept(gateway, "1"), turn([], { kind: "dead" }));
      expect(await gateway.upkeep.touched()).toBe(false);
      await owner.reports.retry("1");
      expect(await gateway.upkeep.touched()).toBe(true);
      expect(await gateway.upkeep.touched()).toBe(false);
      expect(await gateway.inbox.open()).toHaveLength(1);
      await gateway.close();
      await owner.close();
    });
  });
}
