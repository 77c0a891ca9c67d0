/** The jobs a command works on, beside a gateway that may be running. */
import { findHome } from "../config/home.js";
import { loadSettings, type Settings } from "../config/load.js";
import type { Job } from "../cron/job.js";
import { createJobStore, type OpenJobStore } from "../cron/job-store.js";
import { policyFrom } from "../cron/policies.js";
import { NotFound, type Terminal } from "./terminal.js";

export type CronOptions = { readonly home?: string; readonly json?: boolean };

export type OpenedJobs = {
  readonly jobs: OpenJobStore;
  readonly settings: Settings;
  /** The zone of the person in front of the screen; absent: the machine's. */
  readonly zone?: string;
};

/** Looking changes nothing, unless a damaged file has to be set aside. */
export async function withJobs<T>(
  options: CronOptions,
  terminal: Terminal,
  work: (opened: OpenedJobs) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(findHome(options.home, process.env), process.env);
  const { timezone } = settings.agents.defaults;
  const zone = timezone === "" ? {} : { zone: timezone };
  const jobs = createJobStore({
    home: settings.home,
    workspace: settings.workspace,
    now: () => Date.now(),
    log: { warn: (message) => terminal.err(`nanogate: ${message}\n`) },
    defaults: policyFrom(settings.cron),
    ...zone,
  });
  try {
    return await work({ jobs, settings, ...zone });
  } finally {
    jobs.close();
  }
}

export async function existingJob(jobs: OpenJobStore, id: string): Promise<Job> {
  const found = (await jobs.list()).find((job) => job.id === id);
  return found ?? unknownJob(id);
}

export function unknownJob(id: string): never {
  throw new NotFound(`There is no job ${JSON.stringify(id)}.`, "`nanogate cron list` shows all of them.");
}
