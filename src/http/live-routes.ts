/** Talking and looking on: one message with everything that becomes of it, or all that happens, as server-sent events. */
import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import type { Address } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { ask, type AskParts } from "./asking.js";
import type { Conversations } from "./conversations.js";
import type { DoorApp, OpenStream } from "./event-stream.js";
import { mostPictures, NoPicture, savePictures, withPictures } from "./pictures.js";

export type LiveParts = AskParts & {
  readonly conversations: Pick<Conversations, "refusal">;
  /** Channels without a platform: what is said there is heard by whoever looks. */
  readonly localDoors: readonly string[];
  readonly openStream: OpenStream;
  /** Where the pictures of a door are kept. */
  readonly mediaOf: (door: string) => string;
  readonly log: Log;
};

const mostCharacters = 1_000_000;
const tooLong = `The text is too long: it may have ${mostCharacters.toLocaleString("en")} characters.`;

export const turnRequest = z.object({
  /** The conversation. */
  session: z.string().check(z.minLength(1), z.maxLength(500)),
  text: z.string().check(z.maxLength(mostCharacters)),
  /** Chosen by whoever asks, so that asking again after a broken connection is no second question. */
  id: z.optional(z.string().check(z.minLength(8), z.maxLength(100))),
  /** Pictures, as data URLs. */
  images: z.optional(z.array(z.string()).check(z.maxLength(mostPictures))),
});

export function addLiveRoutes(app: DoorApp, parts: LiveParts): void {
  const { live, conversations, localDoors, openStream, mediaOf, log } = parts;

  app.post("/api/turns", async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined);
    const asked = z.safeParse(turnRequest, body);
    if (isTooLong(body)) return context.json({ error: tooLong }, 400);
    if (!asked.success || (asked.data.text.trim() === "" && !asked.data.images?.length)) {
      return context.json({ error: "Send {session, text}, and nothing else but an id and images." }, 400);
    }
    const { session, text, id = randomUUID(), images = [] } = asked.data;
    // Once taken, it would be tried for ever.
    const refused = await conversations.refusal(session);
    if (refused !== undefined) return context.json({ error: refused }, 400);
    const from = placeOf(session, localDoors);
    const media = await savePictures(mediaOf("web"), id, images).catch((error: unknown) => {
      if (error instanceof NoPicture) return error;
      throw error;
    });
    if (media instanceof NoPicture) return context.json({ error: media.message }, 400);
    return openStream(context, ({ send, end }) => {
      const message = { id, from, sender: ["owner"], text: withPictures(text, media), media, session };
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

const isTooLong = (body: unknown): boolean => {
  const { text } = (body ?? {}) as { readonly text?: unknown };
  return typeof text === "string" && text.length > mostCharacters;
};

/** Where an answer goes: to the conversation itself if nobody but us speaks there, else only to whoever asked. */
function placeOf(session: string, localDoors: readonly string[]): Address {
  const door = localDoors.find((name) => session.startsWith(`${name}:`));
  if (door === undefined) return { channel: "cli", chat: "direct" };
  return { channel: door, chat: session.slice(door.length + 1) };
}
