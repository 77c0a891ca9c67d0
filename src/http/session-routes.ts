/** All conversations, for the page: a list, rows from the newest backwards, checks, and the file to take along. */
import { pipeline } from "node:stream/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { chatName } from "./chat-names.js";
import type { Conversations } from "./conversations.js";
import type { Asked, DoorApp } from "./event-stream.js";
import { numberIn } from "./query.js";

export type SessionParts = { readonly conversations: Conversations; readonly log: Log };

export function addSessionRoutes(app: DoorApp, { conversations, log }: SessionParts): void {
  const unknown = (context: Asked, key: string): Response =>
    context.json({ error: `There is no conversation ${key}.` }, 404);

  app.get("/api/sessions", async (context) =>
    context.json(
      await conversations.list({
        q: context.req.query("q") ?? "",
        limit: numberIn(context, "limit", { otherwise: 50, most: 200 }),
        offset: numberIn(context, "offset", { otherwise: 0, most: 1e9 }),
      }),
    ),
  );

  app.get("/api/sessions/:key/rows", async (context) => {
    const key = context.req.param("key");
    const found = await conversations.page(key, {
      ...(context.req.query("before") && { before: numberIn(context, "before", { otherwise: 0, most: 1e9 }) }),
      limit: numberIn(context, "limit", { otherwise: 100, most: 500 }),
      raw: context.req.query("raw") === "1",
    });
    if (found) return context.json(found);
    return context.req.query("empty") === "1" ? context.json({ total: 0, from: 0, rows: [] }) : unknown(context, key);
  });

  app.get("/api/sessions/:key/verify", async (context) => {
    const key = context.req.param("key");
    const found = await conversations.verify(key);
    return found ? context.json(found) : unknown(context, key);
  });

  app.get("/api/sessions/:key/export", async (context) => {
    const key = context.req.param("key");
    const lines = await conversations.export(key);
    if (!lines) return unknown(context, key);
    const { outgoing } = context.env;
    outgoing.writeHead(200, {
      "content-type": "application/x-ndjson; charset=utf-8",
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(`${chatName(key)}.jsonl`)}`,
      "cache-control": "no-store",
    });
    pipeline(lines, outgoing).catch((error: unknown) => log.warn(`The export of ${key} broke off: ${reasonOf(error)}`));
    return RESPONSE_ALREADY_SENT;
  });
}
