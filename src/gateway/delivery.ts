/** Sends what the outbox holds: in order within a chat, paced, tried again for hours if need be, and never unseen. */
import { setMaxListeners } from "node:events";
import { Semaphore } from "async-mutex";
import type { Channel, Receipt, Sending } from "../channels/channel.js";
import { SendFailure } from "../channels/channel.js";
import type { Address, Outbound } from "../message.js";
import { keyOf } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Outbox, Part, PartChange } from "./ledger.js";
import { createPersist, type PersistParts } from "./persist.js";

export type DeliveryParts = Omit<PersistParts, "ending"> & {
  readonly outbox: Outbox;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly now: () => number;
  readonly reach: (point: string) => void;
  /** Told what has arrived: nobody needs it any more. */
  readonly arrived?: (message: Outbound) => Promise<void>;
};

export type Delivery = {
  /** There is something for this chat. */
  wake(to: Address): void;
  /** Everything that waits: after a start, or when somebody else has changed the outbox. */
  wakeAll(): Promise<void>;
  /** Resolves when everything a chat can be told now has been told. */
  settled(to: Address): Promise<void>;
  /** Resolves when nothing is being sent; what has to wait for its time is left. */
  idle(): Promise<void>;
  stop(): void;
};

const firstWaitMs = 1000;
/** Short enough that after an outage nobody waits long, not even behind a try that hangs. */
const longestWaitMs = 20_000;
/** A message that cannot be sent for a day is not worth sending. A day of trying, whatever the clock says meanwhile. */
const giveUpMs = 24 * 3_600_000;
/** No try takes longer: then it is the clock that was put forward. */
const longestTryMs = 600_000;

/** In the place of an earlier message, if that is still there; else as a new one. */
async function put(channel: Channel, sending: Sending, signal: AbortSignal): Promise<Receipt> {
  if (sending.kind === "text" && sending.replaces !== undefined && channel.edit) {
    try {
      const receipt = { id: sending.replaces };
      await channel.edit(sending.to, receipt, sending.text, signal);
      return receipt;
    } catch (error) {
      if (!(error instanceof SendFailure && error.when === "never")) throw error;
    }
  }
  return channel.send(sending, signal);
}

export function createDelivery(parts: DeliveryParts): Delivery {
  const { outbox, channels, now, sleep, log, reach } = parts;
  const workers = new Map<string, Promise<void>>();
  /** Workers that sleep until a message may be tried again; news for the chat wakes them. */
  const waiting = new Map<string, AbortController>();
  /** Workers that keep the platform's pace; nothing wakes them before. */
  const resting = new Set<string>();
  /** By channel, the places of one second. */
  const gates = new Map<string, Semaphore>();
  const stopped = new AbortController();
  // Every chat that something is sent to listens.
  setMaxListeners(0, stopped.signal);
  const persist = createPersist({ ...parts, ending: stopped.signal });

  const deliver = async (to: Address): Promise<void> => {
    let rested: number | undefined;
    for (;;) {
      const part = await outbox.next(to.channel, to.chat);
      if (!part || stopped.signal.aborted) return;
      // A clock that was put back must not make it wait longer than was decided, nor twice.
      const wait = rested === part.id ? 0 : Math.min(part.nextAt - now(), part.waitMs);
      if (wait > 0) {
        if (await pause(keyOf(to), wait)) rested = part.id;
        continue;
      }
      rested = undefined;
      const { pace } = channels.get(to.channel) ?? {};
      if (pace) await rest(keyOf(to), untilItsTurn(to.channel, pace.perSecond));
      if (stopped.signal.aborted) return;
      await sendOne(part);
      // Before the next look, so that whatever comes next for this chat keeps the distance too.
      if (pace) await rest(keyOf(to), sleep(pace.perChatMs, stopped.signal));
    }
  };

  /** Until it is time, or until somebody has news for this chat. True if it was time. */
  const pause = async (key: string, ms: number): Promise<boolean> => {
    const woken = new AbortController();
    waiting.set(key, woken);
    try {
      await sleep(ms, woken.signal);
      return true;
    } catch {
      return false;
    } finally {
      waiting.delete(key);
    }
  };

  const rest = async (key: string, over: Promise<void>): Promise<void> => {
    resting.add(key);
    await over.catch(() => {});
    resting.delete(key);
  };

  /** Resolves when one more message may leave: so many in any one second, and the rest in turn. */
  const untilItsTurn = async (channel: string, perSecond: number): Promise<void> => {
    const places = gates.get(channel) ?? new Semaphore(perSecond);
    gates.set(channel, places);
    const [, leave] = await places.acquire();
    void sleep(1000, stopped.signal)
      .catch(() => {})
      .finally(leave);
  };

  const record = (part: Part, change: PartChange): Promise<boolean> =>
    persist(`What became of ${nameOf(part)}`, () => outbox.change(part, change));

  const sendOne = async (part: Part): Promise<void> => {
    const { message } = part;
    const channel = channels.get(message.to.channel);
    if (!channel) {
      await record(part, { kind: "never", reason: `no channel ${message.to.channel} is running` });
      return;
    }
    // The intent is on disk before the effect: whoever finds it there after a crash knows that it may have arrived.
    if (!(await record(part, { kind: "sending" }))) return;
    let change: PartChange;
    const startedAt = now();
    try {
      reach("before send");
      const sending: Sending = { ...message, intent: intentOf(part), mayRepeat: part.mayRepeat };
      const { id } = await put(channel, sending, stopped.signal);
      reach("after send");
      change = { kind: "sent", receipt: id };
    } catch (error) {
      if (stopped.signal.aborted) return;
      change = afterFailure(part, error, Math.min(Math.max(0, now() - startedAt), longestTryMs));
      const { answers } = part;
      log.warn(
        `${keyOf(message.to)}: ${nameOf(part)} was not sent: ${reasonOf(error)}`,
        answers && { trace: answers.trace },
      );
    }
    await record(part, change);
    if (change.kind === "sent") await parts.arrived?.(message);
  };

  const afterFailure = (part: Part, error: unknown, tookMs: number): PartChange => {
    const reason = reasonOf(error);
    if (error instanceof SendFailure && error.when === "never") return { kind: "never", reason };
    const asked = error instanceof SendFailure ? error.afterMs : undefined;
    const waitMs = asked ?? Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(part.attempts, 12));
    if (part.triedMs + tookMs + waitMs > giveUpMs) return { kind: "never", reason: `given up after a day: ${reason}` };
    const mayRepeat = part.mayRepeat || !(error instanceof SendFailure);
    return { kind: "later", waitMs, tookMs, reason, mayRepeat };
  };

  const wake = (to: Address): void => {
    const key = keyOf(to);
    if (stopped.signal.aborted) return;
    if (workers.has(key)) {
      waiting.get(key)?.abort();
      return;
    }
    const work = async (): Promise<void> => {
      try {
        await deliver(to);
      } catch (error) {
        log.warn(`${key}: delivery stopped: ${reasonOf(error)}`);
        return;
      } finally {
        workers.delete(key);
      }
      // Something may have come between the last look and now.
      if (!stopped.signal.aborted && (await outbox.next(to.channel, to.chat).catch(() => undefined))) wake(to);
    };
    const worker = work();
    workers.set(key, worker);
  };

  return {
    wake,
    async wakeAll() {
      for (const to of await outbox.waiting()) wake(to);
    },
    async settled(to) {
      const key = keyOf(to);
      while (workers.has(key) && !waiting.has(key)) await Promise.race([workers.get(key), nextLook()]);
    },
    async idle() {
      const busy = (): Promise<void>[] =>
        [...workers].flatMap(([key, worker]) => (waiting.has(key) || resting.has(key) ? [] : [worker]));
      while (busy().length > 0) await Promise.race([Promise.all(busy()), nextLook()]);
    },
    stop() {
      stopped.abort();
      for (const woken of waiting.values()) woken.abort();
    },
  };
}

const nextLook = (): Promise<void> => new Promise((done) => setTimeout(done, 20));

/** As people can look it up: by the message it answers, if it answers one. */
const nameOf = ({ id, answers }: Part): string =>
  answers ? `part ${answers.number} of the answer to message ${answers.trace}` : `message ${id} of the outbox`;

/** The same at every try, and never that of another message: not even in a ledger that was begun anew. */
const intentOf = ({ id, createdAt }: Part): string => `${id}-${createdAt}`;
