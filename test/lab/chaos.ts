/** `npm run chaos -- --kills 2000 [--seed 1] [--point "after store"]`: the big run, with a table of what was killed where. */
import { parseArgs } from "node:util";
import { runLab } from "./lab.js";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    point: { type: "string", multiple: true },
  },
});
const started = performance.now();
const report = await runLab({
  kills: Number(values.kills),
  seed: Number(values.seed),
  ...(values.point && { points: values.point }),
  onProgress: (done, violations) => process.stderr.write(`\r${done} kills, ${violations.length} violations `),
});
process.stderr.write("\n");
const rows = Object.entries(report.kills).sort(([a], [b]) => a.localeCompare(b));
console.log(["| killed | times |", "|---|---|", ...rows.map(([point, count]) => `| ${point} | ${count} |`)].join("\n"));
const seconds = Math.round((performance.now() - started) / 1000);
console.log(
  `\n${report.messages} messages, ${report.labelledRepeats} labelled repeats, ${seconds} s, seed ${values.seed}`,
);
for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
console.log(report.violations.length === 0 ? "every invariant held" : `${report.violations.length} violations`);
process.exitCode = report.violations.length === 0 ? 0 : 1;
