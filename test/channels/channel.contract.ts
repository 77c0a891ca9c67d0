/** What every channel owes the gateway, checked the same way for each of them. */
import { describe, expect, it } from "vitest";
import { SendFailure, type Channel, type Link, type Sending } from "../../src/channels/channel.js";
import type { Address, Inbound } from "../../src/message.js";

/** One channel with the platform it talks to. */
export type ChannelHarness = {
  readonly channel: Channel;
  /** Where an allowed person and the bot talk. */
  readonly chat: Address;
  /**
   * An allowed person says this to the bot. A platform that we ask keeps it for us and resolves at once; one that hands it
   * over (`pushes`) resolves when we have taken it, and rejects when we refuse.
   */
  say(text: string): Promise<void>;
  readonly pushes?: true;
  /** How many of the messages said so far the platform believes to be ours. Absent: it does not keep count. */
  readonly acknowledged?: () => number;
  /** The next message, or the next edit, is refused in this way; `lost`: taken, but the answer is lost. */
  refuse(how: "later" | "never" | "lost", what?: "send" | "edit"): void;
  /** The texts that stand at the platform, oldest first. */
  posted(): readonly string[];
  close(): Promise<void>;
};

/** A link that stores in memory; `hold` keeps what is accepted from being stored until it is released. */
export function memoryLink() {
  const stored: Inbound[] = [];
  const changes = new Set<() => void>();
  let gate: Promise<void> = Promise.resolve();
  let failure: Error | undefined;
  let lives = 0;
  let offered = 0;
  const wake = (): void => {
    for (const change of changes) change();
  };
  const link: Link = {
    async accept(message) {
      offered++;
      wake();
      await gate;
      if (failure) throw failure;
      if (!stored.some(({ id }) => id === message.id)) stored.push(message);
      wake();
    },
    alive: () => {
      lives++;
      wake();
    },
    mayEnter: () => true,
  };
  return {
    link,
    stored: stored as readonly Inbound[],
    texts: (): readonly string[] => stored.map(({ text }) => text),
    lives: (): number => lives,
    /** How many messages were handed over, stored or not. */
    offered: (): number => offered,
    failWith: (error: Error | undefined): void => void (failure = error),
    hold(): () => void {
      let release = (): void => {};
      gate = new Promise((resolve) => (release = resolve));
      return () => release();
    },
    /** Resolves once this is true; looked at whenever something is stored or shows life. */
    async until(check: () => boolean): Promise<void> {
      while (!check()) {
        await new Promise<void>((resolve) => {
          const change = (): void => {
            changes.delete(change);
            resolve();
          };
          changes.add(change);
        });
      }
    },
  };
}

const never = new AbortController().signal;

/** What not every channel can. */
export type Abilities = { readonly edits: boolean };

export function describeChannel(
  name: string,
  { edits }: Abilities,
  open: (settings?: { readonly replyToMessage: boolean }) => Promise<ChannelHarness>,
): void {
  const text = (harness: ChannelHarness, words: string, intent = words): Sending & { readonly kind: "text" } => ({
    kind: "text",
    to: harness.chat,
    text: words,
    intent,
    mayRepeat: false,
  });
  const failureOf = async (sending: Promise<unknown>): Promise<unknown> => {
    try {
      await sending;
      return undefined;
    } catch (error) {
      return error;
    }
  };

  describe(`${name}, like every channel`, () => {
    it("hands over what is said, in order", async () => {
      const harness = await open();
      const memory = memoryLink();
      const stop = new AbortController();
      const running = harness.channel.run(memory.link, stop.signal);
      await memory.until(() => memory.lives() > 0);
      for (const words of ["one", "two", "three"]) await harness.say(words);
      await memory.until(() => memory.stored.length === 3);
      expect(memory.texts()).toEqual(["one", "two", "three"]);
      expect(memory.stored.map(({ from }) => from)).toEqual([harness.chat, harness.chat, harness.chat]);
      stop.abort();
      await running;
      await harness.close();
    });

    it("stores before it acknowledges", async () => {
      const harness = await open();
      const memory = memoryLink();
      const stop = new AbortController();
      const release = memory.hold();
      const running = harness.channel.run(memory.link, stop.signal);
      await memory.until(() => memory.lives() > 0);
      let taken = false;
      const saying = harness.say("hello").then(() => (taken = true));
      await memory.until(() => memory.offered() === 1);
      if (harness.pushes) expect(taken).toBe(false);
      expect(harness.acknowledged?.() ?? 0).toBe(0);
      release();
      await memory.until(() => memory.stored.length === 1);
      await saying;
      stop.abort();
      await running;
      await harness.close();
    });

    it("loses nothing that could not be stored", async () => {
      const harness = await open();
      const memory = memoryLink();
      const stop = new AbortController();
      memory.failWith(new Error("the disk is full"));
      let running = harness.channel.run(memory.link, stop.signal);
      await memory.until(() => memory.lives() > 0);
      if (harness.pushes) {
        await expect(harness.say("hello")).rejects.toThrow();
        memory.failWith(undefined);
        await harness.say("hello");
      } else {
        await harness.say("hello");
        await expect(running).rejects.toThrow("the disk is full");
        memory.failWith(undefined);
        running = harness.channel.run(memory.link, stop.signal);
      }
      await memory.until(() => memory.stored.length === 1);
      expect(memory.texts()).toEqual(["hello"]);
      stop.abort();
      await running;
      await harness.close();
    });

    it.each(["before it began", "while connecting", "while connected"])("ends when told to, %s", async (when) => {
      const harness = await open();
      const memory = memoryLink();
      const stop = new AbortController();
      if (when === "before it began") stop.abort();
      const running = harness.channel.run(memory.link, stop.signal);
      if (when === "while connected") await memory.until(() => memory.lives() > 0);
      const told = Date.now();
      stop.abort();
      await running;
      expect(Date.now() - told).toBeLessThan(2000);
      await harness.close();
    });

    it("says what the platform calls a message it has taken", async () => {
      const harness = await open();
      const { id } = await harness.channel.send(text(harness, "hi"), never);
      expect(id).toMatch(/\S/);
      expect(harness.posted()).toEqual(["hi"]);
      await harness.close();
    });

    it.each(["later", "never"] as const)("tells that a message was not taken: %s", async (when) => {
      const harness = await open();
      harness.refuse(when);
      const failure = await failureOf(harness.channel.send(text(harness, "hi"), never));
      expect(failure).toBeInstanceOf(SendFailure);
      expect(failure).toMatchObject({ when });
      expect(harness.posted()).toEqual([]);
      await harness.close();
    });

    it("does not pretend to know when an answer is lost", async () => {
      const harness = await open();
      harness.refuse("lost");
      const failure = await failureOf(harness.channel.send(text(harness, "hi"), never));
      expect(failure).toBeInstanceOf(Error);
      expect(failure).not.toBeInstanceOf(SendFailure);
      await harness.close();
    });

    it("sends nothing when it was told to stop", async () => {
      const harness = await open();
      await expect(harness.channel.send(text(harness, "hi"), AbortSignal.abort())).rejects.toThrow();
      expect(harness.posted()).toEqual([]);
      await harness.close();
    });

    it("splits into parts that say everything and can all be sent", async () => {
      const harness = await open();
      const long = Array.from({ length: 900 }, (_, index) => `word${index}`).join(" ");
      const parts = await harness.channel.split(long);
      expect(parts.join(" ").replaceAll(/\s+/g, " ")).toBe(long);
      for (const [index, part] of parts.entries()) {
        await harness.channel.send(text(harness, part, `intent ${index}`), never);
      }
      expect(harness.posted()).toHaveLength(parts.length);
      expect(await harness.channel.split("short")).toEqual(["short"]);
      expect(await harness.channel.split("")).toEqual([]);
      await harness.close();
    });

    it.each([false, true])("takes what answers a message, and what answers none (quoting: %s)", async (quoting) => {
      const harness = await open({ replyToMessage: quoting });
      const memory = memoryLink();
      const stop = new AbortController();
      const running = harness.channel.run(memory.link, stop.signal);
      await memory.until(() => memory.lives() > 0);
      const saying = harness.say("hello");
      await memory.until(() => memory.stored.length === 1);
      await saying;
      const [{ id } = { id: "" }] = memory.stored;
      for (const answers of [id, `${id}0`, "own-5f0c", "cron-daily-7"]) {
        const { channel } = harness;
        await channel.send({ ...text(harness, answers), answers }, never);
        // Where it takes the place of another message, that is for delivery to see to.
        await channel.send({ ...text(harness, `again ${answers}`), answers, replaces: "1" }, never);
      }
      expect(harness.posted()).toHaveLength(8);
      stop.abort();
      await running;
      await harness.close();
    });

    it("streams only what it can edit", async () => {
      const harness = await open();
      expect(harness.channel.edit !== undefined).toBe(edits);
      if (harness.channel.streaming) expect(edits).toBe(true);
      await harness.close();
    });
  });

  if (edits) {
    describe(`${name}, like every channel that can edit`, () => {
      const edited = (harness: ChannelHarness, id: string, words: string): Promise<void> | undefined =>
        harness.channel.edit?.(harness.chat, { id }, words, never);

      it("puts a text in the place of one that it has sent, as often as it is asked", async () => {
        const harness = await open();
        await harness.channel.send(text(harness, "before"), never);
        const { id } = await harness.channel.send(text(harness, "he"), never);
        for (const words of ["hell", "hello", "hello"]) await edited(harness, id, words);
        expect(harness.posted()).toEqual(["before", "hello"]);
        await harness.close();
      });

      it.each(["later", "never"] as const)("tells that an edit was not taken: %s", async (when) => {
        const harness = await open();
        const { id } = await harness.channel.send(text(harness, "he"), never);
        harness.refuse(when, "edit");
        expect(await failureOf(Promise.resolve(edited(harness, id, "hello")))).toMatchObject({
          name: "SendFailure",
          when,
        });
        expect(harness.posted()).toEqual(["he"]);
        await harness.close();
      });

      it("does not pretend to know when the answer to an edit is lost", async () => {
        const harness = await open();
        const { id } = await harness.channel.send(text(harness, "he"), never);
        harness.refuse("lost", "edit");
        const failure = await failureOf(Promise.resolve(edited(harness, id, "hello")));
        expect(failure).toBeInstanceOf(Error);
        expect(failure).not.toBeInstanceOf(SendFailure);
        await edited(harness, id, "hello");
        expect(harness.posted()).toEqual(["hello"]);
        await harness.close();
      });

      it("says that it never finds a message that is not there", async () => {
        const harness = await open();
        for (const id of ["123456789", "no receipt of this platform"]) {
          expect(await failureOf(Promise.resolve(edited(harness, id, "hello")))).toMatchObject({ when: "never" });
        }
        expect(harness.posted()).toEqual([]);
        await harness.close();
      });
    });
  }
}
