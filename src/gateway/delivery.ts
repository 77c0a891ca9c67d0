/** Sends what the outbox holds: in order within a chat, paced, tried again for hours if need be, and never unseen. */
import type { Channel, Sending } from "../channels/channel.js";
import { SendFailure } from "../channels/channel.js";
import type { Address } from "../message.js";
import { keyOf } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Outbox, Part } from "./ledger.js";

export type DeliveryParts = {
  readonly outbox: Outbox;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  readonly reach: (point: string) => void;
};

export type Delivery = {
  /** There is something for this chat. */
  wake(to: Address): void;
  /** Everything that waits, after a start. */
  wakeAll(): Promise<void>;
  /** Resolves when nothing is being sent; what has to wait for its time is left. */
  idle(): Promise<void>;
  stop(): void;
};

const firstWaitMs = 1000;
const longestWaitMs = 5 * 60_000;
/** A message that cannot be sent for a day is not worth sending. */
const giveUpMs = 24 * 3_600_000;

export function createDelivery({ outbox, channels, now, sleep, log, reach }: DeliveryParts): Delivery {
  const workers = new Map<string, Promise<void>>();
  /** Workers that sleep until a message may be tried again. */
  const waiting = new Map<string, AbortController>();
  const stopped = new AbortController();

  const deliver = async (to: Address): Promise<void> => {
    for (;;) {
      const part = await outbox.next(to.channel, to.chat);
      if (!part || stopped.signal.aborted) return;
      const wait = part.nextAt - now();
      if (wait > 0) {
        await pause(keyOf(to), wait);
        continue;
      }
      await sendOne(part);
    }
  };

  /** Until it is time, or until somebody has news for this chat. */
  const pause = async (key: string, ms: number): Promise<void> => {
    const woken = new AbortController();
    waiting.set(key, woken);
    await sleep(ms, AbortSignal.any([woken.signal, stopped.signal])).catch(() => {});
    waiting.delete(key);
  };

  const sendOne = async (part: Part): Promise<void> => {
    const channel = channels.get(part.message.to.channel);
    if (!channel)
      return outbox.change(part, { kind: "never", reason: `no channel ${part.message.to.channel} is running` });
    // The intent is on disk before the effect: whoever finds it there after a crash knows that it may have arrived.
    await outbox.change(part, { kind: "sending" });
    const sending: Sending = { ...part.message, intent: String(part.id), mayRepeat: part.mayRepeat };
    try {
      reach("before send");
      const { id } = await channel.send(sending, stopped.signal);
      reach("after send");
      await outbox.change(part, { kind: "sent", receipt: id });
    } catch (error) {
      if (stopped.signal.aborted) return;
      await outbox.change(part, afterFailure(part, error));
      log.warn(`${keyOf(part.message.to)}: message ${part.id} was not sent: ${reasonOf(error)}`);
    }
  };

  const afterFailure = (part: Part, error: unknown) => {
    const reason = reasonOf(error);
    if (error instanceof SendFailure && error.when === "never") return { kind: "never", reason } as const;
    const asked = error instanceof SendFailure ? error.afterMs : undefined;
    const wait = asked ?? Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(part.attempts, 12));
    if (now() + wait - part.createdAt > giveUpMs)
      return { kind: "never", reason: `given up after a day: ${reason}` } as const;
    return {
      kind: "later",
      at: now() + wait,
      reason,
      mayRepeat: part.mayRepeat || !(error instanceof SendFailure),
    } as const;
  };

  const wake = (to: Address): void => {
    const key = keyOf(to);
    if (stopped.signal.aborted || workers.has(key)) return;
    const worker = deliver(to)
      .catch((error: unknown) => log.warn(`${key}: delivery stopped: ${reasonOf(error)}`))
      .finally(async () => {
        workers.delete(key);
        // Something may have come between the last look and now.
        if (!stopped.signal.aborted && (await outbox.next(to.channel, to.chat).catch(() => undefined))) wake(to);
      });
    workers.set(key, worker);
  };

  return {
    wake,
    async wakeAll() {
      for (const to of await outbox.waiting()) wake(to);
    },
    async idle() {
      const busy = (): Promise<void>[] => [...workers].flatMap(([key, worker]) => (waiting.has(key) ? [] : [worker]));
      while (busy().length > 0) await Promise.race([Promise.all(busy()), new Promise((done) => setTimeout(done, 20))]);
    },
    stop: () => stopped.abort(),
  };
}
