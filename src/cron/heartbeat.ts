/**
 * The heartbeat: every so often somebody looks into HEARTBEAT.md. A beat is an occurrence of a job of its own, so that
 * the clock's book remembers it and never two beat at once. First it is decided whether there is anything to do, with
 * one short question to the model, and with none if the file holds no task.
 */
import type { Address, Inbound } from "../message.js";
import { type ActiveHours, isActive } from "../util/active-hours.js";
import { reasonOf } from "../util/errors.js";
import type { Job } from "./job.js";
import { runIdOf } from "./occurrences.js";
import type { Runner } from "./runs.js";
import { silence } from "./task.js";

export const heartbeatId = "heartbeat";
/** nanobot's key of the conversation. */
export const heartbeatSession = "heartbeat";

export type HeartbeatParts = {
  readonly everyMs: number;
  /** Absent: day and night. */
  readonly hours?: ActiveHours;
  readonly zone: () => string;
  readonly limitMs: number;
  /** HEARTBEAT.md; undefined if there is none. */
  readonly read: () => Promise<string | undefined>;
  /** What is to be done now, in the model's words; undefined if nothing is. */
  readonly ask: (text: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Who is told. */
  readonly target: () => Promise<Address>;
  readonly accept: (message: Inbound) => Promise<void>;
  readonly now: () => number;
};

/** Intervals are counted from the beginning of time, so that a restart does not put them off. */
export const heartbeatJob = ({ everyMs, limitMs }: Pick<HeartbeatParts, "everyMs" | "limitMs">): Job => ({
  id: heartbeatId,
  name: "heartbeat",
  message: "",
  schedule: { kind: "every", everyMs },
  deleteAfterRun: false,
  enabled: true,
  session: heartbeatSession,
  policy: { misfire: "once", graceMs: everyMs, overlap: "skip", limitMs, retries: 0 },
  createdAtMs: 0,
});

export function createHeartbeatStart(parts: HeartbeatParts): Runner["start"] {
  const { hours, zone, limitMs, read, ask, target, accept, now } = parts;
  return async (occurrence, _, signal) => {
    if (occurrence.how === "scheduled" && hours && !isActive(hours, now(), zone())) {
      return { kind: "skipped", by: "asleep" };
    }
    const text = await read();
    if (text === undefined || !hasTasks(text)) return { kind: "skipped", by: "idle" };
    let tasks: string | undefined;
    try {
      tasks = await ask(text, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "error", reason: reasonOf(error), again: false };
    }
    if (tasks === undefined) return { kind: "skipped", by: "idle" };
    await accept({
      id: runIdOf(occurrence),
      from: await target(),
      sender: ["cron"],
      text: `${tasks}\n\n${silence}`,
      media: [],
      session: heartbeatSession,
      quiet: true,
      limitMs,
    });
    return undefined;
  };
}

/** The sentences of nanobot's template. */
const template = [/^this file is checked every /i, /^add tasks below that /i, /^if this file has no tasks /i];
/** Rules, bullets and boxes without a text, and boxes that are ticked. */
const empty = /^(?:[-*_]\s*){3,}$|^(?:[-*+]|\d+[.)])?\s*(?:\[\s?\])?$|^(?:[-*+]\s*)?\[x\]/i;

/** Whether there is anything in the file but headings, comments, what the template says, and what is done. */
export function hasTasks(text: string): boolean {
  let isDone = false;
  const lines = text.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, "").split(/\r?\n/);
  return lines.some((line) => {
    const words = line.trim();
    const heading = /^#{1,6}(?:\s+(.*))?$/.exec(words);
    if (heading) {
      isDone = /^(?:completed|done)\b/i.test(heading[1] ?? "");
      return false;
    }
    return !isDone && !empty.test(words) && !template.some((sentence) => sentence.test(words));
  });
}
