/** The port to an agent that holds the conversation itself and gives us a handle to go on with it. */
import type { TurnEvent } from "../agent/loop.js";
import { ModelError, type ModelFailure, type Usage } from "../providers/provider.js";

export type Backend = {
  /** As the settings call it: `claude-cli`. */
  readonly name: string;
  /**
   * One message. Resolves with one of the expected endings; an aborted signal throws its own reason, and whoever could not
   * even be started throws a {@link ModelError}. Either way nothing of the call is running any more.
   */
  run(call: BackendCall): Promise<BackendEnd>;
  /** Could this be a handle of ours? What is not never reaches a command line, a path or an address. */
  isHandle(handle: string): boolean;
  /** Removes what the backend keeps of a conversation. No error if there is nothing. */
  forget(handle: string): Promise<void>;
  /** Ends a call that belongs to a process that has died. */
  abandon?(call: string): Promise<void>;
};

export type BackendCall = {
  /** The conversation to go on with; absent: a new one. */
  readonly handle?: string;
  /** A call that stands alone: the backend keeps nothing of it. */
  readonly once?: true;
  /** What the backend is told about its task, the same with every call of a conversation. */
  readonly system: string;
  readonly prompt: string;
  /** Files that the message speaks of; they may be read. */
  readonly files?: readonly string[];
  readonly signal: AbortSignal;
  /** Somebody watches. */
  readonly on?: (event: TurnEvent) => void;
  /** By this name the call can be abandoned later. */
  readonly id?: string;
};

export type BackendEnd =
  | {
      readonly kind: "answered";
      readonly text: string;
      /** How to go on, which may differ from how it was begun: then the earlier handle is no longer used. Absent: there is no way. */
      readonly handle?: string;
      readonly usage: Usage;
      readonly toolsUsed: readonly string[];
    }
  /** The backend does not know this handle, or cannot use it. Nothing has happened. */
  | { readonly kind: "lost"; readonly reason: string }
  /** It reported an error. `acted`: before that it may have done something. */
  | { readonly kind: "failed"; readonly failure: ModelFailure; readonly reason: string; readonly acted: boolean }
  /** It came to an end without an answer; `note` says so to the chat. */
  | { readonly kind: "silent"; readonly note: string; readonly usage: Usage; readonly toolsUsed: readonly string[] }
  /** It printed something that is not what we know. */
  | { readonly kind: "unreadable"; readonly raw: string }
  /** It took too long. `partial`: the answer as far as it was seen. */
  | { readonly kind: "timed-out"; readonly seconds: number; readonly partial: string };

export const noUsage: Usage = { input: 0, output: 0, cached: 0 };

const fixes: Partial<Readonly<Record<ModelFailure, string>>> = {
  auth: "`nanogate doctor` says whether it is logged in.",
  limit: "Look at the limits of your account, or let this chat use another backend.",
  "too-long": "Start anew with /new, or lower rotation.windowSize.",
};

/** A backend that could not answer, in the words that everybody has for a model that cannot. */
export const backendError = (backend: string, failure: ModelFailure, reason: string): ModelError =>
  new ModelError(
    failure,
    `${backend}: ${reason}`,
    fixes[failure] ?? "Try again; `nanogate doctor` looks at it closer.",
  );

/** Nothing was seen of the answer in all that time. */
export class TookTooLong extends ModelError {
  readonly #seconds: number;

  constructor(backend: string, seconds: number) {
    super(
      "overload",
      `${backend} had not answered after ${seconds} s.`,
      `Set backends.${backend}.timeoutSeconds higher.`,
    );
    this.#seconds = seconds;
  }

  override get told(): string {
    return `I could not finish this within ${spoken(this.#seconds)} and gave up. Please try again, perhaps in smaller steps.`;
  }
}

export const spoken = (seconds: number): string =>
  seconds >= 120 && seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`;
