/** The life of a message as stages. */
import { describe, expect, it } from "vitest";
import { spansOf, stageOf, stagesOf, wordsOf } from "../../../web/src/views/messages/stages.js";

const events = (...whats: string[]) => whats.map((what, at) => ({ at: at * 100, what, detail: "" }));
const states = (outcome: "answered" | "failed" | undefined, ...whats: string[]): string[] =>
  stagesOf({ outcome }, events(...whats)).map(({ state }) => state);

const begun = ["received", "attempt", "model answered"];

describe("the stages of a message", () => {
  it("are done, or were not needed", () => {
    const whole = [...begun, "turn finished", "saved", "sending", "sent", "finished"];
    expect(states("answered", ...whole)).toEqual(["done", "done", "skipped", "done", "skipped", "done", "done"]);
  });

  it("are still to come while it is open", () => {
    expect(states(undefined, ...begun)).toEqual(["done", "done", "skipped", "done", "open", "open", "open"]);
  });

  it("say where it failed", () => {
    expect(states("failed", "received", "attempt")).toEqual(["done", "done", "failed", "open", "open", "open", "open"]);
  });

  it("count the tools once each", () => {
    const stages = stagesOf(
      { outcome: "answered" },
      events("tool started", "tool finished", "tool started", "tool finished"),
    );
    expect(stages.find(({ name }) => name === "tools")?.times).toBe(2);
    for (const what of ["tool finished", "tool interrupted"])
      expect(stageOf({ at: 0, what, detail: "" })).toBe("tools");
  });

  it("are called as in the terminal", () => {
    expect(wordsOf({ at: 0, what: "received", detail: "telegram 7" }).what).toBe("received, stored");
    expect(wordsOf({ at: 0, what: "attempt", detail: "2" })).toEqual({ what: "begun", detail: "attempt 2" });
    expect(wordsOf({ at: 0, what: "saved", detail: "" }).what).toBe("saved");
  });

  it("take their share of the time", () => {
    expect(
      spansOf(events("received", "attempt", "saved")).map(({ since, start, share }) => [since, start, share]),
    ).toEqual([
      [0, 0, 0],
      [100, 0, 0.5],
      [200, 0.5, 0.5],
    ]);
  });
});
