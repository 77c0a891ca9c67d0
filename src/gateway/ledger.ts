/**
 * The port of the ledger: what has been accepted, how far each turn has come, what is to be sent. Every call is durable
 * when it resolves. If the process dies anywhere, the ledger and the session files together say what still has to happen.
 */
import type { Handles } from "../backends/handles.js";
import type { Occurrences } from "../cron/occurrences.js";
import type { Address, Inbound, Outbound, Row, SessionKey } from "../message.js";
import type { Usage } from "../providers/provider.js";

/** An accepted message. */
export type Item = {
  readonly id: number;
  /** How people name it: `nanogate trace <trace>`. */
  readonly trace: string;
  readonly session: SessionKey;
  readonly message: Inbound;
  readonly receivedAt: number;
  /** How often it had been begun when it was looked up. */
  readonly attempts: number;
};

/** The one end of every accepted message. */
export type Outcome = {
  /** `failed`: it could not be answered, and the chat was told. `dead`: it brought the process down again and again. */
  readonly kind: "answered" | "silent" | "failed" | "dead";
  readonly reason?: string;
};

/** A finished step of a turn that is not finished itself. */
export type Step =
  /** A row as the model is shown it, and as it is stored where that differs. */
  | { readonly kind: "row"; readonly now: Row; readonly stored: Row }
  /** A tool has been started; if no row of it follows, nobody knows how far it came. */
  | { readonly kind: "started"; readonly call: string; readonly name?: string }
  /** Its files are here, as far as they could be had: what is asked, the same in every attempt. */
  | { readonly kind: "asked"; readonly text: string; readonly media: readonly string[] }
  /** The beginning of the answer is in the chat; the answer takes its place. */
  | { readonly kind: "shown"; readonly receipt: string };

/** A turn that only has to be written down and told. */
export type FinishedTurn = {
  /** What goes into the session, with its timestamps. */
  readonly rows: readonly Row[];
  /** What goes to the chat, one entry per message of the platform. */
  readonly messages: readonly Outbound[];
  readonly outcome: Outcome;
  readonly usage?: Usage;
  /** Whose tokens these are. */
  readonly model?: string;
};

export type Inbox = {
  /** Stores the message, or recognises it by the platform's id. */
  accept(message: Inbound, session: SessionKey): Promise<Item | "repeat">;
  /** Accepted, and the turn not made or not saved yet, oldest first: what somebody has to go on with. */
  open(): Promise<readonly Item[]>;
  /** Has anybody ever been heard in this chat? */
  knows(chat: Address): Promise<boolean>;
  /**
   * How the turn of a job's run ended, whether or not all of it has been sent, by the id of its message alone.
   * `forgotten`: so long ago that nobody knows. Undefined: it was never accepted.
   */
  endOf(runId: string): Promise<Outcome | "open" | "forgotten" | undefined>;
  /** Where somebody was last heard on one of these channels; what the program says to itself does not count. */
  lastChat(channels: readonly string[]): Promise<Address | undefined>;
};

/** The ids of messages from the program itself begin with one of these. */
export const ownIds = ["own-", "cron-"] as const;

/** How far a turn has come. */
export type Progress = {
  readonly attempt: number;
  readonly steps: readonly Step[];
  readonly finished: FinishedTurn | undefined;
  readonly appended: boolean;
};

export type Journal = {
  /**
   * Counts an attempt and tells how far earlier ones came. Of those that got further than the one before, and died in no
   * tool, only the last counts: whoever gets on does not fail again and again. `over`: the owner has discarded the message.
   */
  begin(item: Item): Promise<Progress | "over">;
  keep(item: Item, step: Step): Promise<void>;
  /** The turn and everything it has to say, as one unit. `over`: the owner has discarded the message meanwhile. */
  finish(item: Item, turn: FinishedTurn): Promise<"finished" | "over">;
  /** Its rows are in the session; from now on it may be told. */
  appended(item: Item): Promise<void>;
  /** An attempt that was broken off on purpose does not count. */
  release(item: Item): Promise<void>;
};

/** One message on its way out. */
export type Part = {
  readonly id: number;
  /** What it answers, and the how-manieth it is of that; undefined: it belongs to no turn. */
  readonly answers: { readonly item: number; readonly trace: string; readonly number: number } | undefined;
  readonly message: Outbound;
  readonly attempts: number;
  readonly createdAt: number;
  /** Not before this time. */
  readonly nextAt: number;
  /** So long it was to wait when that was decided: the clock may have been put back since. */
  readonly waitMs: number;
  /** So long it has been tried in all, pauses included, by whatever clock. */
  readonly triedMs: number;
  /** A try whose end nobody knows: it may have arrived. */
  readonly mayRepeat: boolean;
};

export type PartChange =
  | { readonly kind: "sending" }
  | { readonly kind: "sent"; readonly receipt: string }
  | {
      readonly kind: "later";
      readonly waitMs: number;
      /** How long this try took. */
      readonly tookMs: number;
      readonly reason: string;
      readonly mayRepeat: boolean;
    }
  | { readonly kind: "never"; readonly reason: string };

export type Outbox = {
  /** Something to say besides a turn's answer: progress, a message to another chat, a reminder. */
  add(messages: readonly Outbound[], item?: Item): Promise<void>;
  /** The next message of a chat that may be told, or undefined. */
  next(channel: string, chat: string): Promise<Part | undefined>;
  /** Chats with something to be sent. */
  waiting(): Promise<readonly { readonly channel: string; readonly chat: string }[]>;
  /** False: it does not wait to be sent any more, because the owner has discarded it. */
  change(part: Part, change: PartChange): Promise<boolean>;
};

/** The life of one message, for people. */
export type TraceEvent = { readonly at: number; readonly what: string; readonly detail: string };

export type LedgerSummary = {
  readonly open: number;
  readonly unsent: number;
  readonly dead: number;
  /** When the oldest message without an outcome came. */
  readonly oldestOpenAt: number | undefined;
  readonly outcomes: Readonly<Record<string, number>>;
};

export type LedgerEntry = {
  readonly trace: string;
  readonly platformId: string;
  readonly channel: string;
  readonly chat: string;
  readonly text: string;
  readonly receivedAt: number;
  readonly attempts: number;
  readonly outcome: Outcome["kind"] | undefined;
  readonly reason: string | undefined;
};

export type Reports = {
  /** A step in the life of a message that changes nothing. */
  note(item: Item, what: string, detail?: string): void;
  trace(
    idOrPlatformId: string,
  ): Promise<{ readonly entry: LedgerEntry; readonly events: readonly TraceEvent[] } | undefined>;
  /** Newest first. `problems`: open, failed and dead ones only. */
  entries(filter: "problems" | "all", limit: number): Promise<readonly LedgerEntry[]>;
  summary(): Promise<LedgerSummary>;
  /** Puts a failed or dead message back: only the sending, if it has been answered. False if there is nothing to put back. */
  retry(idOrPlatformId: string): Promise<boolean>;
  /** Drops an open, failed or dead message for good. False if there is nothing to drop. */
  discard(idOrPlatformId: string): Promise<boolean>;
};

/** What the turns of one day have cost, in one session, by one model. */
export type UsageEntry = {
  /** `2026-11-16`, in the machine's zone. */
  readonly day: string;
  readonly session: SessionKey;
  readonly model: string;
  readonly turns: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
};

export type UsageReports = {
  /** From a day on, the oldest first. */
  since(day: string): Promise<readonly UsageEntry[]>;
};

export type Upkeep = {
  /** Has another process changed the ledger since this was asked last? */
  touched(): Promise<boolean>;
  /**
   * Forgets what was finished before `before`, all but the platform's ids: a redelivery is recognised for ever. Does a
   * bounded piece of it; how many messages were forgotten.
   */
  sweep(before: number): Promise<number>;
};

export type Ledger = {
  readonly inbox: Inbox;
  readonly journal: Journal;
  readonly outbox: Outbox;
  readonly reports: Reports;
  readonly upkeep: Upkeep;
  /** What became of each time a job was due. */
  readonly occurrences: Occurrences;
  readonly usage: UsageReports;
  readonly handles: Handles;
  close(): Promise<void>;
};
