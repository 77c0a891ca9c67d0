/** Has jobs run by the gateway, as messages like any other, and learns from the ledger what came of them. */
import type { Job } from "../cron/job.js";
import { type OpenOccurrence, runIdOf } from "../cron/occurrences.js";
import type { RunEnd, Runner } from "../cron/runs.js";
import { taskOf } from "../cron/task.js";
import type { Inbox, Outcome } from "../gateway/ledger.js";
import type { Live } from "../gateway/live.js";
import type { Inbound } from "../message.js";

export type TaskRunnerParts = {
  readonly inbox: Pick<Inbox, "endOf">;
  readonly live: Pick<Live, "watch">;
  readonly accept: (message: Inbound) => Promise<unknown>;
  /** Jobs that are begun in a way of their own. */
  readonly starts: Readonly<Record<string, Runner["start"]>>;
  readonly zone: () => string;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** What ends a turn otherwise, such as the owner's `ledger discard`, is noticed so soon. */
const lookEveryMs = 5000;

export function createTaskRunner(parts: TaskRunnerParts): Runner {
  const { inbox, accept, starts, zone, now, sleep } = parts;
  const waiting = new Map<string, AbortController>();
  parts.live.watch({
    news: ({ id, event }) => {
      if (event.kind === "finished") waiting.get(id)?.abort();
    },
  });

  const startTask = async (occurrence: OpenOccurrence, job: Job): Promise<undefined> => {
    await accept(taskOf(occurrence, job, now(), zone()));
    return undefined;
  };

  return {
    begun: async (occurrence) => (await inbox.endOf(runIdOf(occurrence))) !== undefined,

    start: (occurrence, job, signal) => (starts[job.id] ?? startTask)(occurrence, job, signal),

    async ended(occurrence, signal) {
      const id = runIdOf(occurrence);
      try {
        for (;;) {
          const news = new AbortController();
          waiting.set(id, news);
          const end = await inbox.endOf(id);
          if (end === undefined) throw new Error("nobody knows of it");
          if (end !== "open") return endOf(end);
          await sleep(lookEveryMs, AbortSignal.any([signal, news.signal])).catch(() => {});
          signal.throwIfAborted();
        }
      } finally {
        waiting.delete(id);
      }
    },
  };
}

function endOf(end: Outcome | "forgotten"): RunEnd {
  if (end === "forgotten" || end.kind === "answered" || end.kind === "silent") return { kind: "ok" };
  // What has brought the process down three times would do so again.
  return { kind: "error", reason: end.reason ?? end.kind, again: end.kind === "failed" };
}
