/** The way of one message through its lane: begun, thought about, finished in the ledger, written into the session, told. */
import type { TurnEvent } from "../agent/loop.js";
import type { Thought, TurnInput } from "../agent/turn.js";
import type { Channel } from "../channels/channel.js";
import { type Address, nothingToSay, type Outbound, type Row, type SessionKey } from "../message.js";
import { ModelError } from "../providers/provider.js";
import { reasonOf } from "../util/errors.js";
import type { CommandResult } from "./commands.js";
import type { Delivery } from "./delivery.js";
import { type Aside, Stopped } from "./lanes.js";
import type { FinishedTurn, Item, Ledger, Outcome, Step } from "./ledger.js";
import type { Live } from "./live.js";
import { createPersist, type Persist, type PersistParts } from "./persist.js";
import { createPreviews, type Preview } from "./preview.js";
import { type Attempt, createQuestions } from "./question.js";

/** What thinks. */
export type Agent = {
  think(input: TurnInput): Promise<Thought>;
  /** Writes a turn down; `again` if a crash may have come after that and before it was noted. */
  store(session: SessionKey, rows: readonly Row[], again: "again" | "first"): Promise<void>;
  runCommand(text: string, session: SessionKey, signal: AbortSignal): Promise<CommandResult | undefined>;
  /** Ends what runs in the background for a chat; how many there were. */
  stopSubagents(session: SessionKey): number;
};

export type WorkParts = PersistParts & {
  readonly ledger: Ledger;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly delivery: Delivery;
  readonly agent: Agent;
  readonly live: Live;
  readonly settings: { readonly sendProgress: boolean; readonly sendToolHints: boolean };
  readonly now: () => number;
  readonly reach: (point: string) => void;
};

/** A message that has brought the process down so often is given up. */
const maxAttempts = 3;
const typingEveryMs = 4000;
/** What is answered at once was never waited for. */
const typingAfterMs = 100;
/** Node takes a longer time for none at all. */
const longestTimerMs = 2 ** 31 - 1;

const told = {
  dead: "I am sorry, something about this message makes me fail again and again. I have put it aside; please try to say it differently.",
  failed: "I am sorry, something went wrong on my side and I could not answer. Please try again.",
};
export const nothingToStop = "No active task to stop.";

/** The process is about to end; what was running goes on after the next start. */
export class ShuttingDown extends Error {}

class TookTooLong extends Error {
  constructor(ms: number) {
    super(`it took longer than ${ms / 1000} s`);
  }
}

/** A text as the messages of a chat's platform. */
export type Split = (to: Address, text: string, answers?: string) => Promise<Outbound[]>;

export const createSplit =
  (channels: ReadonlyMap<string, Channel>): Split =>
  async (to, text, answers) => {
    const pieces = (await channels.get(to.channel)?.split(text)) ?? [text];
    return pieces.map((piece, at) => ({
      kind: "text",
      to,
      text: piece,
      ...(at === 0 && answers !== undefined && { answers }),
    }));
  };

/** What has nothing to write down: a command, a refusal, a failure. */
export const ending = (item: Item, outcome: Outcome, messages: readonly Outbound[] = []): FinishedTurn => ({
  rows: [],
  messages: item.message.quiet ? [] : messages,
  outcome,
});

/** The message that the beginning of the answer is in, if it was shown. */
const shownIn = (steps: readonly Step[]): string | undefined =>
  steps.findLast((step) => step.kind === "shown")?.receipt;

/** No half answer stays beside what the turn has come to. */
function inPlaceOf(replaces: string | undefined, turn: FinishedTurn): FinishedTurn {
  const [first, ...rest] = turn.messages;
  if (replaces === undefined || first?.kind !== "text") return turn;
  return { ...turn, messages: [{ ...first, replaces }, ...rest] };
}

export function createWork(parts: WorkParts) {
  const { ledger, channels, delivery, agent, live, settings, now, sleep, log, reach } = parts;
  const { journal, outbox } = ledger;
  const persist = createPersist(parts);
  const split = createSplit(channels);
  const openPreview = createPreviews({ channels, outbox, now, sleep, log });

  const noted = (item: Item, step: Step): Promise<void> =>
    persist(`A step of message ${item.trace}`, () => journal.keep(item, step));

  const questionOf = createQuestions({ channels, keep: noted });

  /** From the journal's knowledge to a finished turn. */
  const think = async (attempt: Attempt, preview: Preview, signal: AbortSignal): Promise<FinishedTurn> => {
    const { item, steps } = attempt;
    const { id, from, quiet, stateless } = item.message;
    signal.throwIfAborted();
    const answered: Outcome = { kind: "answered" };
    const command = await agent.runCommand(item.message.text, item.session, signal);
    if (command?.kind === "reply") return ending(item, answered, await split(from, command.text, id));
    // A /stop that comes from before a restart: what it was meant for is over.
    if (command?.kind === "stop") return ending(item, answered, await split(from, nothingToStop, id));
    const { text, media } = await questionOf(attempt, signal);
    const ofTools = steps.filter((step) => step.kind === "row" || step.kind === "started");
    const { rows, reply, usage, model } = await agent.think({
      session: item.session,
      from,
      text,
      media,
      signal,
      ...(quiet && { unasked: true }),
      ...(stateless && { stateless }),
      resume: {
        rows: ofTools.flatMap((step) => (step.kind === "row" ? [step] : [])),
        // Tools run one after the other: of all that were started only the last can have been cut short.
        started: new Set(ofTools.slice(-1).flatMap((step) => (step.kind === "started" ? [step.call] : []))),
      },
      keep: (stored, now) => noted(item, { kind: "row", now, stored }),
      starting: ({ id: call, function: { name } }) => noted(item, { kind: "started", call, name }),
      on: (event) => {
        live.tell(item, event);
        preview.show(event);
        progress(item, event, preview).catch((error: unknown) => log.warn(reasonOf(error)));
      },
    });
    const made = { rows, usage, ...(model !== undefined && { model }) };
    if (reply === undefined) {
      return { ...made, messages: [], outcome: { kind: "answered", reason: "by the message tool" } };
    }
    if (quiet && reply.trim() === nothingToSay) {
      return { ...made, messages: [], outcome: { kind: "silent", reason: "there was nothing to say" } };
    }
    return { ...made, messages: await split(from, reply, id), outcome: answered };
  };

  /** Within the time it may take; the beginning of the answer, if it was shown, becomes the answer. */
  const thought = async (attempt: Attempt, stop: AbortSignal): Promise<FinishedTurn | undefined> => {
    const { item, steps } = attempt;
    const { limitMs } = item.message;
    const limit = new AbortController();
    const tooLong = (ms: number): void => limit.abort(new TookTooLong(ms));
    const timer = limitMs === undefined ? undefined : setTimeout(tooLong, Math.min(limitMs, longestTimerMs), limitMs);
    const signal = AbortSignal.any([stop, limit.signal]);
    const preview = openPreview(item, shownIn(steps), (step) => noted(item, step));
    let turn: FinishedTurn | undefined;
    try {
      turn = await think(attempt, preview, signal);
    } catch (error) {
      turn = await failed(item, signal.aborted ? signal.reason : error, stop);
    } finally {
      clearTimeout(timer);
    }
    const replaces = await preview.end();
    return turn && inPlaceOf(replaces, turn);
  };

  const progress = async (item: Item, event: TurnEvent, preview: Preview): Promise<void> => {
    const text =
      event.kind === "progress" && settings.sendProgress && !preview.isShown
        ? event.text
        : event.kind === "tool-call" && settings.sendToolHints
          ? event.hint
          : undefined;
    // Who looks on has seen it already.
    if (text === undefined || item.message.quiet || channels.get(item.message.from.channel)?.isWatched) return;
    await outbox.add(await split(item.message.from, text), item);
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
    const messages = await split(item.message.from, text, item.message.id);
    return ending(item, { kind: "failed", reason: reasonOf(error) }, messages);
  };

  const dead = async (item: Item): Promise<FinishedTurn> =>
    ending(item, { kind: "dead", reason: `failed ${maxAttempts} times` }, await split(item.message.from, told.dead));

  const finished = async (
    item: Item,
    signal: AbortSignal,
    aside: Aside,
    write: Persist,
  ): Promise<{ turn: FinishedTurn; again: boolean; appended: boolean } | undefined> => {
    const begun = await write(`The start of message ${item.trace}`, () => journal.begin(item));
    if (begun === "over") return undefined;
    const { attempt, steps, finished: known, appended } = begun;
    if (known) return { turn: known, again: true, appended };
    const turn =
      attempt > maxAttempts
        ? inPlaceOf(shownIn(steps), await dead(item))
        : await thought({ item, steps, aside }, signal);
    if (!turn) return undefined;
    const state = await write(`The turn of message ${item.trace}`, () => journal.finish(item, turn));
    return state === "over" ? undefined : { turn, again: false, appended: false };
  };

  const showTyping = ({ from: to, quiet }: Item["message"]): (() => void) => {
    const channel = channels.get(to.channel);
    if (!channel?.typing || quiet) return () => {};
    let shown: AbortController | undefined;
    const show = (): void => {
      shown ??= new AbortController();
      channel.typing?.(to, shown.signal).catch(() => {});
      timer = setTimeout(show, typingEveryMs);
    };
    let timer = setTimeout(show, typingAfterMs);
    return () => {
      clearTimeout(timer);
      shown?.abort();
    };
  };

  return async function work(item: Item, signal: AbortSignal, aside: Aside): Promise<void> {
    // While the disk is full this lane waits, and the next message of the chat behind it; others may work.
    const write = createPersist({ ...parts, sleep: (ms, end) => aside(() => sleep(ms, end)) });
    const stopTyping = showTyping(item.message);
    try {
      const result = await finished(item, signal, aside, write);
      if (!result) return live.tell(item, { kind: "postponed" });
      if (!result.appended) {
        let again = result.again;
        const { rows } = result.turn;
        const store = async (): Promise<void> => {
          reach("before store");
          const how = again ? "again" : "first";
          again = true; // a write that failed may have come half way
          await agent.store(item.session, rows, how);
          reach("after store");
        };
        // A turn that failed leaves nothing behind, also where nothing could be: its key may be no name for a file.
        if (rows.length > 0) await write(`The session ${item.session}`, store);
        await write(`The end of message ${item.trace}`, () => journal.appended(item));
      }
      live.tell(item, { kind: "finished", turn: result.turn });
      for (const { to } of result.turn.messages) delivery.wake(to);
    } finally {
      stopTyping();
    }
  };
}
