/**
 * The port to the handles of conversations that backends hold: which chat goes on with which of them, and how many
 * messages it has had. They are a convenience; whoever loses them all loses nothing but a few tokens.
 */
import type { SessionKey } from "../message.js";

export type HandleLimits = {
  /** A handle that has had so many messages is used up. */
  readonly window: number;
  /** One that nobody has used for so long is too old. */
  readonly maxAgeMs: number;
};

export type Found =
  | {
      readonly kind: "active";
      readonly id: string;
      readonly count: number;
      /** What was noted with its last message; undefined if nothing was. */
      readonly seen: string | undefined;
    }
  | { readonly kind: "none"; readonly because: "first" | "full" | "old" };

export type Counted = {
  /** How many messages the handle had when it was looked up. */
  readonly from: number;
  /** What the backend has seen now, for whoever looks the handle up next. */
  readonly seen: string;
  /** The handle goes by another name from now on. */
  readonly as?: string;
};

export type Handles = {
  /** The chat's handle that was used last, if it may be used once more. Whose turn it is among equals, the newer decides. */
  active(chat: SessionKey, limits: HandleLimits): Promise<Found>;
  /** A handle without any messages yet. */
  create(chat: SessionKey, id: string): Promise<void>;
  /** One message more. False, and nothing has changed: somebody else has used it since, or it is gone. */
  increment(id: string, counted: Counted): Promise<boolean>;
  /** Another note in place of the one that came with its last message. */
  note(id: string, seen: string): Promise<void>;
  /** The next message of the chat begins anew. */
  expire(id: string): Promise<void>;
  /** Those that nobody has used for so long. */
  old(maxAgeMs: number): Promise<readonly string[]>;
};
