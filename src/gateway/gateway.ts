/**
 * The path of a message: may this sender speak? is it /stop, which cannot wait its turn? then stored, queued in its
 * lane, thought about, written down, told. Whatever is killed when, each accepted message ends in one recorded outcome.
 */
import { setMaxListeners } from "node:events";
import { Mutex } from "async-mutex";
import { LRUCache } from "lru-cache";
import { type Inbound, keyOf, type Outbound, shownText } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Access } from "./access.js";
import type { Lanes } from "./lanes.js";
import type { Item, Outcome } from "./ledger.js";
import { createPersist } from "./persist.js";
import { createSplit, createWork, ending, nothingToStop, ShuttingDown, type WorkParts } from "./work.js";

export type GatewayParts = Omit<WorkParts, "ending" | "settings"> & {
  readonly access: Access;
  readonly lanes: Lanes;
  readonly settings: GatewaySettings;
};

export type GatewaySettings = WorkParts["settings"] & {
  /** So many messages may wait in one session. */
  readonly maxQueue: number;
};

export type Gateway = {
  /** Resolves once the message is safely stored, or recognised, or turned away; never waits for the turn. */
  accept(message: Inbound): Promise<void>;
  /** A message nobody has to be let in for: from the program itself, or through a door of this machine. */
  acceptOwn(message: Inbound): Promise<"accepted" | "repeat">;
  /** Says something in a chat outside of a turn. */
  say(messages: readonly Outbound[]): Promise<void>;
  /** Goes on with everything that is open and that nobody works on: left by an earlier process, put back by the owner. */
  resume(): Promise<void>;
  /** Finishes or journals what is running, within `graceMs`. */
  shutdown(graceMs: number): Promise<void>;
};

/** The reason of a message that was turned away because its session has enough to do. */
export const tooManyWaiting = "too many messages waiting";

const busy =
  "I am still busy with your earlier messages and did not take this one. Please send it again a little later.";

/** A stranger is mentioned in the log so often. */
const strangerMs = 3_600_000;

/** Who speaks to a gateway that listens is heard much sooner. */
const longOnItsWayMs = 60_000;

/**
 * Said while we did not listen. However many there are of these, they are taken: nobody could have told the sender to
 * slow down, and the platform has kept them for us.
 */
const hasWaited = ({ message: { missed, sentAt }, receivedAt }: Item): boolean =>
  missed === true || (sentAt !== undefined && receivedAt - sentAt > longOnItsWayMs);

export function createGateway(parts: GatewayParts): Gateway {
  const { ledger, lanes, delivery, agent, live, settings, log } = parts;
  const { inbox, journal, outbox } = ledger;
  let closing = false;
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const persist = createPersist({ ...parts, ending: ended.signal });
  const split = createSplit(parts.channels);
  const work = createWork({ ...parts, ending: ended.signal });
  /** Items that are queued or at work. */
  const taken = new Set<number>();

  /** Nobody works on the same message twice at a time. */
  const take = (item: Item, run: () => Promise<void>): void => {
    if (taken.has(item.id)) return;
    taken.add(item.id);
    run()
      // It stays open, and somebody will go on with it: at the next look, or after the next start.
      .catch((error: unknown) => {
        const { session, trace } = item;
        log.warn(`${session}: message ${trace} is not finished: ${reasonOf(error)}`, { trace });
        live.tell(item, { kind: "postponed" });
      })
      .finally(() => taken.delete(item.id));
  };

  /**
   * A message that was at work when a process died may be what it died of. Once is mostly an accident, and everybody goes
   * on at once; at work twice, it is a suspect. Suspects are worked on one at a time: should it happen again, the guilty
   * one is known, and the others are not counted down with it. Those that wait take no place from anybody.
   */
  const suspects = new Mutex();
  const enqueue = (item: Item): void =>
    take(item, () =>
      lanes.run(item.session, async (signal, aside) => {
        const leave = item.attempts > 1 ? await aside(() => suspects.acquire()) : undefined;
        try {
          await work(item, signal, aside);
        } finally {
          leave?.();
        }
      }),
    );

  /** An answer that needs no lane. */
  const answer = async (item: Item, outcome: Outcome, text: () => Promise<string>): Promise<void> => {
    const begun = await persist(`The start of message ${item.trace}`, () => journal.begin(item));
    if (begun === "over") return live.tell(item, { kind: "postponed" });
    const { from, id } = item.message;
    const turn = ending(item, outcome, await split(from, await text(), id));
    await persist(`The turn of message ${item.trace}`, () => journal.finish(item, turn));
    await persist(`The end of message ${item.trace}`, () => journal.appended(item));
    live.tell(item, { kind: "finished", turn });
    delivery.wake(from);
  };

  /** Commands that cannot wait their turn. */
  const atOnce = (item: Item): Promise<void> =>
    answer(item, { kind: "answered" }, async () => {
      const command = item.message.text.trim().toLowerCase();
      if (command !== "/stop") {
        const result = await agent.runCommand(command, item.session, ended.signal);
        return result?.kind === "reply" ? result.text : nothingToStop;
      }
      const stopped = lanes.stop(item.session) + agent.stopSubagents(item.session);
      return stopped > 0 ? `⏹ Stopped ${stopped} task(s).` : nothingToStop;
    });

  const refuse = (item: Item): Promise<void> =>
    answer(item, { kind: "failed", reason: tooManyWaiting }, async () => busy);

  const acceptOwn = async (message: Inbound): Promise<"accepted" | "repeat"> => {
    const item = await inbox.accept(message, message.session ?? keyOf(message.from));
    if (item === "repeat") return item;
    live.tell(item, { kind: "accepted", text: shownText(message) });
    if (closing) return "accepted";
    const ahead = lanes.depth(item.session);
    if (["/stop", "/status"].includes(message.text.trim().toLowerCase())) take(item, () => atOnce(item));
    else if (ahead >= settings.maxQueue && !hasWaited(item)) take(item, () => refuse(item));
    else {
      if (ahead > 0) ledger.reports.note(item, "queued", `behind ${ahead}`);
      enqueue(item);
    }
    return "accepted";
  };

  /** Said once in a while for each: a stranger who does not tire must not fill the log. */
  const strangers = new LRUCache<string, true>({ max: 1000, ttl: strangerMs });
  const turnAway = ({ from, sender: [who = "somebody"] }: Inbound): void => {
    const about = `${keyOf(from)}: ${who}`;
    if (!strangers.has(about)) log.warn(`${about} is not on the list and was not let in`);
    strangers.set(about, true, { noUpdateTTL: true });
  };

  return {
    acceptOwn,
    async accept(message) {
      if (parts.access(message.from, message.sender)) await acceptOwn(message);
      else turnAway(message);
    },
    async say(messages) {
      await outbox.add(messages);
      for (const { to } of messages) delivery.wake(to);
    },
    async resume() {
      for (const item of await inbox.open()) enqueue(item);
      await delivery.wakeAll();
    },
    async shutdown(graceMs) {
      closing = true;
      const timer = setTimeout(() => {
        lanes.stopAll(new ShuttingDown());
        ended.abort();
      }, graceMs);
      await lanes.idle();
      clearTimeout(timer);
      await Promise.race([delivery.idle(), new Promise((done) => setTimeout(done, Math.min(graceMs, 5000)).unref())]);
      delivery.stop();
      ended.abort();
    },
  };
}
