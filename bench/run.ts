/** `npm run bench -- [name…] [--full] [--json] [--strict]`: runs the benches and says of each target whether it is met. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chat } from "./chat.js";
import { cron } from "./cron.js";
import { gateway } from "./gateway.js";
import { http } from "./http.js";
import { grow } from "./grow.js";
import { type Bench, isMet, type Outcome } from "./harness.js";
import { many } from "./many.js";
import { open } from "./open.js";
import { rotation } from "./rotation.js";
import { save } from "./save.js";
import { turn } from "./turn.js";

const benches: readonly Bench[] = [save, grow, open, many, turn, chat, cron, rotation, gateway, http];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    strict: { type: "boolean", default: false },
  },
});
const chosen = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (chosen.length === 0) {
  process.stderr.write(`There is no such bench; there are ${benches.map(({ name }) => name).join(", ")}.\n`);
  process.exit(2);
}

const place = mkdtempSync(join(tmpdir(), "nanogate-bench-"));
process.on("exit", () => rmSync(place, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

const machine = { node: process.version, system: `${process.platform} ${process.arch}`, cores: availableParallelism() };
if (!values.json) print(`node ${machine.node}, ${machine.system}, ${machine.cores} cores`);

const results: (Outcome & { readonly name: string; readonly title: string })[] = [];
for (const { name, title, run } of chosen) {
  const folder = join(place, name);
  mkdirSync(folder);
  const outcome = await run(folder, values.full);
  rmSync(folder, { recursive: true });
  results.push({ name, title, ...outcome });
  if (!values.json) printOutcome(`${name}: ${title}`, outcome);
}

const targets = results.flatMap((result) => result.targets);
const missed = targets.filter((target) => !isMet(target)).length;
if (values.json) {
  const withVerdicts = results.map((result) => ({
    ...result,
    targets: result.targets.map((target) => ({ ...target, met: isMet(target) })),
  }));
  print(JSON.stringify({ machine, missed, benches: withVerdicts }, undefined, 2));
} else {
  print(`\n${targets.length - missed} of ${targets.length} targets met`);
}
if (values.strict && missed > 0) process.exitCode = 1;

function printOutcome(title: string, { table, targets, notes }: Outcome): void {
  print(`\n${title}\n`);
  const columns = Object.keys(table[0] ?? {});
  const cells = [columns, ...table.map((row) => columns.map((column) => cell(row[column] ?? "")))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  for (const row of cells) {
    print(
      `  ${row.map((text, at) => (at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0))).join("   ")}`,
    );
  }
  print("");
  for (const target of targets) {
    const { label, actual, kind, limit, unit } = target;
    print(`  ${isMet(target) ? "ok    " : "MISSED"}  ${label}: ${cell(actual)} ${unit} (${kind} ${limit})`);
  }
  for (const note of notes) print(`  ${note}`);
}

/** Three digits say all that a noisy machine can. */
function cell(value: string | number): string {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "-";
  return Math.abs(value) >= 100 ? Math.round(value).toString() : value.toPrecision(3);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
