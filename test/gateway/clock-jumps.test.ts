/** The clock is put back, or forth, while answers wait to be sent: none is stuck, given up early, doubled or overtaken. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SendFailure } from "../../src/channels/channel.js";
import { type HouseOptions, openHouse } from "../support/house.js";
import { textOf } from "../support/scripted-model.js";

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

/** A house whose platform can go down: what is sent then is surely not taken. */
async function openOutage(options: HouseOptions = {}) {
  const platform = { isDown: true };
  const house = await openHouse({
    model: [async ({ messages }) => ({ text: `re ${textOf(messages.at(-1)).split("\n\n").at(-1)}` })],
    send: async () => {
      if (platform.isDown) throw new SendFailure("later", "down");
      return { id: "r" };
    },
    ...options,
  });
  return {
    ...house,
    platform,
    /** A second at a time, each until nothing moves any more. */
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += second) await house.later(second);
    },
  };
}

/** Two chats with two answers each, tried in vain for a while. */
async function openWaiting(forMs: number) {
  const house = await openOutage();
  for (const text of ["1", "2"]) for (const chat of ["ann", "bob"]) await house.say(chat, text);
  await house.settle();
  await house.pass(forMs);
  expect(house.heard).toEqual([]);
  return house;
}

const all = ["ann: re 1", "ann: re 2", "bob: re 1", "bob: re 2"];
const inOrder = (heard: readonly string[]): string[] => heard.toSorted((one, other) => one.localeCompare(other));

describe("a clock that is put back an hour", () => {
  it("holds up nothing that waits", async () => {
    const house = await openWaiting(2 * 60 * second);
    house.time.now -= hour;
    await house.pass(31 * second);
    house.platform.isDown = false;
    await house.pass(31 * second);
    expect(inOrder(house.heard)).toEqual(all);
    expect(new Set((await house.outcomes()).map((line) => line.split(": ")[1]))).toEqual(new Set(["answered"]));
    await house.close();
  });

  it("holds up nothing after a restart either", async () => {
    const house = await openWaiting(2 * 60 * second);
    const { now } = house.time;
    house.kill();
    const next = await openOutage({ folder: house.folder });
    next.time.now = now - hour;
    next.platform.isDown = false;
    await next.gateway.resume();
    await next.pass(31 * second);
    expect(inOrder(next.heard)).toEqual(all);
    await next.close();
  });

  it("does not shorten what the platform asks for", async () => {
    const tries: number[] = [];
    let passed = 0;
    const house = await openHouse({
      send: async () => {
        tries.push(passed);
        if (tries.length === 1) throw new SendFailure("later", "slow down", { afterMs: 90 * second });
        return { id: "r" };
      },
    });
    await house.say("ann", "hi");
    await house.settle();
    house.time.now -= hour;
    for (; passed < 100; passed++) await house.later(second);
    expect(tries).toEqual([0, 89]);
    await house.close();
  });
});

describe("a clock that is put a day forth", () => {
  it("is no day of trying: nothing is given up", async () => {
    const house = await openWaiting(10 * 60 * second);
    house.time.now += day;
    await house.pass(2 * 60 * second);
    house.platform.isDown = false;
    await house.pass(31 * second);
    expect(inOrder(house.heard)).toEqual(all);
    await house.close();
  });
});

describe("a clock that does what it likes", () => {
  type Step =
    | { readonly kind: "say"; readonly chat: string }
    | { readonly kind: "jump"; readonly ms: number }
    | { readonly kind: "pass"; readonly seconds: number }
    | { readonly kind: "outage"; readonly isDown: boolean };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant("say" as const), chat: fc.constantFrom("ann", "bob", "cat") }),
    fc.record({ kind: fc.constant("jump" as const), ms: fc.integer({ min: -3 * day, max: 3 * day }) }),
    fc.record({ kind: fc.constant("pass" as const), seconds: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ kind: fc.constant("outage" as const), isDown: fc.boolean() }),
  );

  it("changes nothing: each message is answered once, in order, within 45 seconds of the end of the outage", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), async (steps) => {
        const house = await openOutage();
        const expected: string[] = [];
        for (const one of steps) {
          if (one.kind === "say") {
            const text = String(expected.length);
            expected.push(`${one.chat}: re ${text}`);
            await house.say(one.chat, text);
            await house.settle();
          } else if (one.kind === "jump") house.time.now += one.ms;
          else if (one.kind === "pass") await house.pass(one.seconds * second);
          else house.platform.isDown = one.isDown;
        }
        house.platform.isDown = false;
        await house.pass(45 * second);
        for (const chat of ["ann", "bob", "cat"]) {
          const of = (lines: readonly string[]) => lines.filter((line) => line.startsWith(chat));
          expect(of(house.heard)).toEqual(of(expected));
        }
        expect(await house.ledger.reports.summary()).toMatchObject({ open: 0, unsent: 0 });
        await house.close();
      }),
      { numRuns: 15 },
    );
  });
});
