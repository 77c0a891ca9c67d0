/**
 * What the door and the page say to each other, path by path. Imported by both; types only.
 *
 * Where a token is needed (any address but this machine's own), whoever has none is answered 401. `POST /api/login`
 * ({@link Login}) sets a cookie and answers {@link Done}, `POST /api/logout` removes it. Whatever is not GET carries
 * `content-type: application/json`, also without a body: no form of another site can send that.
 *
 * Keys and ids in a path are percent-encoded (`encodeURIComponent`). A stream of events is `data: <JSON>` lines. A part
 * that is not running (no cron, say) answers 404 with {@link Refused}.
 */
import type { LedgerEntry, LedgerSummary, Outcome, TraceEvent, UsageEntry } from "../gateway/ledger.js";
import type { ChannelStatus } from "../gateway/supervisor.js";
import type { Policy, Schedule } from "../cron/job.js";
import type { Row, SessionKey } from "../message.js";

/** `GET /api/overview`, also pushed by `GET /api/pulse` (server-sent events) every two seconds. */
export type Overview = {
  readonly version: string;
  readonly model: string;
  readonly uptimeSeconds: number;
  readonly ready: boolean;
  readonly channels: readonly ChannelStatus[];
  readonly lanes: { readonly lanes: number; readonly queued: number };
  readonly ledger: LedgerSummary;
  /** What cannot be written right now, and why: a full disk, a file that is in the way. */
  readonly unwritten?: Readonly<Record<string, string>>;
  readonly residentBytes: number;
  readonly eventLoopDelayMs: number;
};

/** `GET /api/sessions?q=&limit=&offset=`, newest first. `q` is looked for in keys and in what was said last. */
export type SessionList = { readonly total: number; readonly sessions: readonly SessionSummary[] };
export type SessionSummary = {
  readonly key: SessionKey;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The last thing said, shortened. */
  readonly last?: { readonly role: string; readonly text: string };
};

/**
 * `GET /api/sessions/:key/rows?before=&limit=100`: rows up to and without `before` (absent: the newest), in order.
 * `&raw=1`: the lines as they stand in the file.
 */
export type RowPage = {
  readonly total: number;
  /** The number of the first row of this page. */
  readonly from: number;
  readonly rows: readonly Row[];
  readonly lines?: readonly string[];
};

/** `GET /api/sessions/:key/verify`. `GET /api/sessions/:key/export` is the file itself. */
export type Verified = { readonly ok: boolean; readonly problems: readonly string[] };

/** `GET /api/messages?filter=all|problems&limit=`. */
export type MessageList = { readonly messages: readonly LedgerEntry[] };
/** `GET /api/messages/:trace`. `POST /api/messages/:trace/retry` and `/discard` answer {@link Done}. */
export type MessageTrace = { readonly entry: LedgerEntry; readonly events: readonly TraceEvent[] };
export type Done = { readonly done: boolean };

/** `POST /api/turns`: one message; the answer is a stream of what becomes of it (see asking.ts: Told). */
export type TurnRequest = {
  readonly session: SessionKey;
  readonly text: string;
  readonly id?: string;
  /** Pictures, as data URLs. */
  readonly images?: readonly string[];
};

/** `GET /api/memory?session=` (the session matters only where each chat has a memory of its own). */
export type MemoryView = {
  readonly memory: string;
  /** The newest part of HISTORY.md. */
  readonly history: string;
  readonly changes: readonly MemoryChange[];
};
export type MemoryChange = {
  readonly id: string;
  readonly time: string;
  readonly by: string;
  readonly isUndoable: boolean;
};
/** `GET /api/memory/:id`: both texts of a change; the page shows the difference. `POST /api/memory/:id/undo`: {@link Done}. */
export type MemoryDiff = MemoryChange & { readonly before: string; readonly after: string };

/** `GET /api/jobs`. `POST /api/jobs/:id/run|enable|disable`, `DELETE /api/jobs/:id`: {@link Done}. */
export type JobList = { readonly jobs: readonly JobView[] };
export type JobView = {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly enabled: boolean;
  readonly schedule: Schedule;
  /** In words: `every 2h`, `30 7 * * 1-5 (Europe/Berlin)`. */
  readonly timing: string;
  readonly to?: string;
  readonly policy: Policy;
  /** The next ten runs. */
  readonly nextRunsMs: readonly number[];
};
/** `GET /api/occurrences?job=&limit=`, newest first. */
export type OccurrenceList = { readonly occurrences: readonly OccurrenceView[] };
export type OccurrenceView = {
  readonly jobId: string;
  readonly dueAtMs: number;
  readonly startedAtMs?: number;
  readonly finishedAtMs?: number;
  /** Absent while it runs. */
  readonly outcome?: string;
  readonly reason?: string;
};

/** `GET /api/usage?days=30`: one entry per day, session and model. */
export type UsageList = { readonly usage: readonly UsageEntry[] };
/** Any refusal: 4xx with words for people. */
export type Refused = { readonly error: string };

/** `POST /api/login`. */
export type Login = { readonly token: string };

/** What `GET /api/events` tells is in gateway/live.ts: News and Said. */
export type { Outcome, UsageEntry };
