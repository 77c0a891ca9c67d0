/** The routes of the HTTP door. Loaded when somebody knocks; see server.ts. */
import { getRequestListener } from "@hono/node-server";
import type { RequestListener } from "node:http";
import { Hono } from "hono";
import { addEditorRoutes } from "./editor-routes.js";
import { createEventStreams, type DoorApp } from "./event-stream.js";
import { addLiveRoutes, type LiveParts } from "./live-routes.js";
import { addOpenAiRoutes, type OpenAiParts } from "./openai-routes.js";

export type DoorParts = Omit<LiveParts & OpenAiParts, "openStream">;

export function createDoor(given: DoorParts): RequestListener {
  const parts = { ...given, openStream: createEventStreams() };
  const app: DoorApp = new Hono();
  addLiveRoutes(app, parts);
  addEditorRoutes(app, parts);
  addOpenAiRoutes(app, parts);
  app.notFound((context) => context.json({ error: `There is nothing at ${context.req.path}.` }, 404));
  app.onError((error, context) => {
    parts.log.warn(`${context.req.method} ${context.req.path}: ${error.message}`, { error });
    return context.json({ error: "Something went wrong here. The log says what." }, 500);
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return (request, response) => void listener(request, response);
}
