/** One message, one kill at a chosen point, one successor: what went wrong, in words. Empty if all held. */
import type { Tool } from "../../src/agent/tools/tool.js";
import { type HouseOptions, Killed, openHouse } from "./house.js";
import { call, type Line } from "./scripted-model.js";

const once = ["accept", "begin", "tool start", "finish", "store", "appended"];
/** The model's step and the tool's, the first part and the second. */
const twice = ["step", "sending", "send", "sent"];

/** A place to die, and the how manieth time it is reached. */
export const drillPoints = [
  ...once.flatMap((what) => [`before ${what}`, `after ${what}`]),
  ...twice.flatMap((what) => [`before ${what}`, `after ${what}`].flatMap((point) => [point, `${point} #2`])),
  ...Array.from({ length: 11 }, (_, at) => `before commit #${at + 1}`),
];

export async function drill(place: string, mutant: Pick<HouseOptions, "mutate" | "store"> = {}): Promise<string[]> {
  let runs = 0;
  const [point, time = "1"] = place.split(" #");
  let left = Number(time);
  const model: Line[] = [
    async ({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "done|well" } : { toolCalls: [call("probe", {})] },
  ];
  const probe: Tool = {
    spec: { name: "probe", description: "", parameters: {} },
    call: async () => {
      runs++;
      return "result";
    },
  };
  const reach = (at: string): void => {
    if (at === point && --left === 0) throw new Killed(at);
  };
  const house = await openHouse({ model, tools: [probe], reach, ...mutant });
  const acknowledged = await house.say("ann", "hi", "m1").then(
    () => true,
    () => false,
  );
  await house.settle();
  house.kill();

  const next = await openHouse({ folder: house.folder, model, tools: [probe], ...mutant });
  await next.gateway.resume();
  // The platform sends again what was not acknowledged, and nothing else.
  if (!acknowledged) await next.say("ann", "hi", "m1");
  await next.settle();

  const problems: string[] = [];
  const expected = (what: string, count: number, most: number, least = 1): void => {
    if (count < least || count > most) problems.push(`${what}: ${count} times`);
  };
  const told = [...house.heard, ...next.heard];
  const labelled = next.sends.filter(({ mayRepeat }) => mayRepeat).length;
  for (const text of ["ann: done", "ann: well"]) {
    expected(text, told.filter((one) => one === text).length, 1 + labelled);
  }
  expected("the tool ran", runs, 1, 0);
  const rows = await next.rows("ann");
  expected("the question is stored", rows.filter((row) => row === "user: hi").length, 1);
  expected("the answer is stored", rows.filter((row) => row.startsWith("assistant: done")).length, 1);
  const outcomes = await next.outcomes();
  if (outcomes.join() !== "hi: answered") problems.push(`outcomes: ${outcomes.join() || "none"}`);
  if (left > 0) problems.push(`${place} was never reached`);
  await next.close();
  return problems;
}
