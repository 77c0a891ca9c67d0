/** Talking and looking on: one message with everything that becomes of it, or all that happens, as server-sent events. */
import { randomUUID } from "node:crypto";
import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import * as z from "zod/mini";
import type { Delivery } from "../gateway/delivery.js";
import type { FinishedTurn, Outcome } from "../gateway/ledger.js";
import type { Live, LiveEvent, News, Said } from "../gateway/live.js";
import { type Address, type Inbound, keyOf } from "../message.js";
import type { Log } from "../world.js";

export type LiveParts = {
  readonly live: Live;
  readonly accept: (message: Inbound) => Promise<"accepted" | "repeat">;
  /** How a message ended, by the id its sender gave it; undefined while it has not. */
  readonly outcomeOf: (id: string) => Promise<Outcome["kind"] | undefined>;
  readonly delivery: Pick<Delivery, "settled">;
  /** Channels without a platform: what is said there is heard by whoever looks. */
  readonly localDoors: readonly string[];
  readonly log: Log;
};

/** What a client is told, one per event. */
export type Told =
  | Exclude<LiveEvent, { kind: "finished" }>
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "finished"; readonly turn: Pick<FinishedTurn, "outcome" | "usage">; readonly reply?: string };

const turnSchema = z.object({
  /** The conversation. */
  session: z.string().check(z.minLength(1), z.maxLength(500)),
  text: z.string().check(z.minLength(1), z.maxLength(1_000_000)),
  /** Chosen by whoever asks, so that asking again after a broken connection is no second question. */
  id: z.optional(z.string().check(z.minLength(8), z.maxLength(100))),
});

/** Something is said so often that no proxy takes the connection for dead. */
const breathMs = 15_000;

export function addLiveRoutes(app: Hono, { live, accept, outcomeOf, delivery, localDoors }: LiveParts): void {
  app.post("/api/turns", async (context) => {
    const asked = z.safeParse(turnSchema, await context.req.json().catch(() => undefined));
    if (!asked.success) return context.json({ error: "Send {session, text}, and nothing else." }, 400);
    const { session, text, id = randomUUID() } = asked.data;
    const from = placeOf(session, localDoors);
    return events(context, (tell, end) => {
      const isOurs = (news: News): boolean => news.id === id && news.session === session;
      const stopLooking = live.watch({
        news: (news) => {
          if (!isOurs(news)) return;
          const { event } = news;
          if (event.kind !== "finished") tell(event);
          if (event.kind === "postponed") end();
          // What tools have said on the way comes first.
          if (event.kind === "finished") void delivery.settled(from).then(() => (tell(finished(event.turn)), end()));
        },
        said: ({ session: place, message }) => {
          if (place !== keyOf(from) || message.kind !== "text" || message.answers !== undefined) return;
          tell({ kind: "said", text: message.text });
        },
      });
      const begin = async (): Promise<void> => {
        const how = await accept({ id, from, sender: ["owner"], text, media: [], session });
        const kind = how === "repeat" ? await outcomeOf(id) : undefined;
        // Asked again after it was answered: the answer stands in the conversation.
        if (kind) end(tell({ kind: "finished", turn: { outcome: { kind } } }));
      };
      begin().catch(end);
      return stopLooking;
    });
  });

  app.get("/api/events", (context) => {
    const session = context.req.query("session");
    return events(context, (tell) =>
      live.watch({
        ...(session !== undefined && { session }),
        news: tell,
        said: tell,
      }),
    );
  });
}

/** Where an answer goes: to the conversation itself if nobody but us speaks there, else only to whoever asked. */
function placeOf(session: string, localDoors: readonly string[]): Address {
  const door = localDoors.find((name) => session.startsWith(`${name}:`));
  if (door === undefined) return { channel: "cli", chat: "direct" };
  return { channel: door, chat: session.slice(door.length + 1) };
}

function finished({ outcome, usage, messages }: FinishedTurn): Told {
  const texts = messages.flatMap((message) => (message.kind === "text" ? [message.text] : []));
  const turn = { outcome, ...(usage && { usage }) };
  return texts.length === 0 ? { kind: "finished", turn } : { kind: "finished", turn, reply: texts.join("\n\n") };
}

/** A stream of events, until somebody ends it or the client goes. */
function events(
  context: Context,
  start: (tell: (event: Told | News | Said) => void, end: (error?: unknown) => void) => () => void,
): Response {
  return streamSSE(context, async (stream) => {
    await new Promise<void>((resolve, reject) => {
      let stopLooking = (): void => {};
      const breath = setInterval(() => void stream.write(": still here\n\n"), breathMs);
      const end = (error?: unknown): void => {
        clearInterval(breath);
        stopLooking();
        if (error === undefined) resolve();
        else reject(error);
      };
      stream.onAbort(() => end());
      stopLooking = start((event) => void stream.write(`data: ${JSON.stringify(event)}\n\n`), end);
    });
  });
}
