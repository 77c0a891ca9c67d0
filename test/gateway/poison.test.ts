/** A message that brings the process down each time: put aside after three, the chat told, and nobody else the worse for it. */
import { describe, expect, it } from "vitest";
import { Killed, openHouse } from "../support/house.js";
import { textOf } from "../support/scripted-model.js";

/** Long enough for whatever runs beside it to bring the house down. */
async function aWhile(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((done) => setImmediate(done));
}

/** One life of a process that dies of the word "poison". `slow` ones are still at work then, in the first life. */
async function live(folder: string | undefined, life: number) {
  let doomed = false;
  const house = await openHouse({
    ...(folder !== undefined && { folder }),
    model: [
      async ({ messages }) => {
        const question = textOf(messages.at(-1)).split("\n\n").at(-1) ?? "";
        if (question === "poison") doomed = true;
        if (question === "slow") await (life === 1 ? new Promise(() => {}) : aWhile());
        return { text: `re ${question}` };
      },
    ],
    reach: (point) => {
      if (doomed) throw new Killed(point);
    },
  });
  return { house, isDead: () => doomed };
}

/** Without what says of itself that it may be a repeat: a part that was on its way when the process died. */
const toldIn = ({ sends }: Awaited<ReturnType<typeof openHouse>>): string[] =>
  sends.flatMap(({ to, mayRepeat, ...message }) =>
    mayRepeat || message.kind !== "text" ? [] : [`${to.chat}: ${message.text}`],
  );

describe("a poison message", () => {
  it("is put aside after three deaths; its chat is told, and the others are answered once each", async () => {
    const { house: first, isDead } = await live(undefined, 1);
    await first.say("bob", "slow");
    await expect.poll(() => first.requests.length).toBe(1);
    await first.say("ann", "poison");
    await first.say("ann", "after it");
    await expect.poll(isDead).toBe(true);
    first.kill();
    const told = toldIn(first);

    for (const life of [2, 3]) {
      const { house, isDead: isOver } = await live(first.folder, life);
      await house.gateway.resume();
      // Somebody who has nothing to do with it speaks in each life.
      await house.say(`cat${life}`, "hi").catch(() => {});
      await expect.poll(isOver).toBe(true);
      await house.settle();
      house.kill();
      told.push(...toldIn(house));
    }
    expect(told.filter((line) => line.startsWith("ann"))).toEqual([]);

    const { house: last } = await live(first.folder, 4);
    await last.gateway.resume();
    await last.settle();
    told.push(...toldIn(last));
    const to = (chat: string): string[] => told.filter((line) => line.startsWith(`${chat}: `));
    expect(to("ann")).toEqual([expect.stringContaining("put it aside"), "ann: re after it"]);
    expect(to("bob")).toEqual(["bob: re slow"]);
    for (const cat of ["cat2", "cat3"]) expect(to(cat)).toEqual([`${cat}: re hi`]);
    const outcomes = await last.outcomes();
    expect(outcomes.filter((line) => !line.endsWith(": answered"))).toEqual(["poison: dead"]);
    expect(outcomes).toHaveLength(5);
    await last.close();
  });
});
