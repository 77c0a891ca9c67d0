/** Both platforms are down for an hour (of a clock moved by hand): what was said and what was answered arrives soon after. */
import { describe, expect, it } from "vitest";
import { type Channel, type Link, SendFailure } from "../../src/channels/channel.js";
import { superviseChannel, type SupervisedChannel } from "../../src/gateway/supervisor.js";
import type { Inbound } from "../../src/message.js";
import { gate } from "../support/gate.js";
import { type HouseTime, openHouse } from "../support/house.js";
import { textOf } from "../support/scripted-model.js";

const second = 1000;
const hour = 3600 * second;

/** Keeps what is said until somebody takes it, and what is sent for ever. Down, it does neither. */
function openPlatform(name: string, time: HouseTime) {
  const updates: Inbound[] = [];
  const shown: { readonly line: string; readonly at: number }[] = [];
  const watchers = new Set<() => void>();
  let isDown = false;
  let count = 0;
  const changed = (): void => {
    for (const look of watchers) look();
  };
  /** Resolves when something is said; breaks when the platform does. */
  const news = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (isDown) reject(new Error("ECONNRESET"));
        else if (signal.aborted || updates.length > 0) resolve();
        else return;
        watchers.delete(look);
      };
      watchers.add(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
  const channel: Channel = {
    async run(link: Link, signal) {
      for (;;) {
        if (isDown) throw new Error("ECONNREFUSED");
        link.alive();
        await news(signal);
        if (signal.aborted) return;
        for (let [update] = updates; update; [update] = updates) {
          await link.accept(update);
          updates.shift();
        }
      }
    },
    async send({ to, kind, ...message }) {
      // The first who finds it down had already spoken; nobody knows whether it was heard.
      if (isDown) throw count++ % 5 === 0 ? new Error("socket hang up") : new SendFailure("later", "ECONNREFUSED");
      const text = "text" in message ? message.text : kind;
      shown.push({ line: `${name} ${to.chat}: ${text}`, at: time.now() });
      return { id: String(shown.length) };
    },
    split: (text) => [text],
  };
  return {
    channel,
    shown,
    say(chat: string, text: string): void {
      updates.push({ id: `${chat}/${text}`, from: { channel: name, chat }, sender: [chat], text, media: [] });
      changed();
    },
    setDown(down: boolean): void {
      isDown = down;
      changed();
    },
  };
}

describe("both platforms down for an hour", () => {
  it("cost nobody an answer: all come within 45 seconds of the end, in order, each once", async () => {
    const names = ["telegram", "discord"];
    const platforms = new Map<string, ReturnType<typeof openPlatform>>();
    const supervised: SupervisedChannel[] = [];
    const givenUp: string[] = [];
    const thinking = gate();
    const house = await openHouse({
      model: [
        async ({ messages }) => {
          const question = textOf(messages.at(-1)).split("\n\n").at(-1) ?? "";
          if (question.startsWith("slow")) await thinking.wait;
          return { text: `re ${question}` };
        },
      ],
      channels: (time) =>
        new Map(
          names.map((name) => {
            const platform = openPlatform(name, time);
            platforms.set(name, platform);
            const link = { accept: (message: Inbound) => house.gateway.accept(message), mayEnter: () => true };
            const giveUp = (reason: string): void => void givenUp.push(reason);
            const open = async (): Promise<Channel> => platform.channel;
            const log = { warn: () => {} };
            const one = superviseChannel({ name, open, link, ...time, log, giveUp }, platform.channel);
            supervised.push(one);
            return [name, one.channel] as const;
          }),
        ),
    });
    const stop = new AbortController();
    const running = supervised.map((one) => one.run(stop.signal));
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += second) {
        await house.later(second);
        // What is accepted is on disk a moment later.
        for (let turn = 0; turn < 5; turn++) await new Promise((done) => setImmediate(done));
        await house.settle();
      }
    };
    const both = (act: (platform: ReturnType<typeof openPlatform>) => void): void => {
      for (const platform of platforms.values()) act(platform);
    };
    const say = (text: string): void =>
      both((platform) => {
        for (const chat of ["ann", "bob"]) platform.say(chat, text);
      });

    say("before");
    await expect.poll(() => [...platforms.values()].map(({ shown }) => shown.length)).toEqual([2, 2]);
    both((platform) => platform.say("ann", "slow"));
    await expect.poll(() => house.requests.length).toBe(6);
    both((platform) => platform.setDown(true));
    thinking.open();
    await pass(hour / 2);
    say("meanwhile");
    const reminder = (channel: string) => ({ kind: "text", to: { channel, chat: "bob" }, text: "reminder" }) as const;
    await house.gateway.say(names.map(reminder));
    await pass(hour / 2);
    expect(supervised.map((one) => one.status().state)).toEqual(["down", "down"]);
    const end = house.time.now;
    both((platform) => platform.setDown(false));
    await pass(45 * second);

    for (const [name, { shown }] of platforms) {
      const to = (chat: string): string[] =>
        shown.filter(({ line }) => line.startsWith(`${name} ${chat}:`)).map(({ line }) => line.split(": ")[1] ?? "");
      expect(to("ann")).toEqual(["re before", "re slow", "re meanwhile"]);
      expect(to("bob")).toEqual(["re before", "reminder", "re meanwhile"]);
      expect(Math.max(...shown.map(({ at }) => at)) - end).toBeLessThanOrEqual(45 * second);
    }
    expect(supervised.map((one) => one.status().state)).toEqual(["up", "up"]);
    expect(await house.ledger.reports.summary()).toMatchObject({ open: 0, unsent: 0, outcomes: { answered: 10 } });
    expect(givenUp).toEqual([]);
    stop.abort();
    await Promise.all(running);
    await house.close();
  });
});
