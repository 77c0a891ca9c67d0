/** One lane per session: the same session in order, sessions side by side, not more than so many at a time. */
import { Semaphore } from "async-mutex";
import type { SessionKey } from "../message.js";

export type LanesParts = {
  /** How many sessions may be at work at the same time. */
  readonly limit: number;
};

/** Waits for something that is not work, and lets another session work meanwhile. */
export type Aside = <T>(wait: () => Promise<T>) => Promise<T>;

export type Lanes = {
  /** Queues the work. It gets a signal that `stop` aborts. */
  run(key: SessionKey, work: (signal: AbortSignal, aside: Aside) => Promise<void>): Promise<void>;
  /** How many are waiting or at work in a lane. */
  depth(key: SessionKey): number;
  /** Aborts what is running and waiting in a lane; how many there were. */
  stop(key: SessionKey): number;
  /** Aborts everything, for `reason`. */
  stopAll(reason: unknown): void;
  /** Lanes in use, and how much is in them. */
  load(): { readonly lanes: number; readonly queued: number };
  idle(): Promise<void>;
};

type Lane = { tail: Promise<void>; readonly aborts: Set<AbortController> };

export function createLanes({ limit }: LanesParts): Lanes {
  const lanes = new Map<SessionKey, Lane>();
  const places = new Semaphore(limit);

  const inPlace = async (work: (aside: Aside) => Promise<void>): Promise<void> => {
    let [, leave] = await places.acquire();
    try {
      await work(async (wait) => {
        leave();
        try {
          return await wait();
        } finally {
          [, leave] = await places.acquire();
        }
      });
    } finally {
      leave();
    }
  };

  return {
    run(key, work) {
      const lane: Lane = lanes.get(key) ?? { tail: Promise.resolve(), aborts: new Set() };
      lanes.set(key, lane);
      const abort = new AbortController();
      lane.aborts.add(abort);
      const result = lane.tail.then(() => inPlace((aside) => work(abort.signal, aside)));
      // A failed turn must not jam the lane behind it; an empty lane leaves nothing behind.
      const tail = result
        .catch(() => {})
        .finally(() => {
          lane.aborts.delete(abort);
          if (lane.aborts.size === 0 && lanes.get(key) === lane) lanes.delete(key);
        });
      lane.tail = tail;
      return result;
    },
    depth: (key) => lanes.get(key)?.aborts.size ?? 0,
    stop(key) {
      const aborts = [...(lanes.get(key)?.aborts ?? [])].filter(({ signal }) => !signal.aborted);
      for (const abort of aborts) abort.abort(new Stopped());
      return aborts.length;
    },
    stopAll(reason) {
      for (const { aborts } of lanes.values()) for (const abort of aborts) abort.abort(reason);
    },
    load: () => ({ lanes: lanes.size, queued: [...lanes.values()].reduce((sum, { aborts }) => sum + aborts.size, 0) }),
    async idle() {
      while (lanes.size > 0) await Promise.all([...lanes.values()].map(({ tail }) => tail));
    },
  };
}

/** Somebody in the chat said /stop. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  constructor() {
    super("stopped");
  }
}
