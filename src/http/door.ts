/** The routes of the HTTP door. Loaded when somebody knocks; see server.ts. */
import { getRequestListener } from "@hono/node-server";
import type { RequestListener } from "node:http";
import { Hono } from "hono";
import { addEditorRoutes, type EditorParts } from "./editor-routes.js";
import { createEventStreams, type DoorApp } from "./event-stream.js";
import { addJobRoutes, type JobParts } from "./job-routes.js";
import { addLedgerRoutes, type LedgerParts } from "./ledger-routes.js";
import { addLiveRoutes, type LiveParts } from "./live-routes.js";
import { addLoginRoutes, type LoginParts } from "./login-routes.js";
import { addMemoryRoutes, type MemoryParts } from "./memory-routes.js";
import { addOpenAiRoutes, type OpenAiParts, unknownUrl } from "./openai-routes.js";
import { addOpenApiRoute, type OpenApiParts } from "./openapi.js";
import { addOverviewRoutes, type OverviewParts } from "./overview-routes.js";
import { addPageRoutes, type PageParts } from "./page-routes.js";
import { addSessionRoutes, type SessionParts } from "./session-routes.js";

export type DoorParts = Omit<
  EditorParts &
    JobParts &
    LedgerParts &
    LiveParts &
    LoginParts &
    MemoryParts &
    OpenAiParts &
    OpenApiParts &
    OverviewParts &
    PageParts &
    SessionParts,
  "openStream"
>;

export function createDoor(parts: DoorParts): RequestListener {
  const listener = getRequestListener(createRoutes(parts).fetch, { overrideGlobalObjects: false });
  return (request, response) => void listener(request, response);
}

export function createRoutes(given: DoorParts): DoorApp {
  const parts = { ...given, openStream: createEventStreams() };
  const app: DoorApp = new Hono();
  addLiveRoutes(app, parts);
  addEditorRoutes(app, parts);
  addOpenAiRoutes(app, parts);
  addOverviewRoutes(app, parts);
  addSessionRoutes(app, parts);
  addLedgerRoutes(app, parts);
  addMemoryRoutes(app, parts);
  addJobRoutes(app, parts);
  addOpenApiRoute(app, parts);
  addLoginRoutes(app, parts);
  addPageRoutes(app, parts);
  app.notFound((context) => {
    const { path } = context.req;
    const words = `There is nothing at ${path}.`;
    return context.json(path.startsWith("/v1/") ? unknownUrl(words) : { error: words }, 404);
  });
  app.onError((error, context) => {
    parts.log.warn(`${context.req.method} ${context.req.path}: ${error.message}`, { error });
    return context.json({ error: "Something went wrong here. The log says what." }, 500);
  });
  return app;
}
