/**
 * What makes the clock tick: node-cron, once a second. Each tick is a task of its own, for one date: a task for every
 * second would walk through all the seconds of a night's sleep or of a clock put right (0.14 ms each, and nothing else
 * happens meanwhile), and after a clock was put back it would wait until that time has come again.
 */
import type { Logger, ScheduledTask } from "node-cron";

/** Calls `tick` about once a second until the signal aborts; the next one only when the last is done. */
export type Ticks = (tick: () => Promise<void>, signal: AbortSignal) => Promise<void>;

/** By a timer that no clock can move: after so long without a tick, the clock has been put back. */
const patienceMs = 2500;

const silent: Logger = { info() {}, warn() {}, error() {}, debug() {} };

export const nodeCronTicks: Ticks = async (tick, signal) => {
  const { createTask } = await import("node-cron");
  while (!signal.aborted) {
    await nextSecond(createTask, signal);
    if (!signal.aborted) await tick();
  }
};

function nextSecond(
  createTask: (expression: string, work: () => void, options: object) => ScheduledTask,
  signal: AbortSignal,
): Promise<void> {
  return new Promise<void>((resolve) => {
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 + 1000);
    const date = [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, "*"];
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      void task.destroy();
      resolve();
    };
    const timer = setTimeout(done, patienceMs);
    const task = createTask(date.join(" "), done, {
      timezone: "UTC",
      noOverlap: true,
      logger: silent,
      missedExecutionTolerance: Number.MAX_SAFE_INTEGER,
      suppressMissedWarning: true,
    });
    signal.addEventListener("abort", done, { once: true });
    void task.start();
  });
}
