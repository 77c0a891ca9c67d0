import { describe, expect, it, vi } from "vitest";
import type { Inbound } from "../../src/message.js";
import type { Tool } from "../../src/agent/tools/tool.js";
import { SendFailure } from "../../src/channels/channel.js";
import type { Address } from "../../src/message.js";
import { ModelError, type ModelRequest, type Reply } from "../../src/providers/provider.js";
import { gate } from "../support/gate.js";
import { type HouseOptions, Killed, openHouse } from "../support/house.js";
import { call } from "../support/scripted-model.js";

const probe = (run: () => string | Promise<string>): Tool => ({
  spec: { name: "probe", description: "", parameters: {} },
  call: async () => run(),
});

/** What was asked, without what comes with it. */
function question({ messages }: ModelRequest): string | undefined {
  const content = messages.at(-1)?.content;
  return typeof content === "string" ? content.split("\n\n").at(-1) : undefined;
}

describe("a message that arrives", () => {
  it("is answered, stored and told once", async () => {
    const house = await openHouse();
    await house.say("ann", "hi");
    await house.settle();
    expect(house.heard).toEqual(["ann: ok"]);
    expect(await house.rows("ann")).toEqual(["user: hi", "assistant: ok"]);
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    await house.close();
  });

  it("is answered once when the platform delivers it twice, also after a restart", async () => {
    const house = await openHouse();
    await house.say("ann", "hi", "same-id");
    await house.say("ann", "hi", "same-id");
    await house.settle();
    await house.close();
    const again = await openHouse({ folder: house.folder });
    await again.gateway.resume();
    await again.say("ann", "hi", "same-id");
    await again.settle();
    expect([...house.heard, ...again.heard]).toEqual(["ann: ok"]);
    await again.close();
  });

  it("is not waited for by whoever brings it", async () => {
    const thinking = gate();
    const house = await openHouse({ model: [async () => (await thinking.wait, { text: "late" })] });
    await house.say("ann", "hi");
    expect(house.heard).toEqual([]);
    thinking.open();
    await house.settle();
    expect(house.heard).toEqual(["ann: late"]);
    await house.close();
  });

  it("may be given more time than a timer knows", async () => {
    const thinking = gate();
    const house = await openHouse({ model: [() => thinking.wait.then(() => ({ text: "ok" }))] });
    const from = { channel: "fake", chat: "ann" };
    await house.gateway.accept({
      id: "1",
      from,
      sender: ["ann"],
      text: "hi",
      media: [],
      limitMs: 100 * 24 * 3_600_000,
    });
    await vi.waitUntil(() => house.requests.length === 1);
    await new Promise((done) => setTimeout(done, 20));
    thinking.open();
    await house.settle();
    expect(house.heard).toEqual(["ann: ok"]);
    await house.close();
  });

  it("of one chat waits its turn, of another does not (003-15)", async () => {
    const first = gate();
    let asked = 0;
    const house = await openHouse({
      model: [
        async (request) => {
          if (asked++ === 0) await first.wait;
          return { text: `re ${question(request)}` };
        },
      ],
    });
    await house.say("ann", "one");
    await house.say("ann", "two");
    await house.say("bob", "three");
    await expect.poll(() => house.heard).toEqual(["bob: re three"]);
    first.open();
    await house.settle();
    expect(house.heard).toEqual(["bob: re three", "ann: re one", "ann: re two"]);
    await house.close();
  });

  it("from a stranger is turned away and leaves nothing behind", async () => {
    const house = await openHouse();
    const from = { channel: "other", chat: "x" };
    for (const id of ["1", "2", "3"]) {
      await house.gateway.accept({ id, from, sender: ["eve"], text: "hi", media: [] });
    }
    await house.settle();
    expect(await house.outcomes()).toEqual([]);
    expect(house.warnings).toEqual(["other:x: eve is not on the list and was not let in"]);
    await house.close();
  });

  it("of a conversation that can never be stored ends, and the chat is told", async () => {
    const house = await openHouse();
    await house.say("no\0name", "hi");
    await house.settle();
    expect(await house.outcomes()).toEqual(["hi: failed"]);
    expect(house.heard).toEqual([expect.stringContaining("something went wrong")]);
    await house.close();
  });

  it("is refused visibly when too many wait", async () => {
    const first = gate();
    const house = await openHouse({
      model: [async () => (await first.wait, { text: "ok" })],
      settings: { maxQueue: 2 },
    });
    for (const text of ["1", "2", "3"]) await house.say("ann", text);
    await expect.poll(() => house.heard.length).toBe(1);
    expect(house.heard[0]).toContain("still busy");
    first.open();
    await house.settle();
    expect(await house.outcomes()).toEqual(["1: answered", "2: answered", "3: failed"]);
    await house.close();
  });

  it("is taken, however many wait, if it was said while nobody listened", async () => {
    const first = gate();
    const house = await openHouse({
      model: [async () => (await first.wait, { text: "ok" })],
      settings: { maxQueue: 1 },
    });
    const say = (id: string, when: Pick<Inbound, "sentAt" | "missed">): Promise<void> =>
      house.gateway.accept({
        id,
        from: { channel: "fake", chat: "ann" },
        sender: ["ann"],
        text: id,
        media: [],
        ...when,
      });
    for (const id of ["1", "2", "3"]) await say(id, { sentAt: house.time.now - 3_600_000 });
    // A restart takes a second; the channel knows what it has fetched afterwards.
    await say("missed", { sentAt: house.time.now - 2000, missed: true });
    await say("now", { sentAt: house.time.now - 2000 });
    first.open();
    await house.settle();
    expect(await house.outcomes()).toEqual([
      "1: answered",
      "2: answered",
      "3: answered",
      "missed: answered",
      "now: failed",
    ]);
    await house.close();
  });

  it("leaves nothing behind in memory, whatever number of chats there are", async () => {
    const house = await openHouse();
    for (let chat = 0; chat < 200; chat++) await house.say(`chat${chat}`, "hi");
    await house.settle();
    expect(house.lanes.load()).toEqual({ lanes: 0, queued: 0 });
    await house.close();
  });
});

describe("a turn that fails", () => {
  it("stores nothing, tells the chat in plain words, and is over", async () => {
    const house = await openHouse({
      model: [new ModelError("auth", "401 from provider x", "set a key"), { text: "ok" }],
    });
    await house.say("ann", "hi");
    await house.settle();
    expect(house.heard[0]).toContain("does not accept my key");
    expect(await house.rows("ann")).toEqual([]);
    await house.say("ann", "again");
    await house.settle();
    expect(house.heard.at(-1)).toBe("ann: ok");
    expect(await house.outcomes()).toEqual(["hi: failed", "again: answered"]);
    await house.close();
  });

  it("does not tell strangers what broke inside", async () => {
    const house = await openHouse({ model: [new TypeError("undefined is not /home/secret")] });
    await house.say("ann", "hi");
    await house.settle();
    expect(house.heard.join()).not.toContain("secret");
    await house.close();
  });
});

describe("typing", () => {
  const openTyping = async (model: HouseOptions["model"]) => {
    const shown: string[] = [];
    const typing = async ({ chat }: Address): Promise<void> => void shown.push(chat);
    return { shown, house: await openHouse({ ...(model && { model }), channel: { typing } }) };
  };

  it("is shown while an answer is thought of", async () => {
    const answer = gate();
    const { shown, house } = await openTyping([async () => (await answer.wait, { text: "done" })]);
    await house.say("ann", "hi");
    await expect.poll(() => shown).toEqual(["ann"]);
    answer.open();
    await house.settle();
    expect(house.heard).toEqual(["ann: done"]);
  });

  it("is not shown for what is answered at once", async () => {
    const { shown, house } = await openTyping(undefined);
    await house.say("ann", "/help");
    await house.settle();
    expect(house.heard).toEqual(["ann: help"]);
    expect(shown).toEqual([]);
  });
});

describe("/stop", () => {
  it("passes the queue and stops what is running and waiting", async () => {
    const house = await openHouse({
      model: [
        (_, signal) =>
          new Promise<Partial<Reply>>((__, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          ),
      ],
    });
    await house.say("ann", "long");
    await house.say("ann", "next");
    await house.say("ann", "/stop");
    await house.settle();
    expect(house.heard).toEqual(["ann: ⏹ Stopped 2 task(s)."]);
    expect(await house.rows("ann")).toEqual([]);
    expect(await house.outcomes()).toEqual(["long: silent", "next: silent", "/stop: answered"]);
    await house.close();
  });
});

describe("sending", () => {
  it("keeps the order of parts and goes on at the one that failed", async () => {
    let tries = 0;
    const house = await openHouse({
      model: [{ text: "1|2|3|4" }],
      send: async (message) => {
        if (message.kind === "text" && message.text === "3" && tries++ === 0)
          throw new SendFailure("later", "slow down", { afterMs: 5000 });
        return { id: "r" };
      },
    });
    await house.say("ann", "hi");
    await house.settle();
    expect(house.heard).toEqual(["ann: 1", "ann: 2"]);
    await house.later(4000);
    expect(house.heard).toHaveLength(2);
    await house.later(2000);
    expect(house.heard).toEqual(["ann: 1", "ann: 2", "ann: 3", "ann: 4"]);
    await house.close();
  });

  it("is final when the chat is gone, and says so", async () => {
    const house = await openHouse({
      send: async () => {
        throw new SendFailure("never", "blocked by the user");
      },
    });
    await house.say("ann", "hi");
    await house.settle();
    expect(await house.outcomes()).toEqual(["hi: failed"]);
    expect((await house.ledger.reports.entries("problems", 10))[0]?.reason).toContain("blocked by the user");
    await house.close();
  });

  it("is given up after a day", async () => {
    const house = await openHouse({
      send: async () => {
        throw new SendFailure("later", "down", { afterMs: 3_600_000 });
      },
    });
    await house.say("ann", "hi");
    await house.settle();
    for (let hour = 0; hour < 26; hour++) await house.later(3_600_000);
    expect(await house.outcomes()).toEqual(["hi: failed"]);
    await house.close();
  });

  it("says that it may be a repeat when nobody knows how the first try ended", async () => {
    let tries = 0;
    const house = await openHouse({
      send: async () => {
        if (tries++ === 0) throw new Error("socket hang up");
        return { id: "r" };
      },
    });
    await house.say("ann", "hi");
    await house.settle();
    await house.later(60_000);
    expect(house.sends.map(({ mayRepeat }) => mayRepeat)).toEqual([false, true]);
    expect(new Set(house.sends.map(({ intent }) => intent)).size).toBe(1);
    await house.close();
  });
});

describe("a process that is killed", () => {
  const points = [
    "before accept",
    "after accept",
    "before begin",
    "after begin",
    "before step",
    "after step",
    "before tool start",
    "after tool start",
    "before finish",
    "after finish",
    "before store",
    "after store",
    "before appended",
    "after appended",
    "before sending",
    "after sending",
    "before send",
    "after send",
    "before sent",
    "after sent",
  ];

  it.each(points)("%s: every accepted message is answered, nothing stands twice, no tool runs twice", async (point) => {
    let runs = 0;
    let reached = false;
    const script = [{ toolCalls: [call("probe", {})] }, { text: "done|well" }];
    const tools = [
      probe(() => {
        runs++;
        return "result";
      }),
    ];
    const reach = (at: string): void => {
      if (at !== point || reached) return;
      reached = true;
      throw new Killed(at);
    };
    const house = await openHouse({ model: script, tools, reach });
    const accepted = await house.say("ann", "hi", "m1").then(
      () => true,
      () => false,
    );
    await house.settle();
    house.kill();
    const done = house.requests.length;

    const next = await openHouse({ folder: house.folder, model: script.slice(Math.min(done, 1)), tools });
    await next.gateway.resume();
    // What was not acknowledged the platform sends again; what was, it may.
    await next.say("ann", "hi", "m1");
    await next.settle();
    expect(reached).toBe(true);
    const told = [...house.heard, ...next.heard];
    expect(new Set(told)).toEqual(new Set(["ann: done", "ann: well"]));
    // Only a message whose fate nobody knows may come twice, and then it says so.
    const repeats = next.sends.filter(({ mayRepeat }) => mayRepeat).length;
    expect(told.length).toBeLessThanOrEqual(2 + repeats);
    expect(runs).toBeLessThanOrEqual(1);
    const rows = await next.rows("ann");
    expect(rows.filter((row) => row === "user: hi")).toHaveLength(1);
    expect(rows.filter((row) => row.startsWith("assistant: done"))).toHaveLength(1);
    expect(await next.outcomes()).toEqual(["hi: answered"]);
    expect(accepted || point.includes("accept")).toBe(true);
    await next.close();
  });

  it("again and again by the same message puts that message aside, tells the chat, and goes on", async () => {
    let folder: string | undefined;
    for (let life = 0; life < 3; life++) {
      const house = await openHouse({
        ...(folder && { folder }),
        reach: (point) => {
          if (point === "before finish") throw new Killed();
        },
      });
      folder = house.folder;
      await (life === 0 ? house.say("ann", "poison", "p") : house.gateway.resume());
      await house.settle();
      house.kill();
    }
    const last = await openHouse({ ...(folder && { folder }) });
    await last.gateway.resume();
    await last.say("ann", "fine");
    await last.settle();
    expect(last.heard[0]).toContain("put it aside");
    expect(last.heard[1]).toBe("ann: ok");
    expect(await last.outcomes()).toEqual(["poison: dead", "fine: answered"]);
    await last.close();
  });

  const never = (_: ModelRequest, signal: AbortSignal): Promise<Partial<Reply>> =>
    new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

  it("once lets everybody go on at the same time: nobody waits for somebody else's model", async () => {
    const house = await openHouse({ limit: 2, model: [never, never] });
    await Promise.all([house.say("ann", "one"), house.say("bob", "two")]);
    await vi.waitUntil(() => house.requests.length === 2);
    house.kill();
    const next = await openHouse({ folder: house.folder, limit: 2, model: [never, { text: "second" }] });
    await next.gateway.resume();
    await vi.waitUntil(() => next.heard.length === 1);
    next.kill();
  });

  it("twice leaves suspects that wait for each other, and take no place from others", async () => {
    const house = await openHouse({ limit: 2, model: [never, never] });
    await Promise.all([house.say("ann", "one"), house.say("bob", "two")]);
    await vi.waitUntil(() => house.requests.length === 2);
    house.kill();
    const second = await openHouse({ folder: house.folder, limit: 2, model: [never, never] });
    await second.gateway.resume();
    await vi.waitUntil(() => second.requests.length === 2);
    second.kill();

    const slow = gate();
    const first = (): Promise<Partial<Reply>> => slow.wait.then(() => ({ text: "first" }));
    const next = await openHouse({
      folder: house.folder,
      limit: 2,
      model: [first, { text: "hello" }, { text: "second" }],
    });
    await next.gateway.resume();
    await vi.waitUntil(() => next.requests.length === 1);
    await next.say("carl", "hi");
    await vi.waitUntil(() => next.heard.length === 1);
    slow.open();
    await next.settle();
    expect(next.heard).toEqual(["carl: hello", "ann: first", "bob: second"]);
    await next.close();
  });

  it("before a tool is started runs it afterwards, even if an earlier call of the turn bore its id", async () => {
    const ask = { toolCalls: [call("probe", {}, "c1")] };
    let runs = 0;
    const tools = [probe(() => `run ${++runs}`)];
    let starts = 0;
    const reach = (at: string): void => {
      if (at === "before tool start" && ++starts === 2) throw new Killed(at);
    };
    const house = await openHouse({ model: [ask, ask], tools, reach });
    await house.say("ann", "hi");
    await house.settle();
    house.kill();
    expect(runs).toBe(1);

    const next = await openHouse({ folder: house.folder, model: [{ text: "done" }], tools });
    await next.gateway.resume();
    await next.settle();
    expect((await next.rows("ann")).filter((row) => row.startsWith("tool:"))).toEqual(["tool: run 1", "tool: run 2"]);
    await next.close();
  });

  it("by a polite signal journals what is running, and that does not count as an attempt", async () => {
    const house = await openHouse({
      model: [
        (_, signal) =>
          new Promise<Partial<Reply>>((__, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          ),
      ],
    });
    await house.say("ann", "hi");
    await house.gateway.shutdown(10);
    await house.ledger.close();
    const next = await openHouse({ folder: house.folder });
    expect((await next.ledger.reports.entries("all", 1))[0]?.attempts).toBe(0);
    await next.gateway.resume();
    await next.settle();
    expect(next.heard).toEqual(["ann: ok"]);
    await next.close();
  });
});

describe("a disk that cannot be written", () => {
  const full = (point: string, times: number) => {
    let left = times;
    return (at: string): void => {
      if (at === point && left-- > 0) throw new Error("ENOSPC: no space left on device");
    };
  };

  it.each([
    "before begin",
    "before step",
    "before tool start",
    "before finish",
    "before store",
    "before appended",
    "before sending",
    "before sent",
  ])("%s: the message waits and is answered once, and the chat hears nothing false", async (point) => {
    let runs = 0;
    const house = await openHouse({
      model: [{ toolCalls: [call("probe", {})] }, { text: "done" }],
      tools: [
        probe(() => {
          runs++;
          return "result";
        }),
      ],
      reach: full(point, 3),
    });
    await house.say("ann", "hi");
    for (let wait = 0; wait < 3; wait++) {
      await expect.poll(() => house.warnings.length).toBeGreaterThan(wait);
      house.wake(60_000);
    }
    await house.settle();
    expect(house.warnings.join()).toContain("no space left");
    expect(house.heard).toEqual(["ann: done"]);
    expect(runs).toBe(1);
    expect(house.requests).toHaveLength(2);
    expect((await house.rows("ann")).filter((row) => row === "user: hi")).toHaveLength(1);
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    expect((await house.ledger.reports.entries("all", 1))[0]?.attempts).toBe(1);
    await house.close();
  });

  it("holds up its own chat in order, and no other", async () => {
    let broken = true;
    let lane = "";
    const house = await openHouse({
      limit: 1,
      model: [async (request) => ({ text: `re ${question(request)}` })],
      reach: (point) => {
        if (point === "before finish" && broken && lane === "ann") throw new Error("EIO");
      },
    });
    lane = "ann";
    await house.say("ann", "one");
    await house.say("ann", "two");
    await expect.poll(() => house.warnings.length).toBe(1);
    lane = "bob";
    await house.say("bob", "three");
    await expect.poll(() => house.heard).toEqual(["bob: re three"]);
    broken = false;
    house.wake(60_000);
    await house.settle();
    expect(house.heard).toEqual(["bob: re three", "ann: re one", "ann: re two"]);
    await house.close();
  });

  it("does not keep a gateway from ending; the next one goes on", async () => {
    const house = await openHouse({ reach: full("before finish", Infinity) });
    await house.say("ann", "hi");
    await expect.poll(() => house.warnings.length).toBe(1);
    await house.gateway.shutdown(10);
    await house.ledger.close();
    expect(house.heard).toEqual([]);
    const next = await openHouse({ folder: house.folder });
    await next.gateway.resume();
    await next.settle();
    expect(next.heard).toEqual(["ann: ok"]);
    await next.close();
  });
});

describe("the owner, while the gateway runs", () => {
  it("puts a failed message back, and it is answered", async () => {
    const house = await openHouse({ model: [new ModelError("auth", "no", "set a key"), { text: "now" }] });
    await house.say("ann", "hi", "m1");
    await house.settle();
    await house.ledger.reports.retry("m1");
    await house.gateway.resume();
    await house.gateway.resume();
    await house.settle();
    expect(house.heard.slice(1)).toEqual(["ann: now"]);
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    await house.close();
  });

  it("discards a message that is being thought about: nothing is stored, nothing is said", async () => {
    const thinking = gate();
    const house = await openHouse({ model: [async () => (await thinking.wait, { text: "late" })] });
    await house.say("ann", "hi", "m1");
    await house.say("ann", "next", "m2");
    await expect.poll(() => house.requests.length).toBe(1);
    await house.ledger.reports.discard("m1");
    thinking.open();
    await house.settle();
    expect(house.heard).toEqual(["ann: late"]);
    expect(await house.rows("ann")).toEqual(["user: next", "assistant: late"]);
    expect(await house.outcomes()).toEqual(["hi: silent", "next: answered"]);
    await house.close();
  });

  it("looks again while everything is at work: nothing is done twice", async () => {
    const thinking = gate();
    const house = await openHouse({ model: [async () => (await thinking.wait, { text: "once" })] });
    await house.say("ann", "hi");
    for (let look = 0; look < 3; look++) await house.gateway.resume();
    thinking.open();
    await house.settle();
    expect(house.heard).toEqual(["ann: once"]);
    expect(house.requests).toHaveLength(1);
    await house.close();
  });

  it("a /stop that was cut off by a restart is not put to the model", async () => {
    const house = await openHouse({
      reach: (point) => {
        if (point === "before begin") throw new Killed();
      },
    });
    await house.say("ann", "/stop");
    await house.settle();
    house.kill();
    const next = await openHouse({ folder: house.folder });
    await next.gateway.resume();
    await next.settle();
    expect(next.heard).toEqual(["ann: No active task to stop."]);
    expect(next.requests).toEqual([]);
    await next.close();
  });
});
