/** What an error of Telegram means: for the owner, for the poll, and for a message that was to be sent. */
import { GrammyError, HttpError } from "grammy";
import { reasonOf, UserError } from "../util/errors.js";
import { SendFailure } from "./channel.js";

/** Errors of the network at which the request has surely not left. */
const unsent =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|EPROXY|CERT_|ERR_TLS|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/;

/** The error without the bot's token, which stands in every address and so in what the network says of it. */
export function withoutToken(error: unknown, token: string): Error {
  const said = error instanceof HttpError ? `${error.message} ${reasonOf(error.error)}` : reasonOf(error);
  // No cause: it holds the token, and causes are logged.
  return new Error(said.replaceAll(token, "<token>"));
}

/** A {@link SendFailure} when Telegram has not taken the message; otherwise some other error, for nobody knows. */
export function sortFailure(error: unknown, token: string): unknown {
  if (error instanceof GrammyError) {
    const { error_code: code, description } = error;
    if (code === 429) {
      return new SendFailure("later", "Telegram asks to wait.", { cause: error, afterMs: retryAfterMs(error) ?? 1000 });
    }
    // A refused token can be put right; the message is still good then.
    const when = code >= 500 || code === 401 || code === 404 ? "later" : "never";
    return new SendFailure(when, `Telegram refused: ${description} (${code}).`, { cause: error });
  }
  if (error instanceof HttpError) {
    const plain = withoutToken(error, token);
    return neverLeft(error.error) ? new SendFailure("later", plain.message) : plain;
  }
  return error;
}

function neverLeft(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return unsent.test(code) || / reason: (?:connect|getaddrinfo) /.test(error.message);
}

export const retryAfterMs = (error: unknown): number | undefined =>
  error instanceof GrammyError && error.parameters.retry_after !== undefined
    ? error.parameters.retry_after * 1000
    : undefined;

/** Is it worth asking again, without the owner doing anything? */
export const mayPass = (error: unknown): boolean =>
  error instanceof HttpError || (error instanceof GrammyError && (error.error_code === 429 || error.error_code >= 500));

export const isConflict = (error: unknown): boolean => error instanceof GrammyError && error.error_code === 409;

export const refusedWith = (error: unknown, words: RegExp): boolean =>
  error instanceof GrammyError && error.error_code === 400 && words.test(error.description);

/** What only the owner can put right, with how. */
export function explain(error: unknown): unknown {
  if (!(error instanceof GrammyError)) return error;
  const { error_code: code, description } = error;
  // A token that is not even shaped like one is "not found".
  if (code === 401 || code === 404) {
    return new UserError(
      "Telegram refused the bot token.",
      "Ask @BotFather for a new one (/token) and set channels.telegram.token.",
      { cause: error },
    );
  }
  if (code === 409 && /webhook/i.test(description)) {
    return new UserError(
      "Telegram delivers this bot's messages to a webhook, so they cannot be fetched.",
      "Remove it by opening https://api.telegram.org/bot<token>/deleteWebhook, or use another bot.",
      { cause: error },
    );
  }
  if (code === 409) {
    return new UserError(
      "Another program is receiving this bot's messages: Telegram gives them to one only.",
      "Stop the other one (an old nanobot or nanogate?), or give this one a bot of its own from @BotFather.",
      { cause: error },
    );
  }
  return error;
}
