import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Channel, SendFailure, type Sending } from "../../src/channels/channel.js";
import { createDelivery } from "../../src/gateway/delivery.js";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import type { Outbound } from "../../src/message.js";
import { handTime } from "../support/hand-time.js";
import { temporaryFolder } from "../support/workspace.js";

type Options = {
  readonly send?: (message: Sending, tries: number) => void;
  readonly pace?: Channel["pace"];
};

async function openPost({ send, pace }: Options = {}) {
  const time = handTime();
  const start = time.now();
  const file = join(temporaryFolder(), "ledger.sqlite");
  const ledger = await openSqliteLedger({ file, now: time.now, reach: () => {} });
  const { outbox } = ledger;
  /** `chat text @ms`. */
  const sent: string[] = [];
  const tries: number[] = [];
  const arrived: Outbound[] = [];
  const warnings: string[] = [];
  const traces: unknown[] = [];
  const channel: Channel = {
    run: async () => {},
    split: (text) => [text],
    ...(pace && { pace }),
    async send(message) {
      tries.push(time.now() - start);
      send?.(message, tries.length);
      sent.push(`${message.to.chat} ${message.kind === "text" ? message.text : message.path} @${time.now() - start}`);
      return { id: "r" };
    },
  };
  const delivery = createDelivery({
    outbox,
    channels: new Map([["fake", channel]]),
    now: time.now,
    sleep: time.sleep,
    log: { warn: (message, fields) => void (warnings.push(message), traces.push(fields?.["trace"])) },
    reach: () => {},
    arrived: async (message) => void arrived.push(message),
  });
  return {
    ledger,
    traces,
    outbox,
    delivery,
    time,
    sent,
    tries,
    arrived,
    warnings,
    async say(chat: string, ...texts: string[]) {
      const to = { channel: "fake", chat };
      await outbox.add(texts.map((text) => ({ kind: "text", to, text })));
      delivery.wake(to);
      await time.pass(0);
    },
    async close() {
      delivery.stop();
      await time.pass(0);
      await ledger.close();
    },
  };
}

describe("delivery", () => {
  it("tries again after 1, 2, 4 … seconds, and never rests longer than twenty", async () => {
    const post = await openPost({
      send: () => {
        throw new SendFailure("later", "down");
      },
    });
    await post.say("ann", "hi");
    await post.time.pass(200_000);
    const pauses = post.tries.slice(1).map((at, index) => (at - (post.tries[index] ?? 0)) / 1000);
    expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 20, 20, 20]);
    await post.close();
  });

  it("warns with the trace of the message whose answer was not sent, and of none where there is none", async () => {
    const post = await openPost({
      send: () => {
        throw new SendFailure("never", "blocked");
      },
    });
    await post.say("ann", "good morning");
    const from = { channel: "fake", chat: "ann" };
    const item = await post.ledger.inbox.accept({ id: "1", from, sender: ["ann"], text: "hi", media: [] }, "fake:ann");
    if (item === "repeat") throw new Error("it is new");
    const messages = [{ kind: "text", to: from, text: "hello" } as const];
    await post.ledger.journal.begin(item);
    await post.ledger.journal.finish(item, { rows: [], messages, outcome: { kind: "answered" } });
    await post.ledger.journal.appended(item);
    post.delivery.wake(from);
    await post.time.pass(0);
    expect(post.traces).toEqual([undefined, item.trace]);
    expect(post.warnings[1]).toBe(`fake:ann: part 1 of the answer to message ${item.trace} was not sent: blocked`);
    await post.close();
  });

  it("obeys the platform when it says how long to wait", async () => {
    const post = await openPost({
      send: (_, tries) => {
        if (tries === 1) throw new SendFailure("later", "slow down", { afterMs: 90_000 });
      },
    });
    await post.say("ann", "hi");
    await post.time.pass(89_000);
    await post.say("ann", "there");
    expect(post.tries).toEqual([0]);
    await post.time.pass(2000);
    expect(post.sent).toEqual(["ann hi @90000", "ann there @90000"]);
    await post.close();
  });

  it("brings everything within 45 seconds once the platform is back", async () => {
    let down = true;
    const post = await openPost({
      send: () => {
        if (down) throw new Error("ECONNREFUSED");
      },
    });
    for (const chat of ["ann", "bob"]) await post.say(chat, "1", "2");
    await post.time.pass(3_600_000);
    down = false;
    await post.time.pass(45_000);
    expect(new Set(post.sent.map((text) => text.split(" @")[0]))).toEqual(
      new Set(["ann 1", "ann 2", "bob 1", "bob 2"]),
    );
    await post.close();
  });

  it("does not give up on the first try of a message that is old only because we did not run", async () => {
    let down = true;
    const post = await openPost({
      send: () => {
        if (down) throw new SendFailure("later", "starting");
      },
    });
    await post.outbox.add([{ kind: "text", to: { channel: "fake", chat: "ann" }, text: "old" }]);
    await post.time.pass(3 * 24 * 3_600_000);
    await post.delivery.wakeAll();
    await post.time.pass(500);
    down = false;
    await post.time.pass(2000);
    expect(post.sent).toHaveLength(1);
    await post.close();
  });

  it("is not held up by a clock that was years ahead", async () => {
    const post = await openPost({
      send: (_, tries) => {
        if (tries === 1) throw new SendFailure("later", "down");
      },
    });
    const now = post.time.now();
    post.time.set(now + 10 * 365 * 24 * 3_600_000);
    await post.say("ann", "hi");
    post.time.set(now);
    await post.time.pass(3000);
    expect(post.sent).toHaveLength(1);
    await post.close();
  });

  it("keeps the platform's pace: within a chat, and over all of them", async () => {
    const post = await openPost({ pace: { perChatMs: 1500, perSecond: 2 } });
    await post.say("ann", "1", "2");
    await post.say("bob", "1");
    await post.say("cat", "1");
    await post.time.pass(500);
    await post.say("ann", "3");
    await post.time.pass(5000);
    expect(post.sent).toEqual(["ann 1 @0", "bob 1 @0", "cat 1 @1000", "ann 2 @1500", "ann 3 @3000"]);
    await post.delivery.idle();
    await post.close();
  });

  it("says what has arrived, and only that", async () => {
    const post = await openPost({
      send: (message) => {
        if (message.kind === "text" && message.text === "bad") throw new SendFailure("never", "refused");
      },
    });
    await post.say("ann", "good", "bad");
    expect(post.arrived.map((message) => message.kind === "text" && message.text)).toEqual(["good"]);
    await post.close();
  });

  it("leaves no sleeper behind", async () => {
    const post = await openPost({ pace: { perChatMs: 50, perSecond: 1000 } });
    for (let chat = 0; chat < 20; chat++) await post.say(`c${chat}`, "hi");
    await post.time.pass(10_000);
    expect(post.sent).toHaveLength(20);
    expect(post.time.sleepers()).toBe(0);
    await post.close();
  });
});
