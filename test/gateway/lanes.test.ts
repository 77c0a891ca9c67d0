import { describe, expect, it } from "vitest";
import { createLanes, Stopped } from "../../src/gateway/lanes.js";
import { gate } from "../support/gate.js";

describe("lanes", () => {
  it("keep the order within a session, also after a failure", async () => {
    const lanes = createLanes({ limit: 8 });
    const done: number[] = [];
    const results = [1, 2, 3].map((number) =>
      lanes.run("a", async () => {
        await new Promise((next) => setImmediate(next));
        done.push(number);
        if (number === 2) throw new Error("no");
      }),
    );
    expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(done).toEqual([1, 2, 3]);
  });

  it("let no more sessions work at a time than they may", async () => {
    const lanes = createLanes({ limit: 3 });
    let [atWork, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++atWork);
      await new Promise((next) => setImmediate(next));
      atWork--;
    };
    await Promise.all(Array.from({ length: 20 }, (_, at) => lanes.run(`s${at}`, work)));
    expect(most).toBe(3);
  });

  it("let others work while one only waits", async () => {
    const lanes = createLanes({ limit: 1 });
    const waits = gate();
    const done: string[] = [];
    const first = lanes.run("a", async (_, aside) => {
      done.push("a begins");
      await aside(() => waits.wait);
      done.push("a ends");
    });
    const behind = lanes.run("a", async () => void done.push("behind a"));
    await lanes.run("b", async () => void done.push("b"));
    waits.open();
    await Promise.all([first, behind]);
    expect(done).toEqual(["a begins", "b", "a ends", "behind a"]);
    expect(lanes.load()).toEqual({ lanes: 0, queued: 0 });
  });

  it.each(["before", "while queued", "while running", "twice"])("can be stopped: %s", async (when) => {
    const lanes = createLanes({ limit: 1 });
    if (when === "before") {
      expect(lanes.stop("a")).toBe(0);
      return;
    }
    const started = gate();
    const blocker = gate();
    if (when === "while queued") void lanes.run("other", () => blocker.wait);
    let signal: AbortSignal | undefined;
    const run = lanes.run("a", async (own) => {
      signal = own;
      started.open();
      if (!own.aborted) await new Promise((done) => own.addEventListener("abort", done));
    });
    if (when !== "while queued") await started.wait;
    expect(lanes.stop("a")).toBe(1);
    if (when === "twice") expect(lanes.stop("a")).toBe(0);
    blocker.open();
    await run;
    expect(signal?.reason).toBeInstanceOf(Stopped);
    await lanes.idle();
  });

  it("leave nothing behind after 100,000 sessions", async () => {
    const lanes = createLanes({ limit: 8 });
    for (let batch = 0; batch < 100; batch++) {
      await Promise.all(Array.from({ length: 1000 }, (_, at) => lanes.run(`chat:${batch}/${at}`, async () => {})));
    }
    await lanes.idle();
    expect(lanes.load()).toEqual({ lanes: 0, queued: 0 });
  });
});
