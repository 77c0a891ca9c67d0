/** A conversation through the running gateway, so that only one process writes. */
import { randomUUID } from "node:crypto";
import type { News, Said } from "../gateway/live.js";
import type { Told } from "../http/asking.js";
import { keyOf } from "../message.js";
import { errorCode, UserError } from "../util/errors.js";
import type { Answer, Conversation, ConversationParts } from "./conversation.js";
import { addressOf, type Asked, keyOf as ownKeyOf } from "./running.js";

type Running = Extract<Asked, { kind: "running" }>;

/** The gateway has ended since; nothing was taken. */
export class NobodyThere extends Error {}

export function openRemote(parts: ConversationParts, { running, status }: Running): Conversation {
  const { world, session, from, heard, once } = parts;
  const address = addressOf(running);
  const closed = new AbortController();
  /** Messages of our own: what becomes of them their asker sees. */
  const own = new Set<string>();
  let asking = 0;

  const ended = (isTaken: boolean, cause?: unknown): Error => {
    const what = "The gateway has ended before it could answer.";
    if (isTaken)
      return new UserError(what, "Your message is kept: it is answered when the gateway runs again.", { cause });
    if (errorCode((cause as Error | undefined)?.cause) === "ECONNREFUSED") return new NobodyThere(what, { cause });
    return new UserError(what, "It may not have taken your message: look at the conversation before you ask again.", {
      cause,
    });
  };

  const post = async (text: string, id: string, on: (told: Told) => void): Promise<void> => {
    const answer = await world.fetch(`${address}/api/turns`, {
      method: "POST",
      headers: { "content-type": "application/json", ...ownKeyOf(running) },
      body: JSON.stringify({ session, text, id }),
      signal: closed.signal,
    });
    if (!answer.ok) {
      const { error } = (await answer.json()) as { error?: string };
      const fix = answer.status < 500 ? "Ask something else, or in another way." : "Its log says more.";
      throw new UserError(`The gateway did not take it: ${error ?? answer.status}`, fix);
    }
    for await (const told of eventsOf<Told>(answer)) on(told);
  };

  /** What is said when nobody has asked. */
  const listen = async (): Promise<void> => {
    const place = encodeURIComponent(keyOf(from));
    const answer = await world.fetch(`${address}/api/events?session=${place}`, {
      signal: closed.signal,
      headers: ownKeyOf(running),
    });
    for await (const event of eventsOf<News | Said>(answer)) {
      if (!("message" in event) || event.message.kind !== "text") continue;
      const { answers, text } = event.message;
      const isOwn = answers === undefined ? asking > 0 : own.has(answers);
      if (!isOwn) heard(text);
    }
  };
  // Whoever talks to a gateway that ends is told when he asks.
  if (!once) listen().catch(() => {});

  return {
    modelName: status.model,
    async ask(text, { signal, on }) {
      const id = randomUUID();
      own.add(id);
      asking++;
      let isTaken = false;
      let finished: Extract<Told, { kind: "finished" }> | undefined;
      const stop = (): void => void post("/stop", randomUUID(), () => {}).catch(() => {});
      signal.addEventListener("abort", stop, { once: true });
      try {
        await post(text, id, (told) => {
          isTaken = true;
          if (told.kind === "finished") finished = told;
          else if (told.kind === "said") heard(told.text);
          else if (told.kind !== "accepted" && told.kind !== "postponed") on?.(told);
        });
      } catch (error) {
        throw error instanceof UserError ? error : ended(isTaken, error);
      } finally {
        asking--;
        signal.removeEventListener("abort", stop);
      }
      if (!finished) throw ended(isTaken);
      // An answer that was faster than the wish to stop it stands.
      if (finished.turn.outcome.kind === "silent") signal.throwIfAborted();
      return answerOf(finished);
    },
    async close() {
      closed.abort();
    },
  };
}

function answerOf({ turn: { outcome, usage }, reply }: Extract<Told, { kind: "finished" }>): Answer {
  if (outcome.kind === "answered" || outcome.kind === "silent") {
    return { reply, ...(usage && { usage }), end: outcome.kind };
  }
  throw new UserError(reply ?? "It could not be answered.", outcome.reason ?? "The gateway's log says why.");
}

/** The events of a stream, one after the other. */
async function* eventsOf<Event>(answer: Response): AsyncGenerator<Event> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as Event;
  }
}
