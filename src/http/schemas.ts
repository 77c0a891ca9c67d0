/** The words of api.ts as schemas: what the OpenAPI document is made of, and what answers are tested against. */
import * as z from "zod/mini";
import type { News, Said } from "../gateway/live.js";
import type * as api from "./api.js";
import type { Told } from "./asking.js";

/** What is left of a value on its way: what is undefined is not there. */
type Wire<T> = T extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : T extends object
    ? { readonly [K in keyof T as undefined extends T[K] ? never : K]: Wire<T[K]> } & {
        readonly [K in keyof T as undefined extends T[K] ? K : never]?: Wire<Exclude<T[K], undefined>>;
      }
    : T;
/** A schema for these words and no others: the compiler sees to it. */
type Of<T> = z.ZodMiniType<Wire<T>>;

const maybe = z.exactOptional;
const object = z.strictObject;
const list = z.array;
const text = z.string();
const whole = z.int();

const row = z.record(text, z.unknown());
const usage = object({ input: whole, output: whole, cached: whole });
const outcomeKind = z.enum(["answered", "silent", "failed", "dead"]);
const outcome = object({ kind: outcomeKind, reason: maybe(text) });

export const refused: Of<api.Refused> = object({ error: text });
export const done: Of<api.Done> = object({ done: z.boolean() });
export const login: Of<api.Login> = object({ token: text });

export const overview: Of<api.Overview> = object({
  version: text,
  model: text,
  uptimeSeconds: whole,
  ready: z.boolean(),
  channels: list(
    object({
      name: text,
      state: z.enum(["starting", "up", "deaf", "down"]),
      lastAliveMs: maybe(z.number()),
      restarts: whole,
      reason: maybe(text),
    }),
  ),
  lanes: object({ lanes: whole, queued: whole }),
  ledger: object({
    open: whole,
    unsent: whole,
    dead: whole,
    oldestOpenAt: maybe(whole),
    outcomes: z.record(text, whole),
  }),
  unwritten: maybe(z.record(text, text)),
  residentBytes: whole,
  eventLoopDelayMs: z.number(),
});

export const sessionList: Of<api.SessionList> = object({
  total: whole,
  sessions: list(object({ key: text, createdAt: text, updatedAt: text, last: maybe(object({ role: text, text })) })),
});
export const rowPage: Of<api.RowPage> = object({
  total: whole,
  from: whole,
  rows: list(row),
  lines: maybe(list(text)),
});
export const verified: Of<api.Verified> = object({ ok: z.boolean(), problems: list(text) });

const entry = object({
  trace: text,
  platformId: text,
  channel: text,
  chat: text,
  text,
  receivedAt: whole,
  attempts: whole,
  outcome: maybe(outcomeKind),
  reason: maybe(text),
});
export const messageList: Of<api.MessageList> = object({ messages: list(entry) });
export const messageTrace: Of<api.MessageTrace> = object({
  entry,
  events: list(object({ at: whole, what: text, detail: text })),
});

const memoryChange = { id: text, time: text, by: text, isUndoable: z.boolean() };
export const memoryView: Of<api.MemoryView> = object({
  memory: text,
  history: text,
  changes: list(object(memoryChange)),
});
export const memoryDiff: Of<api.MemoryDiff> = object({ ...memoryChange, before: text, after: text });

export const jobList: Of<api.JobList> = object({
  jobs: list(
    object({
      id: text,
      name: text,
      message: text,
      enabled: z.boolean(),
      schedule: z.discriminatedUnion("kind", [
        object({ kind: z.literal("every"), everyMs: z.number() }),
        object({ kind: z.literal("cron"), expr: text, tz: maybe(text) }),
        object({ kind: z.literal("at"), atMs: z.number() }),
      ]),
      timing: text,
      to: maybe(text),
      policy: object({
        misfire: z.enum(["skip", "once", "all"]),
        graceMs: z.number(),
        overlap: z.enum(["skip", "wait"]),
        limitMs: z.number(),
        retries: whole,
      }),
      nextRunsMs: list(z.number()),
    }),
  ),
});
export const occurrenceList: Of<api.OccurrenceList> = object({
  occurrences: list(
    object({
      jobId: text,
      dueAtMs: z.number(),
      startedAtMs: maybe(z.number()),
      finishedAtMs: maybe(z.number()),
      outcome: maybe(text),
      reason: maybe(text),
    }),
  ),
});

export const usageList: Of<api.UsageList> = object({
  usage: list(
    object({ day: text, session: text, model: text, turns: whole, input: whole, output: whole, cached: whole }),
  ),
});

const call = object({
  id: text,
  type: z.literal("function"),
  function: object({ name: text, arguments: text }),
});
const address = object({ channel: text, chat: text });
const outbound = z.discriminatedUnion("kind", [
  object({ kind: z.literal("text"), to: address, text, answers: maybe(text), replaces: maybe(text) }),
  object({ kind: z.literal("file"), to: address, path: text, caption: text }),
]);
const turnEvents = [
  object({ kind: z.literal("accepted"), text }),
  object({ kind: z.literal("text"), text }),
  object({ kind: z.literal("restart") }),
  object({ kind: z.literal("progress"), text }),
  object({ kind: z.literal("tool-call"), call, hint: text }),
  object({ kind: z.literal("tool-result"), call, result: text }),
  object({ kind: z.literal("postponed") }),
] as const;
export const told: Of<Told> = z.discriminatedUnion("kind", [
  ...turnEvents,
  object({ kind: z.literal("said"), text }),
  object({ kind: z.literal("finished"), turn: object({ outcome, usage: maybe(usage) }), reply: maybe(text) }),
]);
const finished = object({
  rows: list(row),
  messages: list(outbound),
  outcome,
  usage: maybe(usage),
  model: maybe(text),
});
const news: Of<News> = object({
  session: text,
  id: text,
  trace: text,
  event: z.discriminatedUnion("kind", [...turnEvents, object({ kind: z.literal("finished"), turn: finished })]),
});
/** What was said is told as it was sent, with whatever delivery knows of it. */
const said: Of<Said> = object({
  session: text,
  message: z.discriminatedUnion("kind", [
    z.looseObject(outbound.def.options[0].shape),
    z.looseObject(outbound.def.options[1].shape),
  ]),
});
export const event: Of<News | Said> = z.union([news, said]);
