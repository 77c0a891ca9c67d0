/** What every keeper of handles owes. */
import { describe, expect, it } from "vitest";
import type { Handles } from "../../src/backends/handles.js";

export type HandlesBench = {
  /** Opens the same handles, again and again, also side by side. */
  readonly open: () => Promise<Handles>;
  /** Moves their clock. */
  readonly pass: (ms: number) => void;
};

const day = 24 * 3_600_000;
const limits = { window: 20, maxAgeMs: day };

/** One message more, as whoever looked the handle up would count it. */
async function use(handles: Handles, chat: string, window = limits.window): Promise<void> {
  const found = await handles.active(chat, { ...limits, window });
  if (found.kind === "active") await handles.increment(found.id, { from: found.count, seen: `${found.count}` });
}

export function describeHandles(name: string, bench: () => HandlesBench): void {
  describe(`handles: ${name}`, () => {
    it("of a chat that has none: it is the first message", async () => {
      const handles = await bench().open();
      expect(await handles.active("a:1", limits)).toEqual({ kind: "none", because: "first" });
    });

    it("a new one has had no messages; each counts one (003-7, 003-11)", async () => {
      const { open } = bench();
      const handles = await open();
      await handles.create("a:1", "x");
      expect(await handles.active("a:1", limits)).toEqual({ kind: "active", id: "x", count: 0, seen: undefined });
      expect(await handles.increment("x", { from: 0, seen: "one" })).toBe(true);
      expect(await handles.active("a:1", limits)).toEqual({ kind: "active", id: "x", count: 1, seen: "one" });
      // Another process sees the same.
      expect(await (await open()).active("a:1", limits)).toMatchObject({ id: "x", count: 1 });
    });

    it("after as many messages as the window has, there is none (003-3, 003-6)", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      for (let count = 0; count < 20; count++) {
        expect(await handles.active("a:1", limits)).toMatchObject({ id: "x", count });
        await use(handles, "a:1");
      }
      expect(await handles.active("a:1", limits)).toEqual({ kind: "none", because: "full" });
      // Another window is another question.
      expect(await handles.active("a:1", { ...limits, window: 21 })).toMatchObject({ id: "x", count: 20 });
    });

    it("the one used last is meant, among those with room (003-6)", async () => {
      const { open, pass } = bench();
      const handles = await open();
      for (const id of ["x", "y", "z"]) {
        await handles.create("a:1", id);
        pass(1000);
      }
      expect(await handles.active("a:1", limits)).toMatchObject({ id: "z" });
      await handles.increment("x", { from: 0, seen: "" });
      expect(await handles.active("a:1", limits)).toMatchObject({ id: "x", count: 1 });
      expect(await handles.active("a:1", { ...limits, window: 1 })).toMatchObject({ id: "z", count: 0 });
    });

    it("of two used in the same instant the newer one is meant, always (003-20)", async () => {
      for (let round = 0; round < 10; round++) {
        const handles = await bench().open();
        const ids = ["m", "b", "z", "a"].map((id) => `${id}${round}`);
        for (const id of ids) await handles.create("a:1", id);
        expect(await handles.active("a:1", limits)).toMatchObject({ id: ids.at(-1) });
      }
    });

    it("two chats have their own (003-8)", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      await handles.create("a:2", "y");
      await use(handles, "a:1");
      await use(handles, "a:1");
      await use(handles, "a:2");
      expect(await handles.active("a:1", limits)).toMatchObject({ id: "x", count: 2 });
      expect(await handles.active("a:2", limits)).toMatchObject({ id: "y", count: 1 });
      expect(await handles.active("a:", limits)).toEqual({ kind: "none", because: "first" });
    });

    it("belongs to one chat for ever: a second one cannot take it", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      await expect(handles.create("a:2", "x")).rejects.toThrow(/unique/i);
      expect(await handles.active("a:2", limits)).toMatchObject({ kind: "none" });
    });

    it("an expired one is gone (003-7)", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      await use(handles, "a:1");
      await handles.expire("x");
      await handles.expire("x");
      expect(await handles.active("a:1", limits)).toEqual({ kind: "none", because: "first" });
      expect(await handles.increment("x", { from: 1, seen: "" })).toBe(false);
      // What was noted with it is gone too.
      await handles.create("a:1", "x");
      expect(await handles.active("a:1", limits)).toMatchObject({ seen: undefined });
    });

    it("gets another note without a message being counted", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      await use(handles, "a:1");
      await handles.note("x", "another");
      expect(await handles.active("a:1", limits)).toEqual({ kind: "active", id: "x", count: 1, seen: "another" });
      await handles.note("gone", "another");
      await handles.create("a:2", "gone");
      expect(await handles.active("a:2", limits)).toMatchObject({ seen: undefined });
    });

    it("keeps its place and its count under a new name (003-19)", async () => {
      const handles = await bench().open();
      await handles.create("a:1", "x");
      await use(handles, "a:1");
      expect(await handles.increment("x", { from: 1, seen: "two", as: "x2" })).toBe(true);
      expect(await handles.active("a:1", limits)).toEqual({ kind: "active", id: "x2", count: 2, seen: "two" });
      expect(await handles.increment("x", { from: 2, seen: "" })).toBe(false);
    });

    it("counts for one of two who use it at once, and tells the other (003-25)", async () => {
      const { open } = bench();
      const [one, two] = [await open(), await open()];
      await one.create("a:1", "x");
      const [a, b] = await Promise.all([one.active("a:1", limits), two.active("a:1", limits)]);
      expect(a).toEqual(b);
      const counted = await Promise.all([
        one.increment("x", { from: 0, seen: "one" }),
        two.increment("x", { from: 0, seen: "two" }),
      ]);
      expect(counted.filter(Boolean)).toHaveLength(1);
      expect(await one.active("a:1", limits)).toMatchObject({ count: 1 });
    });

    it("is too old a day after its last message, not after its first (003-7)", async () => {
      const { open, pass } = bench();
      const handles = await open();
      await handles.create("a:1", "x");
      pass(day - 1);
      await use(handles, "a:1");
      expect(await handles.old(day)).toEqual([]);
      pass(day - 1);
      expect(await handles.active("a:1", limits)).toMatchObject({ id: "x" });
      expect(await handles.old(day)).toEqual([]);
      pass(1);
      expect(await handles.active("a:1", limits)).toEqual({ kind: "none", because: "old" });
      expect(await handles.old(day)).toEqual(["x"]);
    });

    it("lives in a chat with any name", async () => {
      const handles = await bench().open();
      for (const [at, chat] of ["a:1'; DROP TABLE sessions; --", "cli:ü\n🎈", "heartbeat", ""].entries()) {
        await handles.create(chat, `id-${at}`);
        expect(await handles.active(chat, limits)).toMatchObject({ id: `id-${at}` });
      }
    });
  });
}
