/**
 * The path of a message: may this sender speak? is it /stop, which cannot wait its turn? then stored, queued in its
 * lane, thought about, written down, told. Whatever is killed when, each accepted message ends in one recorded outcome.
 */
import { setMaxListeners } from "node:events";
import { Mutex } from "async-mutex";
import type { Thought, TurnInput } from "../agent/turn.js";
import type { TurnEvent } from "../agent/loop.js";
import type { Channel } from "../channels/channel.js";
import { type Address, type Inbound, keyOf, type Outbound, type Row, type SessionKey } from "../message.js";
import { ModelError } from "../providers/provider.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Access } from "./access.js";
import type { CommandResult } from "./commands.js";
import type { Delivery } from "./delivery.js";
import { type Aside, type Lanes, Stopped } from "./lanes.js";
import type { FinishedTurn, Item, Ledger, Outcome, Step } from "./ledger.js";
import { createPersist, type Persist } from "./persist.js";

export type GatewayParts = {
  readonly ledger: Ledger;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly access: Access;
  readonly lanes: Lanes;
  readonly delivery: Delivery;
  readonly agent: Agent;
  readonly settings: GatewaySettings;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  readonly reach: (point: string) => void;
};

/** What thinks. */
export type Agent = {
  think(input: TurnInput): Promise<Thought>;
  /** Writes a turn down; `again` if a crash may have come after that and before it was noted. */
  store(session: SessionKey, rows: readonly Row[], again: "again" | "first"): Promise<void>;
  runCommand(text: string, session: SessionKey, signal: AbortSignal): Promise<CommandResult | undefined>;
  /** Ends what runs in the background for a chat; how many there were. */
  stopSubagents(session: SessionKey): number;
};

export type GatewaySettings = {
  /** So many messages may wait in one session. */
  readonly maxQueue: number;
  readonly sendProgress: boolean;
  readonly sendToolHints: boolean;
};

export type Gateway = {
  /** Resolves once the message is safely stored, or recognised, or turned away; never waits for the turn. */
  accept(message: Inbound): Promise<void>;
  /** A message nobody has to be let in for: from the program itself. */
  acceptOwn(message: Inbound): Promise<void>;
  /** Says something in a chat outside of a turn. */
  say(messages: readonly Outbound[]): Promise<void>;
  /** Goes on with everything that is open and that nobody works on: left by an earlier process, put back by the owner. */
  resume(): Promise<void>;
  /** Finishes or journals what is running, within `graceMs`. */
  shutdown(graceMs: number): Promise<void>;
};

/** A message that has brought the process down so often is given up. */
const maxAttempts = 3;
const typingEveryMs = 4000;

const told = {
  dead: "I am sorry, something about this message makes me fail again and again. I have put it aside; please try to say it differently.",
  failed: "I am sorry, something went wrong on my side and I could not answer. Please try again.",
  nothingToStop: "No active task to stop.",
  busy: "I am still busy with your earlier messages and did not take this one. Please send it again a little later.",
};

/** The process is about to end; what was running goes on after the next start. */
class ShuttingDown extends Error {}

export function createGateway(parts: GatewayParts): Gateway {
  const { ledger, channels, lanes, delivery, agent, settings, sleep, log, reach } = parts;
  const { inbox, journal, outbox } = ledger;
  let closing = false;
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const persist = createPersist({ sleep, log, ending: ended.signal });
  /** Items that are queued or at work. */
  const taken = new Set<number>();

  const split = (to: Address, text: string): Outbound[] => {
    const pieces = channels.get(to.channel)?.split(text) ?? [text];
    return pieces.map((piece) => ({ kind: "text", to, text: piece }));
  };

  const ending = (item: Item, outcome: Outcome, text?: string): FinishedTurn => ({
    rows: [],
    messages: text === undefined ? [] : split(item.message.from, text),
    outcome,
  });

  /** From the journal's knowledge to a finished turn. */
  const think = async (item: Item, steps: readonly Step[], signal: AbortSignal): Promise<FinishedTurn> => {
    const { from, text, media } = item.message;
    signal.throwIfAborted();
    const command = await agent.runCommand(text, item.session, signal);
    if (command?.kind === "reply") return ending(item, { kind: "answered" }, command.text);
    // A /stop that comes from before a restart: what it was meant for is over.
    if (command?.kind === "stop") return ending(item, { kind: "answered" }, told.nothingToStop);
    const { rows, reply, usage } = await agent.think({
      session: item.session,
      from,
      text,
      media,
      signal,
      resume: {
        rows: steps.flatMap((step) => (step.kind === "row" ? [step] : [])),
        // Tools run one after the other: of all that were started only the last can have been cut short.
        started: new Set(steps.slice(-1).flatMap((step) => (step.kind === "started" ? [step.call] : []))),
      },
      keep: (stored, now) => noted(item, { kind: "row", now, stored }),
      starting: ({ id, function: { name } }) => noted(item, { kind: "started", call: id, name }),
      on: (event) => void progress(item, event).catch((error: unknown) => log.warn(reasonOf(error))),
    });
    if (reply !== undefined) return { rows, messages: split(from, reply), outcome: { kind: "answered" }, usage };
    return { rows, messages: [], outcome: { kind: "answered", reason: "by the message tool" }, usage };
  };

  const noted = (item: Item, step: Step): Promise<void> =>
    persist(`A step of message ${item.trace}`, () => journal.keep(item, step));

  const progress = async (item: Item, event: TurnEvent): Promise<void> => {
    const text =
      event.kind === "progress" && settings.sendProgress
        ? event.text
        : event.kind === "tool-call" && settings.sendToolHints
          ? event.hint
          : undefined;
    if (text === undefined) return;
    await outbox.add(split(item.message.from, text), item);
    delivery.wake(item.message.from);
  };

  /** What a turn that threw comes to. Undefined: it goes on after a restart. */
  const failed = async (item: Item, error: unknown, signal: AbortSignal): Promise<FinishedTurn | undefined> => {
    if (signal.aborted && signal.reason instanceof ShuttingDown) {
      await journal.release(item);
      return undefined;
    }
    if (signal.aborted && signal.reason instanceof Stopped) return ending(item, { kind: "silent", reason: "stopped" });
    log.warn(`${item.session}: message ${item.trace} failed: ${reasonOf(error)}`, { trace: item.trace, error });
    const text = error instanceof ModelError ? error.told : told.failed;
    return ending(item, { kind: "failed", reason: reasonOf(error) }, text);
  };

  const finished = async (
    item: Item,
    signal: AbortSignal,
    write: Persist,
  ): Promise<{ turn: FinishedTurn; again: boolean; appended: boolean } | undefined> => {
    const begun = await write(`The start of message ${item.trace}`, () => journal.begin(item));
    if (begun === "over") return undefined;
    const { attempt, steps, finished: known, appended } = begun;
    if (known) return { turn: known, again: true, appended };
    let turn: FinishedTurn | undefined;
    if (attempt > maxAttempts) {
      turn = ending(item, { kind: "dead", reason: `failed ${maxAttempts} times` }, told.dead);
    } else {
      try {
        turn = await think(item, steps, signal);
      } catch (error) {
        turn = await failed(item, error, signal);
      }
    }
    if (!turn) return undefined;
    const made = turn;
    const state = await write(`The turn of message ${item.trace}`, () => journal.finish(item, made));
    return state === "over" ? undefined : { turn, again: false, appended: false };
  };

  const work = async (item: Item, signal: AbortSignal, aside: Aside): Promise<void> => {
    // While the disk is full this lane waits, and the next message of the chat behind it; others may work.
    const write = createPersist({ sleep: (ms, end) => aside(() => sleep(ms, end)), log, ending: ended.signal });
    const stopTyping = showTyping(item.message.from);
    try {
      const result = await finished(item, signal, write);
      if (!result) return;
      if (!result.appended) {
        let again = result.again;
        await write(`The session ${item.session}`, async () => {
          reach("before store");
          const how = again ? "again" : "first";
          again = true; // a write that failed may have come half way
          await agent.store(item.session, result.turn.rows, how);
          reach("after store");
        });
        await write(`The end of message ${item.trace}`, () => journal.appended(item));
      }
      for (const { to } of result.turn.messages) delivery.wake(to);
    } finally {
      stopTyping();
    }
  };

  const showTyping = (to: Address): (() => void) => {
    const channel = channels.get(to.channel);
    if (!channel?.typing) return () => {};
    const abort = new AbortController();
    const show = (): void => void channel.typing?.(to, abort.signal).catch(() => {});
    show();
    const timer = setInterval(show, typingEveryMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  };

  /** Nobody works on the same message twice at a time. */
  const take = (item: Item, run: () => Promise<void>): void => {
    if (taken.has(item.id)) return;
    taken.add(item.id);
    run()
      // It stays open, and somebody will go on with it: at the next look, or after the next start.
      .catch((error: unknown) => {
        const { session, trace } = item;
        log.warn(`${session}: message ${trace} is not finished: ${reasonOf(error)}`, { trace });
      })
      .finally(() => taken.delete(item.id));
  };

  /**
   * A message that was at work when a process died may be what it died of. Such suspects are worked on one at a time:
   * should it happen again, the guilty one is known, and the others are not counted down with it.
   */
  const suspects = new Mutex();
  const enqueue = (item: Item): void =>
    take(item, () =>
      lanes.run(item.session, (signal, aside) =>
        item.attempts === 0 ? work(item, signal, aside) : suspects.runExclusive(() => work(item, signal, aside)),
      ),
    );

  /** An answer that needs no lane. */
  const answer = async (item: Item, outcome: Outcome, text: () => Promise<string>): Promise<void> => {
    if ((await persist(`The start of message ${item.trace}`, () => journal.begin(item))) === "over") return;
    const turn = ending(item, outcome, await text());
    await persist(`The turn of message ${item.trace}`, () => journal.finish(item, turn));
    await persist(`The end of message ${item.trace}`, () => journal.appended(item));
    delivery.wake(item.message.from);
  };

  /** Commands that cannot wait their turn. */
  const atOnce = (item: Item): Promise<void> =>
    answer(item, { kind: "answered" }, async () => {
      const command = item.message.text.trim().toLowerCase();
      if (command !== "/stop") {
        const result = await agent.runCommand(command, item.session, ended.signal);
        return result?.kind === "reply" ? result.text : told.nothingToStop;
      }
      const stopped = lanes.stop(item.session) + agent.stopSubagents(item.session);
      return stopped > 0 ? `⏹ Stopped ${stopped} task(s).` : told.nothingToStop;
    });

  const refuse = (item: Item): Promise<void> =>
    answer(item, { kind: "failed", reason: "too many messages waiting" }, async () => told.busy);

  const acceptOwn = async (message: Inbound): Promise<void> => {
    const item = await inbox.accept(message, keyOf(message.from));
    if (item === "repeat" || closing) return;
    const ahead = lanes.depth(item.session);
    if (["/stop", "/status"].includes(message.text.trim().toLowerCase())) take(item, () => atOnce(item));
    else if (ahead >= settings.maxQueue) take(item, () => refuse(item));
    else {
      if (ahead > 0) ledger.reports.note(item, "queued", `behind ${ahead}`);
      enqueue(item);
    }
  };

  return {
    acceptOwn,
    async accept(message) {
      if (parts.access(message.from, message.sender)) return acceptOwn(message);
      log.warn(`${keyOf(message.from)}: ${message.sender[0] ?? "somebody"} is not on the list and was not let in`);
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
