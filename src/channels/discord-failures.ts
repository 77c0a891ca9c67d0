/** What an error of Discord means: for the owner, and for a message that was to be sent. */
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { SendFailure } from "./channel.js";
import type * as Library from "./discord-library.js";

/** Errors of the network at which the request has surely not left. */
const unsent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];
/** Slow mode, write limits, overload: refused now, taken later. */
const busyCodes: readonly (string | number)[] = [20016, 20022, 20028, 40062, 130000];

/** A {@link SendFailure} when Discord has not taken the message; otherwise the error as it is, for nobody knows. */
export function sortFailure(error: unknown, { DiscordAPIError, RateLimitError }: typeof Library): unknown {
  if (error instanceof RateLimitError) {
    return new SendFailure("later", "Discord asks to wait.", { cause: error, afterMs: error.retryAfter });
  }
  if (error instanceof DiscordAPIError) {
    if (error.status === 401) return new SendFailure("later", "Discord refused the bot token.", { cause: error });
    const isFinal = isOwnRefusal(error) || error.status === 413;
    const when = isFinal && !busyCodes.includes(error.code) ? "never" : "later";
    return new SendFailure(when, `Discord refused: ${error.message} (${error.code}).`, { cause: error });
  }
  // fetch says no more than that it failed; why is its cause.
  const fault = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  if (unsent.includes(errorCode(fault) ?? "")) {
    return new SendFailure("later", `Discord cannot be reached: ${reasonOf(fault)}`, { cause: error });
  }
  return error;
}

/** Discord itself says no, by a code of its own. A page of somebody on the way, with the same status, says nothing. */
export function isOwnRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown };
  return [400, 403, 404].includes(Number(status)) && typeof code === "number" && code > 0;
}

/** "Cannot reply without permission to read message history." */
const cannotQuote = 160002;

/** It was not the words that were refused, but that they quote: then they can go alone. */
export function refusesQuote(error: unknown): boolean {
  if (!(error instanceof SendFailure) || typeof error.cause !== "object" || error.cause === null) return false;
  const { code, rawError } = error.cause as {
    readonly code?: unknown;
    readonly rawError?: { readonly errors?: object };
  };
  return code === cannotQuote || "message_reference" in (rawError?.errors ?? {});
}

const portal = "https://discord.com/developers/applications";

/** A connection that was closed for a reason the owner can put right. */
export function explainClose(code: number, cause?: unknown): Error {
  if (code === 4004) return refusedToken(cause);
  if (code === 4014 || code === 4013) {
    return new UserError(
      "Discord does not let the bot read messages: the Message Content intent is not granted.",
      `Open the application at ${portal}, page Bot, switch on "Message Content Intent", and start again.`,
      { cause },
    );
  }
  return new Error(`Discord closed the connection (${code}).`, { cause });
}

export const refusedToken = (cause: unknown): UserError =>
  new UserError(
    "Discord refused the bot token.",
    `Open the application at ${portal}, page Bot, reset the token, and set channels.discord.token.`,
    { cause },
  );
