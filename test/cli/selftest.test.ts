import { beforeAll, describe, expect, it } from "vitest";
import { type Lab, type LabOptions, type LabReport, selftest } from "../../src/cli/selftest.js";
import { buildProgram, runMain, runProgram } from "../support/cli.js";
import { temporaryFolder } from "../support/workspace.js";

const good: LabReport = {
  kills: { random: 1, "after store": 2 },
  messages: 11,
  labelledRepeats: 1,
  violations: [],
  evidence: [],
};

/** The command with a lab that has its report ready. */
async function runWith(report: LabReport, options: { json?: boolean; point?: string[]; kills?: string } = {}) {
  const asked: LabOptions[] = [];
  const lab: Lab = {
    killPoints: ["after store"],
    async runLab(given) {
      asked.push(given);
      for (let done = 1; done <= given.kills; done++) given.onKill?.(done, 0);
      return report;
    },
  };
  let out = "";
  let err = "";
  const terminal = {
    out: (text: string) => void (out += `${text}\n`),
    err: (text: string) => void (err += text),
    outIsTerminal: false,
    errIsTerminal: false,
    columns: 80,
  };
  const code = await selftest({ kills: "3", seed: "7", ...options }, terminal, lab);
  return { code, out, err, asked };
}

describe("nanogate selftest", () => {
  beforeAll(buildProgram);

  it("kills the real program, checks the books, and says what it did", { timeout: 120_000 }, async () => {
    const args = ["selftest", "--kills", "1", "--point", "after send"];
    const { code, out, err } = await runProgram(args, { home: temporaryFolder() });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^after send +1$/m);
    expect(out).toMatch(/^\d+ messages, \d+ labelled repeats, \d+ s, seed 1$/m);
    expect(out).toContain("every invariant held");
  });

  it("ends with 1 and says where the evidence lies when something was wrong", async () => {
    const bad = { ...good, violations: ["seed 7: 0003: never told"], evidence: ["/tmp/nanogate-lab-x"] };
    const { code, out } = await runWith(bad);
    expect(code).toBe(1);
    expect(out).toContain("VIOLATION seed 7: 0003: never told");
    expect(out).toContain("1 violations");
    expect(out).toContain("/tmp/nanogate-lab-x");
  });

  it("prints one line of JSON for scripts", async () => {
    const { code, out } = await runWith(good, { json: true, point: ["after store"] });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ ...good, seed: 7, seconds: 0 });
  });

  it("hands on what was asked for", async () => {
    const { asked } = await runWith(good, { point: ["after store"] });
    expect(asked).toMatchObject([{ kills: 3, seed: 7, points: ["after store"] }]);
  });

  it("says now and then how far it is where no line can move", async () => {
    const { err } = await runWith(good, { kills: "250" });
    expect(err.split("\n").filter(Boolean)).toHaveLength(2);
    expect(err).toContain("killed 200 of 250 times");
  });

  it.each([
    [["--kills", "none"], "--kills"],
    [["--seed", "-1"], "--seed"],
    [["--point", "after lunch"], "after lunch"],
  ])("refuses %s", async (args, named) => {
    const { code, err } = await runMain(["selftest", ...args]);
    expect(code).toBe(2);
    expect(err).toContain(named);
  });
});
