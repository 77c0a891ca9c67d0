/** Very many chats, each with one message: when they are answered, nothing of them is left in memory. */
import { existsSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import type { Channel } from "../../src/channels/channel.js";
import { createDelivery } from "../../src/gateway/delivery.js";
import { createLanes } from "../../src/gateway/lanes.js";
import type { Outbox, Part } from "../../src/gateway/ledger.js";
import { heapMegabytes } from "../support/heap.js";
import { openHouse } from "../support/house.js";
import { thorough } from "../support/thorough.js";

const many = thorough ? 100_000 : 50_000;
const atOnce = 500;
/** Something left behind takes 30 bytes at least. */
const leastLeakMegabytes = (many * 30) / 1024 / 1024;

/** So many chats, a few at a time. */
async function eachChat(count: number, act: (chat: string) => unknown): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - from) }, (_, at) => act(`chat${from + at}`)));
  }
}

describe(`${many} chats leave nothing behind`, () => {
  it("in the lanes", async () => {
    const lanes = createLanes({ limit: 8 });
    const use = (chat: string): Promise<void> => lanes.run(chat, async () => {});
    await eachChat(atOnce, use);
    const before = await heapMegabytes();
    await eachChat(many, use);
    expect(lanes.load()).toEqual({ lanes: 0, queued: 0 });
    expect((await heapMegabytes()) - before).toBeLessThan(leastLeakMegabytes);
  });

  it("in delivery, also if they had to be told twice", async () => {
    const waiting = new Map<string, Part>();
    let sent = 0;
    const outbox: Outbox = {
      add: async () => {},
      next: async (_, chat) => waiting.get(chat),
      waiting: async () => [],
      async change(part, { kind }) {
        const { chat } = part.message.to;
        if (kind === "sent") waiting.delete(chat);
        if (kind === "later") waiting.set(chat, { ...part, attempts: 1, nextAt: 1, waitMs: 1 });
        return true;
      },
    };
    const channel: Channel = {
      run: async () => {},
      split: (text) => [text],
      async send({ intent, ...message }) {
        if (waiting.get(message.to.chat)?.attempts === 0) throw new Error("socket hang up");
        sent++;
        return { id: intent };
      },
    };
    const delivery = createDelivery({
      outbox,
      channels: new Map([["fake", channel]]),
      now: () => 0,
      sleep: async () => {},
      log: { warn: () => {} },
      reach: () => {},
    });
    let id = 0;
    const tell = (chat: string): void => {
      const to = { channel: "fake", chat };
      const message = { kind: "text", to, text: "hi" } as const;
      const state = { attempts: 0, createdAt: 0, nextAt: 0, waitMs: 0, triedMs: 0, mayRepeat: false };
      waiting.set(chat, { id: id++, answers: undefined, message, ...state });
      delivery.wake(to);
    };
    const tellAll = async (count: number): Promise<void> => {
      for (let from = 0; from < count; from += atOnce) {
        for (let at = 0; at < atOnce; at++) tell(`chat${from + at}`);
        await delivery.idle();
      }
    };
    await tellAll(atOnce);
    const before = await heapMegabytes();
    await tellAll(many);
    expect({ sent, waiting: waiting.size }).toEqual({ sent: many + atOnce, waiting: 0 });
    expect((await heapMegabytes()) - before).toBeLessThan(leastLeakMegabytes);
    delivery.stop();
  });

  const all = thorough ? many : 500;
  it(`in the whole house: ledger, lanes, sessions, delivery (${all} of them)`, { timeout: 20 * 60_000 }, async () => {
    // Nothing here is about the disk, so it need not be a slow one.
    if (existsSync("/dev/shm")) vi.stubEnv("TMPDIR", "/dev/shm");
    const house = await openHouse();
    vi.unstubAllEnvs();
    const use = async (count: number): Promise<void> => {
      for (let from = 0; from < count; from += atOnce) {
        await eachChat(atOnce, (chat) => house.say(`${from}-${chat}`, "hi"));
        await house.settle();
        // What the house itself remembers for its tests.
        for (const list of [house.heard, house.sends, house.requests]) list.length = 0;
      }
    };
    // The cache of sessions is full, and everything has run.
    await use(500);
    const before = await heapMegabytes();
    await use(all);
    expect(house.lanes.load()).toEqual({ lanes: 0, queued: 0 });
    expect(((await heapMegabytes()) - before) * 1024).toBeLessThan(Math.max(1024, all * 0.1));
    expect(await house.ledger.reports.summary()).toMatchObject({ open: 0, unsent: 0 });
    await house.close();
  });
});
