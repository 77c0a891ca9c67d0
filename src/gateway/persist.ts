/** Writes that must not be given up: on a full or failing disk they are tried again, ever more slowly, until they work. */
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";

export type Persist = <T>(what: string, write: () => Promise<T>) => Promise<T>;

export type PersistParts = {
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** The process ends: what could not be written by then is left for the next one. */
  readonly ending: AbortSignal;
  /** What cannot be written right now and why, for the owner to see. */
  readonly unwritten?: Map<string, string>;
};

const firstWaitMs = 500;
const longestWaitMs = 30_000;

export function createPersist({ sleep, log, ending, unwritten }: PersistParts): Persist {
  return async (what, write) => {
    for (let tries = 0; ; tries++) {
      try {
        const result = await write();
        if (tries > 0) unwritten?.delete(what);
        return result;
      } catch (error) {
        if (ending.aborted) throw error;
        unwritten?.set(what, reasonOf(error));
        log.warn(`${what} could not be written down, trying again: ${reasonOf(error)}`, { error });
        await sleep(Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(tries, 10)), ending).catch(() => {
          throw error;
        });
      }
    }
  };
}
