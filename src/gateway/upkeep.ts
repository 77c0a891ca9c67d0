/** Looks after the ledger while the gateway runs: nothing stays open unseen, nothing old stays for ever. */
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Gateway } from "./gateway.js";
import type { Ledger } from "./ledger.js";

export type UpkeepParts = {
  readonly ledger: Pick<Ledger, "upkeep" | "reports">;
  readonly gateway: Pick<Gateway, "resume">;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** Removes what was kept for messages older than this. */
  readonly forgetFiles?: (before: number) => Promise<void>;
};

/** What the owner does with `nanogate ledger` is seen so soon. */
const lookEveryMs = 2000;
const resumeEveryMs = 60_000;
const sweepEveryMs = 3_600_000;
const keepMs = 30 * 24 * 3_600_000;
/** Longer than any turn takes: the owner should know. */
const longOpenMs = 3_600_000;

export function createUpkeep({ ledger, gateway, now, sleep, log, forgetFiles }: UpkeepParts) {
  const sweep = async (signal: AbortSignal): Promise<void> => {
    const before = now() - keepMs;
    while (!signal.aborted && (await ledger.upkeep.sweep(before)) > 0) await sleep(10, signal).catch(() => {});
    await forgetFiles?.(before);
    const { open, oldestOpenAt } = await ledger.reports.summary();
    if (oldestOpenAt !== undefined && now() - oldestOpenAt > longOpenMs) {
      log.warn(`${open} message(s) have no outcome yet, the oldest for over an hour: see \`nanogate ledger\`.`);
    }
  };

  return {
    /** Until the signal aborts. A ledger that cannot be read at the moment is read later. */
    async run(signal: AbortSignal): Promise<void> {
      let sinceResume = 0;
      let sinceSweep = sweepEveryMs;
      while (!signal.aborted) {
        try {
          const touched = await ledger.upkeep.touched();
          if (touched || sinceResume >= resumeEveryMs) {
            sinceResume = 0;
            await gateway.resume();
          }
          if (sinceSweep >= sweepEveryMs) {
            sinceSweep = 0;
            await sweep(signal);
          }
        } catch (error) {
          log.warn(`The ledger could not be looked after: ${reasonOf(error)}`);
        }
        await sleep(lookEveryMs, signal).catch(() => {});
        sinceResume += lookEveryMs;
        sinceSweep += lookEveryMs;
      }
    },
  };
}
