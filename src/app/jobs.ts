/** The jobs of a home, for the agent's tool and for the clock. */
import type { Settings } from "../config/load.js";
import { createJobStore, type OpenJobStore } from "../cron/job-store.js";
import { policyFrom } from "../cron/policies.js";
import type { Log } from "../world.js";

/** `tell` gets each trouble that the owner should know of, once. */
export const openJobs = (
  { home, workspace, cron, agents }: Settings,
  log: Log,
  tell: (problem: string) => void = () => {},
): OpenJobStore => {
  const { timezone: zone } = agents.defaults;
  const defaults = policyFrom(cron);
  return createJobStore({ home, workspace, now: () => Date.now(), log, defaults, ...(zone !== "" && { zone }), tell });
};
