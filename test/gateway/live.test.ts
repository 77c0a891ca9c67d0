/** What is happening right now: told to whoever looks, and kept by nobody. */
import { describe, expect, it } from "vitest";
import type { News } from "../../src/gateway/live.js";
import { gate } from "../support/gate.js";
import { openHouse } from "../support/house.js";

const kinds = (news: readonly News[]): string[] => news.map(({ event }) => event.kind);

describe("whoever looks", () => {
  it("sees a message accepted, its answer grow, and its end", async () => {
    const house = await openHouse({ model: [{ text: "hello there" }] });
    const seen: News[] = [];
    house.live.watch({ news: (news) => seen.push(news) });
    await house.say("ann", "hi", "m1");
    await house.settle();
    expect(kinds(seen)).toEqual(["accepted", "text", "finished"]);
    expect(new Set(seen.map(({ session, id }) => `${session} ${id}`))).toEqual(new Set(["fake:ann m1"]));
    const last = seen.at(-1)?.event;
    expect(last?.kind === "finished" && last.turn.messages).toMatchObject([{ text: "hello there", answers: "m1" }]);
    await house.close();
  });

  it("sees one conversation only, if that is all that was asked for", async () => {
    const house = await openHouse();
    const seen: News[] = [];
    house.live.watch({ session: "fake:bob", news: (news) => seen.push(news) });
    await house.say("ann", "hi");
    await house.say("bob", "hi");
    await house.settle();
    expect(new Set(seen.map(({ session }) => session))).toEqual(new Set(["fake:bob"]));
    await house.close();
  });

  it("and comes late is first told what was shown so far", async () => {
    const rest = gate();
    const house = await openHouse({ model: [{ pieces: ["part", " one", rest.wait, ", part two"] }] });
    await house.say("ann", "hi");
    const early: News[] = [];
    house.live.watch({ news: (news) => early.push(news) });
    await expect.poll(() => kinds(early)).toContain("text");
    const late: News[] = [];
    house.live.watch({ news: (news) => late.push(news) });
    expect(kinds(late)).toEqual(["accepted", "text"]);
    rest.open();
    await house.settle();
    expect(kinds(late)).toEqual(["accepted", "text", "text", "finished"]);
    const after: News[] = [];
    house.live.watch({ news: (news) => after.push(news) });
    expect(after).toEqual([]);
    await house.close();
  });

  it("no longer sees anything once it looks away", async () => {
    const house = await openHouse();
    const seen: News[] = [];
    house.live.watch({ news: (news) => seen.push(news) })();
    await house.say("ann", "hi");
    await house.settle();
    expect(seen).toEqual([]);
    await house.close();
  });

  it("is told of commands and refusals, too", async () => {
    const house = await openHouse({ settings: { maxQueue: 0 } });
    const seen: News[] = [];
    house.live.watch({ news: (news) => seen.push(news) });
    await house.say("ann", "/stop");
    await house.say("ann", "hi");
    await expect
      .poll(() => seen.flatMap(({ event }) => (event.kind === "finished" ? [event.turn.outcome.kind] : [])))
      .toEqual(["answered", "failed"]);
    await house.close();
  });
});
