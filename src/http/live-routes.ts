/** Talking and looking on: one message with everything that becomes of it, or all that happens, as server-sent events. */
import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import type { Address } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { ask, type AskParts } from "./asking.js";
import type { DoorApp, OpenStream } from "./event-stream.js";

export type LiveParts = AskParts & {
  /** Channels without a platform: what is said there is heard by whoever looks. */
  readonly localDoors: readonly string[];
  readonly openStream: OpenStream;
  readonly log: Log;
};

const turnSchema = z.object({
  /** The conversation. */
  session: z.string().check(z.minLength(1), z.maxLength(500)),
  text: z.string().check(z.minLength(1), z.maxLength(1_000_000)),
  /** Chosen by whoever asks, so that asking again after a broken connection is no second question. */
  id: z.optional(z.string().check(z.minLength(8), z.maxLength(100))),
});

export function addLiveRoutes(app: DoorApp, parts: LiveParts): void {
  const { live, localDoors, openStream, log } = parts;

  app.post("/api/turns", async (context) => {
    const asked = z.safeParse(turnSchema, await context.req.json().catch(() => undefined));
    if (!asked.success) return context.json({ error: "Send {session, text}, and nothing else." }, 400);
    const { session, text, id = randomUUID() } = asked.data;
    const from = placeOf(session, localDoors);
    return openStream(context, ({ send, end }) => {
      const message = { id, from, sender: ["owner"], text, media: [], session };
      const { over, leave } = ask(parts, message, (told) => send(JSON.stringify(told)));
      over.catch((error: unknown) => log.warn(`${session}: a message was not taken: ${reasonOf(error)}`)).finally(end);
      return leave;
    });
  });

  app.get("/api/events", (context) => {
    const session = context.req.query("session");
    return openStream(context, ({ send }) => {
      const tell = (event: unknown): void => send(JSON.stringify(event));
      return live.watch({ ...(session !== undefined && { session }), news: tell, said: tell });
    });
  });
}

/** Where an answer goes: to the conversation itself if nobody but us speaks there, else only to whoever asked. */
function placeOf(session: string, localDoors: readonly string[]): Address {
  const door = localDoors.find((name) => session.startsWith(`${name}:`));
  if (door === undefined) return { channel: "cli", chat: "direct" };
  return { channel: door, chat: session.slice(door.length + 1) };
}
