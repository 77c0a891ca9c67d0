/** One job of jobs.json in our words, and back: both of nanobot's shapes, and what each event changes in it. */
import type { Address, SessionKey } from "../message.js";
import { isObject } from "../session/header.js";
import { PythonFloat, type PythonObject, type PythonValue } from "../session/python-json.js";
import type { Job, LastRun, NewJob, Schedule } from "./job.js";
import { type Entry, fieldOf, innerOf, withFields } from "./jobs-json.js";

export type StoredJob = Omit<Job, "policy">;

export type ReadEntry =
  | { readonly kind: "job"; readonly job: StoredJob }
  /** Another program's, such as nanobot's `system_event` jobs: kept, and not ours to run. */
  | { readonly kind: "foreign" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** nanobot keeps so many of the newest runs. */
const keptRuns = 20;
const ownKind = "agent_turn";

export function readEntry(entry: Entry): ReadEntry {
  if (!isObject(entry)) return { kind: "unreadable", reason: "it is no object" };
  const id = entry["id"];
  if (typeof id !== "string" || id === "") return { kind: "unreadable", reason: "it has no id" };
  const payload = innerOf(entry, "payload");
  if ((payload["kind"] ?? ownKind) !== ownKind) return { kind: "foreign" };
  const schedule = readSchedule(innerOf(entry, "schedule"));
  if (!schedule) return { kind: "unreadable", reason: `job ${id} has no schedule of a known kind` };
  const state = innerOf(entry, "state");
  const [nextRunAtMs, last] = [numberIn(state, "nextRunAtMs"), readLast(state)];
  const job: StoredJob = {
    id,
    name: textIn(entry, "name") ?? "",
    message: textIn(payload, "message") ?? "",
    enabled: Boolean(fieldOf(entry, "enabled") ?? true),
    schedule,
    ...target(payload, id),
    deleteAfterRun: Boolean(fieldOf(entry, "deleteAfterRun") ?? false),
    createdAtMs: numberIn(entry, "createdAtMs") ?? 0,
    ...(nextRunAtMs !== undefined && { nextRunAtMs }),
    ...(last && { last }),
  };
  return { kind: "job", job };
}

function readLast(state: PythonObject): LastRun | undefined {
  const [atMs, status, error] = [
    numberIn(state, "lastRunAtMs"),
    fieldOf(state, "lastStatus"),
    textIn(state, "lastError"),
  ];
  if (atMs === undefined || (status !== "ok" && status !== "error" && status !== "skipped")) return undefined;
  return { atMs, status, ...(error !== undefined && { error }) };
}

/** What is missing becomes what is never due: such a job stays in the list and can be seen there. */
function readSchedule(schedule: PythonObject): Schedule | undefined {
  const tz = textIn(schedule, "tz");
  switch (schedule["kind"]) {
    case "at":
      return { kind: "at", atMs: numberIn(schedule, "atMs") ?? 0 };
    case "every":
      return { kind: "every", everyMs: numberIn(schedule, "everyMs") ?? 0 };
    case "cron":
      return { kind: "cron", expr: textIn(schedule, "expr") ?? "", ...(tz && { tz }) };
    default:
      return undefined;
  }
}

/**
 * A job of v0.2.2 or later is bound to the session it was made in, and runs there. An older one runs in a session of its
 * own, and says whether and where to deliver. Only the session's key knows the topic or thread.
 */
function target(payload: PythonObject, id: string): { readonly session: SessionKey; readonly to?: Address } {
  const key = textIn(payload, "sessionKey");
  const [channel, chat] = [textIn(payload, "originChannel"), textIn(payload, "originChatId")];
  if (channel && chat) {
    const to = inTopic({ channel, chat }, key);
    return { session: key || `${channel}:${to.chat}`, to };
  }
  const [oldChannel, oldChat] = [textIn(payload, "channel"), textIn(payload, "to")];
  const delivers = Boolean(payload["deliver"]) && oldChannel && oldChat;
  return {
    session: `cron:${id}`,
    ...(delivers && { to: inTopic({ channel: oldChannel, chat: oldChat }, key) }),
  };
}

const inTopic = ({ channel, chat }: Address, key: string | undefined): Address => ({
  channel,
  chat: key?.startsWith(`${channel}:${chat}:`) ? key.slice(channel.length + 1) : chat,
});

/** As v0.1.4.post4 writes it, which every version reads. */
export function newEntry(job: Omit<NewJob, "policy">, id: string, now: number, nextRunAtMs: number): PythonObject {
  const { name, message, schedule, to, deleteAfterRun } = job;
  return {
    id,
    name,
    enabled: true,
    schedule: {
      kind: schedule.kind,
      atMs: schedule.kind === "at" ? schedule.atMs : null,
      everyMs: schedule.kind === "every" ? schedule.everyMs : null,
      expr: schedule.kind === "cron" ? schedule.expr : null,
      tz: schedule.kind === "cron" ? (schedule.tz ?? null) : null,
    },
    payload: {
      kind: ownKind,
      message,
      deliver: to !== undefined,
      channel: to?.channel ?? null,
      to: to?.chat ?? null,
    },
    state: { nextRunAtMs, lastRunAtMs: null, lastStatus: null, lastError: null },
    createdAtMs: now,
    updatedAtMs: now,
    deleteAfterRun,
  };
}

export function enabledEntry(
  entry: PythonObject,
  enabled: boolean,
  now: number,
  next: number | undefined,
): PythonObject {
  return withFields(entry, {
    enabled,
    state: withFields(innerOf(entry, "state"), { nextRunAtMs: next ?? null }),
    updatedAtMs: now,
  });
}

/** Undefined: it is over and wished to be removed. */
export function ranEntry(
  entry: PythonObject,
  last: LastRun,
  next: number | undefined,
  now: number,
): PythonObject | undefined {
  const isOver = next === undefined;
  if (isOver && Boolean(fieldOf(entry, "deleteAfterRun"))) return undefined;
  const state = innerOf(entry, "state");
  const runs = fieldOf(state, "runHistory");
  return withFields(entry, {
    ...(isOver && { enabled: false }),
    state: withFields(state, {
      nextRunAtMs: next ?? null,
      lastRunAtMs: last.atMs,
      lastStatus: last.status,
      lastError: last.error ?? null,
      ...(Array.isArray(runs) && {
        runHistory: [...(runs as readonly PythonValue[]), run(last, now)].slice(-keptRuns),
      }),
    }),
    updatedAtMs: now,
  });
}

const run = ({ atMs, status, error }: LastRun, now: number): PythonObject => ({
  runAtMs: atMs,
  status,
  durationMs: Math.max(0, now - atMs),
  error: error ?? null,
});

function textIn(object: PythonObject, name: string): string | undefined {
  const value = fieldOf(object, name);
  // Somebody may have written a chat id without quotes.
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" ? value : undefined;
}

/** A text that is a number counts, as in v0.3.0. */
function numberIn(object: PythonObject, name: string): number | undefined {
  const value = fieldOf(object, name);
  if (typeof value === "string" && !/^\s*-?\d+\s*$/.test(value)) return undefined;
  if (!["number", "string"].includes(typeof value) && !(value instanceof PythonFloat)) return undefined;
  const number = Math.trunc(Number(value));
  return Number.isSafeInteger(number) ? number : undefined;
}
