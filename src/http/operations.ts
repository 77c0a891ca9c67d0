/** Everything the door does, path by path: what is asked, what is answered. The OpenAPI document is made of it. */
import * as z from "zod/mini";
import { chatEvent, chatRequest, chatResponse } from "./editor-routes.js";
import { turnRequest } from "./live-routes.js";
import { completion, completionRequest, modelEntry, modelList, openAiError } from "./openai-routes.js";
import * as schemas from "./schemas.js";

export type Operation = {
  readonly method: "get" | "post" | "delete";
  /** `/api/sessions/:key/rows` */
  readonly path: string;
  readonly tag: "chat" | "page" | "health";
  readonly summary: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: z.ZodMiniType;
  readonly answer: Content;
  /** Whoever is not let in, or asks for what is not there, is answered with words besides. */
  readonly refusals?: Readonly<Record<number, z.ZodMiniType>>;
};
export type Content =
  | { readonly type: "application/json"; readonly schema: z.ZodMiniType }
  /** The data of each event. */
  | { readonly type: "text/event-stream"; readonly schema: z.ZodMiniType }
  | { readonly type: "text/plain" | "text/html" | "application/x-ndjson" };

const json = (schema: z.ZodMiniType): Content => ({ type: "application/json", schema });
const events = (schema: z.ZodMiniType): Content => ({ type: "text/event-stream", schema });
const refused = (...codes: number[]): Record<number, z.ZodMiniType> =>
  Object.fromEntries(codes.map((code) => [code, schemas.refused]));
const openAiRefused = (...codes: number[]): Record<number, z.ZodMiniType> =>
  Object.fromEntries(codes.map((code) => [code, openAiError]));

const whose = { session: "Whose memory, where each chat has one of its own" };
const done = json(schemas.done);
const anything = z.record(z.string(), z.unknown());

export const operations: readonly Operation[] = [
  {
    method: "post",
    path: "/chat",
    tag: "chat",
    summary: "The chat of an editor: one conversation for each file",
    body: chatRequest,
    answer: json(chatResponse),
    refusals: refused(400, 429, 500, 503),
  },
  {
    method: "post",
    path: "/chat/stream",
    tag: "chat",
    summary: "The same, as it happens",
    body: chatRequest,
    answer: events(chatEvent),
    refusals: refused(400),
  },
  {
    method: "post",
    path: "/v1/chat/completions",
    tag: "chat",
    summary: "The OpenAI protocol; with stream: true a stream of chunks",
    body: completionRequest,
    answer: json(completion),
    refusals: openAiRefused(400, 404, 429, 500, 503),
  },
  { method: "get", path: "/v1/models", tag: "chat", summary: "Who answers", answer: json(modelList) },
  {
    method: "get",
    path: "/v1/models/:id",
    tag: "chat",
    summary: "One of them",
    answer: json(modelEntry),
    refusals: openAiRefused(404),
  },
  {
    method: "post",
    path: "/api/turns",
    tag: "chat",
    summary: "One message to any conversation, and everything that becomes of it",
    body: turnRequest,
    answer: events(schemas.told),
    refusals: refused(400),
  },
  {
    method: "get",
    path: "/api/events",
    tag: "page",
    summary: "What happens, as it happens",
    query: { session: "Only in this conversation" },
    answer: events(schemas.event),
  },
  { method: "get", path: "/api/overview", tag: "page", summary: "How the gateway is", answer: json(schemas.overview) },
  {
    method: "get",
    path: "/api/pulse",
    tag: "page",
    summary: "The same every two seconds",
    answer: events(schemas.overview),
  },
  {
    method: "get",
    path: "/api/sessions",
    tag: "page",
    summary: "All conversations, the newest first",
    query: { q: "Look for this in keys and in what was said last", limit: "50, at most 200", offset: "0" },
    answer: json(schemas.sessionList),
  },
  {
    method: "get",
    path: "/api/sessions/:key/rows",
    tag: "page",
    summary: "Rows of a conversation, in order",
    query: {
      before: "Up to and without this row; absent: the newest",
      limit: "100, at most 500",
      raw: "1: the lines, too",
      empty: "1: a conversation that is not there has no rows, and is no 404",
    },
    answer: json(schemas.rowPage),
    refusals: refused(404),
  },
  {
    method: "get",
    path: "/api/sessions/:key/verify",
    tag: "page",
    summary: "Reads every line and names each damage",
    answer: json(schemas.verified),
    refusals: refused(404),
  },
  {
    method: "get",
    path: "/api/sessions/:key/export",
    tag: "page",
    summary: "The conversation as a file",
    answer: { type: "application/x-ndjson" },
    refusals: refused(404),
  },
  {
    method: "get",
    path: "/api/messages",
    tag: "page",
    summary: "Messages and their outcomes, the newest first",
    query: { filter: "problems: open, failed and dead ones only", limit: "100, at most 1000" },
    answer: json(schemas.messageList),
  },
  {
    method: "get",
    path: "/api/messages/:trace",
    tag: "page",
    summary: "The life of one message",
    answer: json(schemas.messageTrace),
    refusals: refused(404),
  },
  {
    method: "post",
    path: "/api/messages/:trace/retry",
    tag: "page",
    summary: "Puts a failed or dead message back",
    answer: done,
  },
  {
    method: "post",
    path: "/api/messages/:trace/discard",
    tag: "page",
    summary: "Drops an open, failed or dead message for good",
    answer: done,
  },
  {
    method: "get",
    path: "/api/memory",
    tag: "page",
    summary: "What is remembered",
    query: whose,
    answer: json(schemas.memoryView),
    refusals: refused(400),
  },
  {
    method: "get",
    path: "/api/memory/:id",
    tag: "page",
    summary: "One change of it: both texts",
    query: whose,
    answer: json(schemas.memoryDiff),
    refusals: refused(400, 404),
  },
  {
    method: "post",
    path: "/api/memory/:id/undo",
    tag: "page",
    summary: "Takes the last change back",
    query: whose,
    answer: done,
    refusals: refused(400, 404, 409),
  },
  {
    method: "get",
    path: "/api/jobs",
    tag: "page",
    summary: "Jobs by the clock",
    answer: json(schemas.jobList),
    refusals: refused(404),
  },
  ...(["run", "enable", "disable"] as const).map((change): Operation => ({
    method: "post",
    path: `/api/jobs/:id/${change}`,
    tag: "page",
    summary: { run: "Has a job run now", enable: "Lets a job run again", disable: "Pauses a job" }[change],
    answer: done,
    refusals: refused(404),
  })),
  {
    method: "delete",
    path: "/api/jobs/:id",
    tag: "page",
    summary: "Removes a job",
    answer: done,
    refusals: refused(404),
  },
  {
    method: "get",
    path: "/api/occurrences",
    tag: "page",
    summary: "What became of each time a job was due, the newest first",
    query: { job: "Only of this job", limit: "100, at most 1000" },
    answer: json(schemas.occurrenceList),
  },
  {
    method: "get",
    path: "/api/usage",
    tag: "page",
    summary: "Tokens by day, conversation and model",
    query: { days: "30, at most 400" },
    answer: json(schemas.usageList),
  },
  {
    method: "post",
    path: "/api/login",
    tag: "page",
    summary: "Sets a cookie for whoever has the token",
    body: schemas.login,
    answer: done,
    refusals: refused(400, 401),
  },
  { method: "post", path: "/api/logout", tag: "page", summary: "Removes the cookie", answer: done },
  { method: "get", path: "/openapi.json", tag: "health", summary: "This document", answer: json(anything) },
  {
    method: "get",
    path: "/healthz",
    tag: "health",
    summary: "Whether it lives; open to everybody",
    answer: json(z.strictObject({ status: z.literal("ok") })),
  },
  {
    method: "get",
    path: "/readyz",
    tag: "health",
    summary: "Whether every channel hears its platform; open to everybody",
    answer: json(anything),
    refusals: { 503: anything },
  },
  { method: "get", path: "/status", tag: "health", summary: "What it is doing", answer: json(anything) },
  {
    method: "get",
    path: "/metrics",
    tag: "health",
    summary: "The same for Prometheus",
    answer: { type: "text/plain" },
  },
];
