/** The real claude command does what the stub does. */
import { inject, onTestFinished } from "vitest";
import { describeClaude } from "../backends/claude-command.contract.js";
import { openRealClaude } from "./real-claude.js";

const claude = inject("claude");

if ("missing" in claude) {
  const { it } = await import("vitest");
  it.skip(`there is no claude command: ${claude.missing}`, () => {});
} else {
  const [major = 0, minor = 0, patch = 0] = claude.version.split(".").map(Number);
  describeClaude(`the real one, ${claude.version}`, {
    isLatest: major > 2 || (major === 2 && (minor > 1 || patch >= 300)),
    keepsIds: major > 1 || patch >= 128,
    open: async () => {
      const house = await openRealClaude(claude.command);
      onTestFinished(house.close);
      return { ...house, prompts: () => house.asked().map(({ prompts }) => prompts) };
    },
  });
}
