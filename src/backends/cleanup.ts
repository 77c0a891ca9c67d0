/** Removes the conversations that nobody goes on with: rows of our own table, and what their backend keeps under that id. */
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Backend } from "./backend.js";
import type { Handles } from "./handles.js";

export type CleanupParts = {
  readonly handles: Handles;
  readonly backends: readonly Backend[];
  readonly maxAgeMs: number;
  readonly log: Log;
};

/** How many there were. What cannot be removed is said, and not tried for ever. */
export async function cleanUp({ handles, backends, maxAgeMs, log }: CleanupParts): Promise<number> {
  const old = await handles.old(maxAgeMs);
  for (const id of old) {
    // Whoever cannot have made it does not look for it: an id is a path, or part of an address.
    for (const backend of backends.filter((one) => one.isHandle(id))) {
      await backend.forget(id).catch((error: unknown) => {
        log.warn(`${backend.name}: the old conversation ${id} could not be removed: ${reasonOf(error)}`);
      });
    }
    await handles.expire(id);
  }
  return old.length;
}

const everyMs = 3_600_000;

/** Cleans up on occasion, at most once an hour, in the background. */
export function createCleaner(parts: CleanupParts) {
  let last = Number.NEGATIVE_INFINITY;
  let running: Promise<unknown> = Promise.resolve();
  return {
    tidy(): void {
      if (performance.now() - last < everyMs) return;
      last = performance.now();
      running = cleanUp(parts).catch((error: unknown) => {
        parts.log.warn(`old conversations of backends could not be cleaned up: ${reasonOf(error)}`);
      });
    },
    idle: async (): Promise<void> => void (await running),
  };
}
