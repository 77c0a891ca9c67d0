/**
 * Rotation: a chat goes on with the same conversation of the backend for a window of messages, then a new one is begun
 * with what was said lately. Whatever happens to a handle, our own log has it all; so a handle in doubt is dropped.
 */
import { randomUUID } from "node:crypto";
import type { TurnEvent } from "../agent/loop.js";
import type { SessionKey } from "../message.js";
import type { Usage } from "../providers/provider.js";
import { reasonOf } from "../util/errors.js";
import { createKeyedMutex } from "../util/keyed-mutex.js";
import type { Log } from "../world.js";
import { type Backend, backendError, type BackendEnd, noUsage, spoken, TookTooLong } from "./backend.js";
import type { Found, Handles } from "./handles.js";

export type RotationParts = {
  readonly backend: Backend;
  readonly handles: Handles;
  readonly settings: RotationSettings;
  readonly log: Log;
};

export type RotationSettings = {
  /** Messages per conversation of the backend. */
  readonly windowSize: number;
  /** A conversation that rested for so long is not taken up again. */
  readonly maxAgeMs: number;
};

/** One message to the backend. */
export type Exchange = {
  readonly chat: SessionKey;
  readonly message: string;
  readonly files: readonly string[];
  readonly system: string;
  readonly signal: AbortSignal;
  readonly on?: (event: TurnEvent) => void;
  /** Told before each call, with the name it can be abandoned by. */
  readonly starting: (call: string) => Promise<void> | void;
};

/** One that belongs to a conversation. */
export type Talk = Exchange & {
  /** Where our own log stands. A handle that was last used with another one has missed something. */
  readonly place: string;
  /** The prompt that begins a conversation. */
  readonly bootstrap: (note?: string) => Promise<string>;
  /** An earlier attempt at this message was cut short, and nobody knows how far it came. */
  readonly interrupted: boolean;
  /** The chat leaves a conversation that is used up. Nobody waits for what is done about it. */
  readonly leaving: () => void;
};

export type Exchanged = {
  readonly text: string;
  /** False: it is not the answer that was asked for, but all there is. */
  readonly complete: boolean;
  readonly usage: Usage;
  readonly toolsUsed: readonly string[];
};

export type Talked = Exchanged & {
  /**
   * Once the answer is safe: notes how to go on, and where our log will stand then. Without a place: nobody wants the
   * answer any more, and what the backend has seen is not in our log. Never throws.
   */
  readonly settle: (place?: string) => Promise<void>;
};

export type Rotation = ReturnType<typeof createRotation>;

export const cutShort =
  "[An earlier attempt at the message below was cut short. Parts of it may have been carried out already: look before you do anything a second time.]";

export function createRotation({ backend, handles, settings, log }: RotationParts) {
  const { windowSize: window, maxAgeMs } = settings;
  const perChat = createKeyedMutex();

  const call = async (
    exchange: Exchange,
    prompt: string,
    more: { handle?: string; once?: true },
  ): Promise<BackendEnd> => {
    const { system, files, signal, on } = exchange;
    const id = `backend-${randomUUID()}`;
    await exchange.starting(id);
    return backend.run({ system, files, signal, prompt, id, ...(on && { on }), ...more });
  };

  /** With everything that the backend has of it. The files go first: a row without a file is found out, not the reverse. */
  const discard = async (id: string): Promise<void> => {
    try {
      if (backend.isHandle(id)) await backend.forget(id);
    } catch (error) {
      log.warn(`${backend.name}: the conversation ${id} could not be removed: ${reasonOf(error)}`);
    }
    await handles.expire(id);
  };

  /** Handles are a convenience: trouble with them costs nobody an answer. */
  const quietly = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      log.warn(`${backend.name}: ${what}: ${reasonOf(error)}`);
      return undefined;
    }
  };
  const drop = (id: string): Promise<void> => quietly("a handle could not be dropped", () => discard(id));

  const look = async (chat: SessionKey): Promise<Found> =>
    (await quietly("the handles cannot be read", () => handles.active(chat, { window, maxAgeMs }))) ?? unknown;

  const markAt = (place: string): string => `${backend.name} ${place}`;

  /** What an ending comes to that is final, good or bad. */
  const conclude = (chat: SessionKey, end: BackendEnd): Exchanged => {
    if (end.kind === "answered" || end.kind === "silent") {
      const { kind, usage, toolsUsed } = end;
      return { text: kind === "answered" ? end.text : end.note, complete: kind === "answered", usage, toolsUsed };
    }
    if (end.kind === "lost") throw backendError(backend.name, "request", end.reason);
    if (end.kind === "failed") throw backendError(backend.name, end.failure, end.reason);
    const partly = { complete: false, usage: noUsage, toolsUsed: [] };
    if (end.kind === "unreadable") {
      log.warn(
        `${chat}: ${backend.name} printed what nobody understands: ${end.raw.slice(0, shownRaw).toWellFormed()}`,
      );
      return { ...partly, text: end.raw };
    }
    if (end.partial === "") throw new TookTooLong(backend.name, end.seconds);
    return { ...partly, text: `${end.partial}\n\n[I was stopped here: it took longer than ${spoken(end.seconds)}.]` };
  };

  const begin = async (talk: Talk, note?: string): Promise<Talked> => {
    const end = await call(talk, await talk.bootstrap(note), {});
    const settle = async (place?: string): Promise<void> => {
      if (place === undefined || end.kind !== "answered" || end.handle === undefined) return;
      const { handle } = end;
      if (!backend.isHandle(handle))
        return log.warn(`${backend.name} named a conversation in a way that is not its own`);
      await quietly("a handle could not be kept", async () => {
        await handles.create(talk.chat, handle);
        await handles.increment(handle, { from: 0, seen: markAt(place) });
      });
    };
    return { ...conclude(talk.chat, end), settle };
  };

  /** `again`: the handle is of no use, and the message has to be said in a new conversation, with this note. */
  const goOn = async (
    talk: Talk,
    { id, count }: { readonly id: string; readonly count: number },
  ): Promise<Talked | { readonly again: string | undefined }> => {
    let end: BackendEnd;
    // If this process dies now, whoever finds the handle must not go on with it: nobody knows what it has seen.
    await quietly("a handle could not be marked", () => handles.note(id, underWay));
    try {
      end = await call(talk, talk.message, { handle: id });
    } catch (error) {
      // Stopped in the middle, its state is unknown. Who could not even be started has changed nothing.
      if (talk.signal.aborted) await drop(id);
      else await quietly("a handle could not be marked", () => handles.note(id, markAt(talk.place)));
      throw error;
    }
    if (end.kind === "lost" || end.kind === "failed") {
      log.warn(`${talk.chat}: ${backend.name} could not go on (${end.reason}); a new conversation is begun`);
      await drop(id);
      talk.on?.({ kind: "restart" });
      return { again: end.kind === "failed" && end.acted ? cutShort : undefined };
    }
    const next = end.kind === "answered" ? end.handle : undefined;
    if (next === undefined || !backend.isHandle(next)) {
      await drop(id);
      return { ...conclude(talk.chat, end), settle: async () => {} };
    }
    const settle = async (place?: string): Promise<void> => {
      if (place === undefined) return drop(id);
      const counted = await quietly("a message could not be counted", () =>
        handles.increment(id, { from: count, seen: markAt(place), as: next }),
      );
      if (counted !== false) return;
      // Somebody else has used it meanwhile, and the backend knows only one of us.
      log.warn(`${talk.chat}: two messages at once went to one conversation; it is not used again`);
      for (const name of new Set([id, next])) await drop(name);
    };
    return { ...conclude(talk.chat, end), settle };
  };

  const talk = async (talk: Talk): Promise<Talked> => {
    talk.signal.throwIfAborted();
    const found = await look(talk.chat);
    const note = talk.interrupted ? cutShort : undefined;
    if (found.kind === "none") {
      if (found.because !== "first") talk.leaving();
      return begin(talk, note);
    }
    // Another backend's: whoever cleans up knows whose it is.
    if (!backend.isHandle(found.id)) return begin(talk, note);
    if (talk.interrupted || found.seen !== markAt(talk.place)) {
      await drop(found.id);
      return begin(talk, note);
    }
    const talked = await goOn(talk, found);
    return "again" in talked ? begin(talk, talked.again) : talked;
  };

  return {
    /** One after the other per chat, chats side by side. Throws a ModelError if there is nothing to say. */
    talk: (exchange: Talk): Promise<Talked> => perChat.run(exchange.chat, () => talk(exchange)),
    /** A message that belongs to no conversation: nothing is kept of it, and no handle touched. */
    once: async (exchange: Exchange): Promise<Exchanged> =>
      conclude(exchange.chat, await call(exchange, exchange.message, { once: true })),
  };
}

/** Never the mark of a place. */
const underWay = "under way";
const unknown: Found = { kind: "none", because: "first" };
const shownRaw = 2000;
