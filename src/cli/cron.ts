/** `nanogate cron`: jobs by the clock. What the commands do is loaded when one is called. */
import { type Command, Option } from "commander";
import type { CommandParts } from "./terminal.js";

export function addCronCommand(program: Command, { terminal }: CommandParts): void {
  const cron = program.command("cron").description("jobs by the clock: look at them, plan, try and stop them");
  const command = (name: string, description: string): Command =>
    cron.command(name).description(description).option("--json", "print JSON for scripts");

  command("list", "all jobs, the next one first").action(async (_, self: Command) => {
    const { listJobs } = await import("./cron-jobs.js");
    await listJobs(self.optsWithGlobals(), terminal);
  });

  command("add", "plan a job")
    .option("--every <time>", "again and again: 90s, 15m, 2h, 1d")
    .option("--cron <expression>", 'by the calendar: "0 9 * * 1-5" (minute hour day month weekday)')
    .option("--at <time>", "once: 2026-12-24T18:00")
    .option("--tz <zone>", "the time zone of --cron or --at (default: from the configuration, else the machine's)")
    .requiredOption("--message <text>", "what the agent is told to do")
    .option("--name <name>", "how it is called (default: how the message begins)")
    .option("--to <channel:chat>", "who gets the answer, for instance telegram:42")
    .option("--silent", "run it and tell nobody")
    .addOption(
      new Option("--misfire <how>", "what is made up for when times were missed").choices(["skip", "once", "all"]),
    )
    .option("--grace <time>", "what was missed longer ago is skipped")
    .addOption(new Option("--overlap <how>", "when it is due while it still runs").choices(["skip", "wait"]))
    .option("--limit <time>", "a run that takes longer is stopped")
    .option("--retries <n>", "how often a failed run is tried again")
    .option("--stateless", "each run stands alone: nothing that was said before is shown")
    .action(async (_, self: Command) => {
      const { addJob } = await import("./cron-add.js");
      await addJob(self.optsWithGlobals(), terminal);
    });

  for (const [change, description] of [
    ["remove", "take a job away"],
    ["enable", "switch a job on again"],
    ["disable", "switch a job off and keep it"],
  ] as const) {
    command(`${change} <id>`, description).action(async (id: string, _, self: Command) => {
      const { changeJob } = await import("./cron-jobs.js");
      await changeJob(change, id, self.optsWithGlobals(), terminal);
    });
  }

  command("run <id>", "run a job now, whatever its schedule says").action(async (id: string, _, self: Command) => {
    const { runJob } = await import("./cron-runs.js");
    await runJob(id, self.optsWithGlobals(), terminal);
  });

  command("preview <what...>", "the next runs of a job or of an expression, with the change of the clocks marked")
    .option("--tz <zone>", "the time zone of the expression (default: from the configuration, else the machine's)")
    .option("-n, --runs <number>", "how many", "10")
    .action(async (what: readonly string[], _, self: Command) => {
      const { showPreview } = await import("./cron-preview.js");
      await showPreview(what.join(" "), self.optsWithGlobals(), terminal);
    });

  command("history [id]", "what became of each time a job was due, the newest first")
    .option("--limit <n>", "how many", "20")
    .action(async (id: string | undefined, _, self: Command) => {
      const { showHistory } = await import("./cron-runs.js");
      await showHistory(id, self.optsWithGlobals(), terminal);
    });
}
