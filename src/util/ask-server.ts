/** Asks a server something that costs nothing, to try a key or a token. */
import { reasonOf, UserError } from "./errors.js";

export type Fetch = typeof fetch;

/** Nobody could be asked: it says nothing about the key. */
export class Unreachable extends UserError {
  override readonly name = "Unreachable";
}

const patienceMs = 15_000;

export type Answer = { readonly status: number; readonly body: Record<string, unknown> };

export async function askServer(
  fetch: Fetch,
  who: string,
  url: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs) });
    const text = await response.text();
    return { status: response.status, body: objectIn(text) };
  } catch (error) {
    // The address may hold the token, so it is not shown; the cause says what happened.
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Unreachable(`${who} cannot be reached: ${reasonOf(cause)}.`, "Check the connection and try again.");
  }
}

/** Something that nobody sends who is well. */
export const oddAnswer = (who: string, { status, body }: Answer): Unreachable => {
  const words = body["description"] ?? body["message"];
  const said = typeof words === "string" ? `${status} ${words}` : String(status);
  return new Unreachable(`${who} gave an odd answer: ${said}.`, "Try again a little later.");
};

/** The JSON object that a text is, or an empty one. */
export function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
