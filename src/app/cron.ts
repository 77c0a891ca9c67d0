/** Puts the clock together: jobs and the heartbeat, the book in the ledger, and the gateway that runs them. */
import { join } from "node:path";
import type { App } from "../app.js";
import type { Settings } from "../config/load.js";
import { createHeartbeatStart, heartbeatId, heartbeatJob } from "../cron/heartbeat.js";
import type { Job, JobStore } from "../cron/job.js";
import { createMachineZone } from "../cron/machine-zone.js";
import type { RunsParts } from "../cron/runs.js";
import { createScheduler } from "../cron/scheduler.js";
import { nobody } from "../cron/task.js";
import { nodeCronTicks, type Ticks } from "../cron/ticks.js";
import { moment } from "../cron/words.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Ledger } from "../gateway/ledger.js";
import type { Live } from "../gateway/live.js";
import { type Address, keyOf } from "../message.js";
import { readActiveHours } from "../util/active-hours.js";
import { reasonOf } from "../util/errors.js";
import type { World } from "../world.js";
import { createTaskRunner } from "./task-runner.js";
import { createToldOnce } from "./told-once.js";

export type CronParts = {
  readonly settings: Settings;
  readonly world: Pick<World, "env" | "log" | "sleep">;
  readonly ledger: Pick<Ledger, "inbox" | "occurrences">;
  readonly gateway: Pick<Gateway, "acceptOwn">;
  readonly live: Pick<Live, "watch">;
  readonly jobs: Pick<JobStore, "list" | "ran">;
  readonly app: Pick<App, "sessions" | "ownersFile" | "askHeartbeat">;
  /** The platforms that are switched on. */
  readonly channels: readonly string[];
  readonly say: (to: Address, text: string) => Promise<void>;
  readonly now: () => number;
  readonly reach: (point: string) => void;
  readonly ticks?: Ticks;
};

/** So many turns are left for people. */
const placesForPeople = 2;

export function createCron(parts: CronParts) {
  const { settings, world, ledger, gateway, jobs, app, channels, say, now, reach } = parts;
  const { log, sleep } = world;
  const { heartbeat, maxConcurrentTurns } = settings.gateway;
  const machineZone = createMachineZone({ env: world.env, now });
  const zone = (): string => settings.agents.defaults.timezone || machineZone();
  const isTold = createToldOnce(join(settings.home, "state", "cron-told.json"));

  const accept: (typeof gateway)["acceptOwn"] = async (message) => {
    reach("before cron accept");
    const accepted = await gateway.acceptOwn(message);
    reach("after cron accept");
    return accepted;
  };

  /** Where somebody really wrote last; of a home that has no ledger yet, the conversation that changed last. */
  const lastChat = async (): Promise<Address | undefined> =>
    (await ledger.inbox.lastChat(channels)) ?? newestChat(await app.sessions.list(), channels);

  const hours = readActiveHours(heartbeat.activeHours);
  const beat = { everyMs: heartbeat.intervalS * 1000, limitMs: Math.round(settings.cron.limitMinutes * 60_000) };
  const startHeartbeat = createHeartbeatStart({
    ...beat,
    ...(hours && { hours }),
    zone: () => heartbeat.timezone || zone(),
    read: () => app.ownersFile("HEARTBEAT.md"),
    ask: (text, signal) => app.askHeartbeat(text, signal),
    target: async () => (await lastChat()) ?? nobody,
    accept: async (message) => void (await accept(message)),
    now,
  });
  const own: readonly Job[] = heartbeat.enabled ? [heartbeatJob(beat)] : [];

  /** The same list as long as nothing has changed, like the one it is made from. */
  let listed: { readonly from: readonly Job[]; readonly all: readonly Job[] } | undefined;
  const list = async (): Promise<readonly Job[]> => {
    const from = await jobs.list();
    if (listed?.from !== from) listed = { from, all: [...from, ...own] };
    return listed.all;
  };

  const tell: RunsParts["tell"] = async ({ job: id, name, dueAt, how }, job, ending) => {
    if (ending.kind === "failed") log.warn(`Job ${id} (${name}) failed: ${ending.reason}`);
    if (!job?.to) return;
    if (ending.kind === "failed") {
      await say(job.to, `The scheduled task '${name}' failed. \`nanogate cron history ${id}\` says why.`);
    } else if (ending.kind === "skipped" && job.schedule.kind === "at" && how === "scheduled") {
      const due = moment(dueAt, zone());
      await say(job.to, `The scheduled task '${name}' was due at ${due} and did not run: I was not there in time.`);
    }
  };

  const scheduler = createScheduler({
    jobs: { list, ran: async (id, ...about) => (id === heartbeatId ? undefined : jobs.ran(id, ...about)) },
    book: ledger.occurrences,
    runner: createTaskRunner({
      inbox: ledger.inbox,
      live: parts.live,
      accept,
      starts: { [heartbeatId]: startHeartbeat },
      zone,
      now,
      sleep,
    }),
    now,
    zone,
    log,
    atOnce: Math.max(1, maxConcurrentTurns - placesForPeople),
    tell,
  });

  return {
    zone,
    /** There may be something new. */
    wake: (): void => void scheduler.tick(),
    /** Something is wrong with the list of jobs: said in the chat that was used last, once. */
    async tellOwner(problem: string): Promise<void> {
      try {
        const to = await lastChat();
        // Whole paths are nobody's business in a chat.
        if (to && (await isTold(problem))) await say(to, problem.replaceAll(/(?:\/[^\s/]+)+\//g, ""));
      } catch (error) {
        log.warn(`The owner could not be told about the jobs: ${reasonOf(error)}`);
      }
    },
    run: (signal: AbortSignal): Promise<void> => scheduler.run(parts.ticks ?? nodeCronTicks, signal),
  };
}

type Summary = { readonly key: string; readonly updatedAt: string | undefined };

/** A topic or a thread is part of the chat: everything after the first colon. */
export function newestChat(sessions: readonly Summary[], channels: readonly string[]): Address | undefined {
  const chats = sessions.flatMap(({ key, updatedAt = "" }) => {
    const [, channel = "", chat = ""] = /^([^:]+):(.+)$/s.exec(key) ?? [];
    return channels.includes(channel) ? [{ to: { channel, chat }, updatedAt }] : [];
  });
  const newest = chats.sort((a, b) => b.updatedAt.localeCompare(a.updatedAt) || keyOf(a.to).localeCompare(keyOf(b.to)));
  return newest[0]?.to;
}
