/** The stub tells the truth about the claude command, as far as we know it. */
import { openClaude } from "../support/claude-house.js";
import { thorough } from "../support/thorough.js";
import { describeClaude } from "./claude-command.contract.js";

for (const version of ["2.1.325", ...(thorough ? ["2.1.34", "1.0.37"] : [])]) {
  describeClaude(`the stub of ${version}`, {
    isLatest: version === "2.1.325",
    keepsIds: version !== "1.0.37",
    open: async () => {
      const house = openClaude({ version });
      const prompts = () =>
        house.calls().map(({ context }) => context.flatMap(({ role, text }) => (role === "user" ? [text] : [])));
      return { ...house, prompts };
    },
  });
}
