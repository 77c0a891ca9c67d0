/** `nanogate cron add`: what was typed, checked and turned into a job. */
import { parseLocalTime } from "../agent/tools/local-time.js";
import { localDoors } from "../app/local-channel.js";
import { makeHome } from "../config/home.js";
import { isTree } from "../config/json-file.js";
import type { Settings } from "../config/load.js";
import { asSentence, checkSchedule, checkZone } from "../cron/check-schedule.js";
import type { Policy, Schedule } from "../cron/job.js";
import { nextRun } from "../cron/next-run.js";
import { moment, readDuration, scheduleInWords } from "../cron/words.js";
import type { Address } from "../message.js";
import { firstCharacters } from "../session/turn-rows.js";
import { type CronOptions, withJobs } from "./open-jobs.js";
import { spelledOut } from "./printable.js";
import { type Terminal, WrongUse } from "./terminal.js";

export type AddOptions = CronOptions & {
  readonly every?: string;
  readonly cron?: string;
  readonly at?: string;
  readonly tz?: string;
  readonly message: string;
  readonly name?: string;
  readonly to?: string;
  readonly silent?: boolean;
  readonly misfire?: Policy["misfire"];
  readonly grace?: string;
  readonly overlap?: Policy["overlap"];
  readonly limit?: string;
  readonly retries?: string;
  readonly stateless?: true;
};

const nameChars = 30;
const shortestMs = 1000;

export async function addJob(options: AddOptions, terminal: Terminal): Promise<void> {
  await withJobs(options, terminal, async ({ jobs, settings, zone }) => {
    const message = options.message.trim();
    if (message === "") throw new WrongUse("--message is empty.", 'For instance --message "what is new?".');
    const schedule = scheduleFrom(options, zone);
    const to = targetFrom(options);
    makeHome(settings.home);
    const job = await jobs.add({
      name: options.name?.trim() || firstCharacters(message, nameChars),
      message,
      schedule,
      deleteAfterRun: schedule.kind === "at",
      policy: policyIn(options),
      ...(to && { to }),
    });
    if (to && !isOpen(settings, to.channel)) {
      terminal.err(
        `nanogate: There is no channel ${to.channel} in the configuration, so its answers cannot be sent yet.\n`,
      );
    }
    if (options.json) return terminal.out(JSON.stringify(job));
    const next = schedule.kind === "at" ? undefined : job.nextRunAtMs;
    const then = next === undefined ? "" : `; next run ${moment(next, zoneOf(schedule) ?? zone)}`;
    terminal.out(`Job ${job.id} (${spelledOut(job.name)}) is planned: ${scheduleInWords(schedule, zone)}${then}.`);
  });
}

const zoneOf = (schedule: Schedule): string | undefined => (schedule.kind === "cron" ? schedule.tz : undefined);

function scheduleFrom({ every, cron, at, tz }: AddOptions, configured: string | undefined): Schedule {
  if ([every, cron, at].filter((given) => given !== undefined).length !== 1) {
    throw new WrongUse(
      "A job needs one of --every, --cron and --at.",
      'For instance --every 2h, or --cron "0 9 * * 1-5".',
    );
  }
  const zone = tz ?? configured;
  const where = zone === undefined ? {} : { tz: zone };
  if (cron !== undefined) return checked({ kind: "cron", expr: cron.trim(), ...where });
  if (at !== undefined) {
    const problem = zone === undefined ? undefined : checkZone(zone);
    if (problem !== undefined) throw new WrongUse(asSentence(problem), "For instance --tz Europe/Berlin.");
    const atMs = parseLocalTime(at, zone);
    if (atMs === undefined)
      throw new WrongUse(`--at ${JSON.stringify(at)} is no time.`, "For instance --at 2026-12-24T18:00.");
    return checked({ kind: "at", atMs });
  }
  if (tz !== undefined) throw new WrongUse("--tz goes with --cron or --at.", "An interval is the same in every zone.");
  return checked({ kind: "every", everyMs: durationIn("--every", every ?? "", shortestMs) });
}

function checked(schedule: Schedule): Schedule {
  const problem = checkSchedule(schedule);
  if (problem !== undefined) {
    throw new WrongUse(
      asSentence(schedule.kind === "cron" ? `${JSON.stringify(schedule.expr)}: ${problem}` : problem),
      "`nanogate cron preview` shows when an expression comes.",
    );
  }
  if (nextRun(schedule, Date.now()) === undefined) {
    throw new WrongUse("That time is over, so it would never run.", "Choose a time that lies ahead.");
  }
  return schedule;
}

function durationIn(option: string, text: string, least: number): number {
  const ms = readDuration(text);
  if (ms !== undefined && ms >= least) return ms;
  const why = ms === undefined ? "is no length of time" : "is too short";
  throw new WrongUse(`${option} ${JSON.stringify(text)} ${why}.`, `For instance ${option} 90s, 15m, 2h or 1d.`);
}

function targetFrom({ to, silent }: AddOptions): Address | undefined {
  if (silent && to !== undefined) throw new WrongUse("--silent tells nobody, and --to somebody.", "Use one of them.");
  if (silent) return undefined;
  const [, channel, chat] = /^([^:]+):(.+)$/.exec(to?.trim() ?? "") ?? [];
  if (channel !== undefined && chat !== undefined) return { channel, chat };
  if (to === undefined) throw new WrongUse("Who gets the answer?", "Say --to telegram:42, or --silent if nobody.");
  throw new WrongUse(`--to ${JSON.stringify(to)} is no chat.`, "Write the channel and the chat: --to telegram:42.");
}

/** The gateway's own doors need no configuration. */
function isOpen({ channels }: Settings, name: string): boolean {
  const channel = channels[name];
  return localDoors.some((door) => door === name) || (isTree(channel) && channel["enabled"] === true);
}

const policyIn = ({ misfire, grace, overlap, limit, retries, stateless }: AddOptions): Partial<Policy> => ({
  ...(misfire && { misfire }),
  ...(grace !== undefined && { graceMs: durationIn("--grace", grace, 0) }),
  ...(overlap && { overlap }),
  ...(limit !== undefined && { limitMs: durationIn("--limit", limit, shortestMs) }),
  ...(retries !== undefined && { retries: count("--retries", retries) }),
  ...(stateless && { stateless }),
});

function count(option: string, text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new WrongUse(`${option} must be a number, not ${JSON.stringify(text)}.`, `For instance ${option} 2.`);
}
