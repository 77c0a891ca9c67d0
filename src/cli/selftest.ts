/** `nanogate selftest`: the crash lab. The real program between platforms and a model of its own, killed, and audited. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { UserError } from "../util/errors.js";
import { findPackage } from "../util/package-root.js";
import { createProgress, exit, positive, table, type Terminal, WrongUse } from "./terminal.js";

/** What the lab (test/lab, built into dist/lab) offers. */
export type Lab = {
  /** Every place where the program can be made to die. */
  readonly killPoints: readonly string[];
  runLab(options: LabOptions): Promise<LabReport>;
};

export type LabOptions = {
  readonly kills: number;
  readonly seed: number;
  /** Only these points; otherwise all of them in turn, and random moments. */
  readonly points?: readonly string[];
  readonly onKill?: (done: number, violations: number) => void;
  readonly signal?: AbortSignal;
};

export type LabReport = {
  /** How often it was killed where. A point that was not reached in time counts as random. */
  readonly kills: Readonly<Record<string, number>>;
  readonly messages: number;
  readonly labelledRepeats: number;
  readonly violations: readonly string[];
  /** Folders with everything that was said, stored and sent in the runs that went wrong. */
  readonly evidence: readonly string[];
};

export type SelftestOptions = {
  readonly kills: string;
  readonly seed: string;
  readonly point?: readonly string[];
  readonly json?: boolean;
};

/** Where nobody looks at a moving line, so many kills are worth a line of their own. */
const linePerKills = 100;

export async function selftest(given: SelftestOptions, terminal: Terminal, lab = loadLab()): Promise<number> {
  const kills = positive(given.kills, "--kills");
  const seed = positive(given.seed, "--seed");
  for (const point of given.point ?? []) if (!lab.killPoints.includes(point)) throw unknownPoint(point, lab);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new UserError("The selftest was stopped.", "Nothing of it is left behind."));
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const name of signals) process.once(name, onSignal);
  const progress = createProgress(terminal, "killed");
  const started = performance.now();
  try {
    const report = await lab.runLab({
      kills,
      seed,
      ...(given.point && { points: given.point }),
      onKill(done, violations) {
        progress.step(done, kills);
        if (!terminal.errIsTerminal && done % linePerKills === 0 && done < kills) {
          terminal.err(`nanogate: killed ${done} of ${kills} times, ${violations} violations so far\n`);
        }
      },
      signal: stop.signal,
    });
    progress.end();
    const seconds = Math.round((performance.now() - started) / 1000);
    terminal.out(given.json ? JSON.stringify({ seed, seconds, ...report }) : inWords(terminal, report, seed, seconds));
    return report.violations.length === 0 ? exit.ok : exit.failed;
  } finally {
    progress.end();
    for (const name of signals) process.off(name, onSignal);
  }
}

function inWords(terminal: Terminal, report: LabReport, seed: number, seconds: number): string {
  const { messages, labelledRepeats, violations, evidence } = report;
  const rows = Object.entries(report.kills)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([point, times]) => [point, String(times)]);
  return [
    table(terminal, ["killed", "times"], rows),
    "",
    `${messages} messages, ${labelledRepeats} labelled repeats, ${seconds} s, seed ${seed}`,
    ...violations.map((text) => `VIOLATION ${text}`),
    violations.length === 0 ? "every invariant held" : `${violations.length} violations`,
    ...evidence.map((folder) => `what was said, stored and sent: ${folder}`),
  ].join("\n");
}

const unknownPoint = (point: string, { killPoints }: Lab): WrongUse =>
  new WrongUse(`There is no point "${point}" to be killed at.`, `There are: ${killPoints.join(", ")}.`);

/** As large as the program itself, and needed by this command only. */
function loadLab(): Lab {
  const file = join(findPackage().root, "dist", "lab", "lab.cjs");
  return createRequire(import.meta.url)(file) as Lab;
}
