/** One thing at a time per key, keys side by side. A key nobody is using leaves nothing behind. */
import { Mutex } from "async-mutex";

export type KeyedMutex = {
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  isBusy(key: string): boolean;
  /** Resolves when everything that is running or waiting now is done. */
  idle(): Promise<void>;
};

export function createKeyedMutex(): KeyedMutex {
  const mutexes = new Map<string, Mutex>();
  return {
    async run(key, work) {
      const mutex = mutexes.get(key) ?? new Mutex();
      mutexes.set(key, mutex);
      try {
        return await mutex.runExclusive(work);
      } finally {
        if (!mutex.isLocked() && mutexes.get(key) === mutex) mutexes.delete(key);
      }
    },
    isBusy: (key) => mutexes.has(key),
    async idle() {
      await Promise.all([...mutexes.values()].map((mutex) => mutex.waitForUnlock()));
    },
  };
}
