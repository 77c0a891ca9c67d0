/** The commands around the daemon: set it up, run it, look at it. Each is loaded when it is called. */
import type { Command } from "commander";
import type { CommandParts } from "./terminal.js";

const jsonOption = ["--json", "print JSON for scripts"] as const;

export async function addGatewayCommands(
  program: Command,
  { terminal, end }: CommandParts,
  args: readonly string[],
): Promise<void> {
  program
    .command("gateway")
    .description("run the daemon: channels in, answers out")
    .action(async (_, self: Command) => {
      const { runGateway } = await import("./gateway.js");
      end(await runGateway(self, terminal));
    });

  const init = program
    .command("init")
    .description("set up model, channels and owner; every answer is also a flag")
    .option("--provider <name>", "whose model: anthropic, openai, openrouter, … or demo")
    .option("--api-key <key>", "its key")
    .option("--api-base <url>", "its address, where it is not the usual one")
    .option("--model <name>", "which model")
    .option("--skip-checks", "do not try keys and tokens")
    .option("-y, --yes", "ask nothing; what is not said stays as it is")
    .action(async (_, self: Command) => {
      const { init: run } = await import("./init.js");
      end(await run(self.optsWithGlobals(), terminal));
    });
  // Each channel has its flags; nobody else should wait until the channels are loaded.
  if (args.includes("init")) {
    const { addChannelFlags } = await import("./init-channels.js");
    addChannelFlags(init);
  }

  program
    .command("status")
    .description("what the running gateway is doing")
    .option(...jsonOption)
    .action(async (_, self: Command) => {
      const { showStatus } = await import("./status.js");
      await showStatus(self.optsWithGlobals(), terminal);
    });

  program
    .command("trace <message>")
    .description("the life of one message, by our id or the platform's")
    .option(...jsonOption)
    .action(async (id: string, _, self: Command) => {
      const { showTrace } = await import("./trace.js");
      await showTrace(id, self.optsWithGlobals(), terminal);
    });

  const list = async (_: unknown, self: Command): Promise<void> => {
    const { listLedger } = await import("./ledger.js");
    await listLedger(self.optsWithGlobals(), terminal);
  };
  const ledger = program
    .command("ledger")
    .description("messages that are open, failed or put aside")
    .option("--all", "finished ones too")
    .option("--limit <n>", "how many, the newest first", "50")
    .option(...jsonOption)
    .action(list);
  ledger.command("list").description("the same as without a word").action(list);
  for (const [change, description] of [
    ["retry", "try a failed message again"],
    ["discard", "drop a message for good"],
  ] as const) {
    ledger
      .command(`${change} <id>`)
      .description(description)
      .action(async (id: string, _, self: Command) => {
        const { changeLedger } = await import("./ledger.js");
        await changeLedger(change, id, self.optsWithGlobals(), terminal);
      });
  }

  program
    .command("doctor")
    .description("check everything a gateway needs, and say what to do")
    .option(...jsonOption)
    .action(async (_, self: Command) => {
      const { examine } = await import("./doctor.js");
      end(await examine(self.optsWithGlobals(), terminal));
    });

  program
    .command("selftest")
    .description("kill this very program again and again, between platforms of its own, and check the books")
    .option("--kills <n>", "how often; some two seconds each", "20")
    .option("--seed <n>", "the same seed is the same run", "1")
    .option("--point <name...>", 'only there, for instance "after store"')
    .option(...jsonOption)
    .action(async (_, self: Command) => {
      const { selftest } = await import("./selftest.js");
      end(await selftest(self.opts(), terminal));
    });
}
