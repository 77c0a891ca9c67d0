/** Time that passes when a test says so: whoever sleeps wakes in the right order. */

export type HandTime = {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  pass(ms: number): Promise<void>;
  /** The clock is set; nobody wakes. */
  set(now: number): void;
  /** How many are asleep. */
  sleepers(): number;
};

export function handTime(start = Date.UTC(2026, 0, 1)): HandTime {
  let now = start;
  // Timers run by the time that has passed, whatever the clock says.
  let passed = 0;
  const asleep = new Set<{ readonly until: number; readonly wake: () => void }>();
  const breathe = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
  };
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          asleep.delete(sleeper);
          reject(signal.reason as Error);
        };
        const sleeper = {
          until: passed + ms,
          wake: (): void => {
            signal.removeEventListener("abort", stop);
            resolve();
          },
        };
        if (signal.aborted) return reject(signal.reason as Error);
        signal.addEventListener("abort", stop, { once: true });
        asleep.add(sleeper);
      }),
    async pass(ms) {
      const end = passed + ms;
      await breathe();
      for (;;) {
        const next = [...asleep].sort((a, b) => a.until - b.until)[0];
        if (!next || next.until > end) break;
        now += next.until - passed;
        passed = next.until;
        asleep.delete(next);
        next.wake();
        await breathe();
      }
      now += end - passed;
      passed = end;
    },
    set: (next) => {
      now = next;
    },
    sleepers: () => asleep.size,
  };
}
