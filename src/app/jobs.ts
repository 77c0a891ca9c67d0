/** The jobs of a home, for the agent's tool and for the clock. */
import type { Settings } from "../config/load.js";
import { createJobStore, type OpenJobStore } from "../cron/job-store.js";
import { policyFrom } from "../cron/policies.js";
import type { Log } from "../world.js";

/** `tell` gets each trouble that the owner should know of, once. */
export const openJobs = (
  { home, workspace, cron }: Settings,
  log: Log,
  tell: (problem: string) => void = () => {},
): OpenJobStore => createJobStore({ home, workspace, now: () => Date.now(), log, defaults: policyFrom(cron), tell });
