/** A gateway whose chats a backend answers, killed at every point: one answer, one turn, and nothing done twice unseen. */
import { describe, expect, it } from "vitest";
import { createRotation, cutShort } from "../../src/backends/rotation.js";
import { createBackendThinking } from "../../src/backends/thinking.js";
import { type HouseOptions, Killed, openHouse } from "../support/house.js";
import { scriptedBackend } from "../support/talk-house.js";

/** A backend that remembers, and says what it was told last. */
function openBackend() {
  const { backend, calls, abandoned } = scriptedBackend();
  const run = backend.run.bind(backend);
  const told: string[] = [];
  Object.assign(backend, {
    run: async (call: Parameters<typeof run>[0]) => {
      const end = await run(call);
      const text = `heard ${call.prompt.split("\n").at(-1) ?? ""}`;
      told.push(call.prompt);
      return end.kind === "answered" ? { ...end, text } : end;
    },
  });
  const thinking: HouseOptions["thinking"] = ({ sessions, ledger, clock, log }) =>
    createBackendThinking({
      backend,
      rotation: createRotation({ backend, handles: ledger.handles, settings: { windowSize: 20, maxAgeMs: 1e9 }, log }),
      sessions,
      clock,
      system: async () => "S",
      memory: async () => "",
      leaving: () => {},
      settings: { bootstrapMessages: 100, bootstrapTokens: 10_000 },
    });
  return { calls, abandoned, told, thinking };
}

const points = ["begin", "tool start", "step", "handle", "finish", "store", "appended", "sending", "send", "sent"];
const places = points.flatMap((what) => [`before ${what}`, `after ${what}`]);

describe("a gateway with a backend, killed", () => {
  it.each(places)("%s", async (place) => {
    const { calls, told, abandoned, thinking } = openBackend();
    let armed = false;
    let reached = false;
    const reach = (point: string): void => {
      if (!armed || point !== place || reached) return;
      reached = true;
      throw new Killed(point);
    };
    const first = await openHouse({ thinking, reach });
    await first.say("ann", "one", "m1");
    await first.settle();
    armed = true;
    await first.say("ann", "two", "m2").catch(() => {});
    await first.settle();
    expect(reached).toBe(true);
    first.kill();

    const next = await openHouse({ folder: first.folder, thinking });
    await next.gateway.resume();
    await next.settle();
    await next.say("ann", "three", "m3");
    await next.settle();

    expect(await next.outcomes()).toEqual(["one: answered", "two: answered", "three: answered"]);
    expect(await next.rows("ann")).toEqual(
      ["one", "two", "three"].flatMap((text) => [`user: ${text}`, `assistant: heard ${text}`]),
    );
    const answers = [...first.heard, ...next.heard].filter((text) => text === "ann: heard two");
    expect(answers.length).toBeGreaterThanOrEqual(1);
    expect(answers.length).toBeLessThanOrEqual(1 + next.sends.filter(({ mayRepeat }) => mayRepeat).length);

    // Whoever runs it again knows that it may have been done, and what was left of the first attempt is ended.
    const twos = calls.filter((_, at) => told[at]?.endsWith("two"));
    expect(twos.length).toBeLessThanOrEqual(2);
    if (twos.length === 2) {
      expect(twos[1]).not.toHaveProperty("handle");
      expect(twos[1]?.prompt).toContain(cutShort);
      expect(abandoned).toEqual([twos[0]?.id]);
    }
    // And the next message finds a conversation that has seen everything, or is told it.
    const last = calls.at(-1);
    if (last?.handle === undefined) expect(last?.prompt).toContain("\nheard two\n");
    await next.close();
  });
});
