/** The routes of the HTTP door. Loaded when somebody knocks; see server.ts. */
import { getRequestListener } from "@hono/node-server";
import type { RequestListener } from "node:http";
import { Hono } from "hono";
import { addLiveRoutes, type LiveParts } from "./live-routes.js";

export type DoorParts = LiveParts;

export function createDoor(parts: DoorParts): RequestListener {
  const app = new Hono();
  addLiveRoutes(app, parts);
  app.notFound((context) => context.json({ error: `There is nothing at ${context.req.path}.` }, 404));
  app.onError((error, context) => {
    parts.log.warn(`${context.req.method} ${context.req.path}: ${error.message}`, { error });
    return context.json({ error: "Something went wrong here. The log says what." }, 500);
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return (request, response) => void listener(request, response);
}
