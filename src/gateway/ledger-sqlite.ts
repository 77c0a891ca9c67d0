/** The ledger in one SQLite file beside the configuration. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Outbound } from "../message.js";
import { type FinishedTurn, type Item, type Ledger, type Outcome, ownIds, type Step } from "./ledger.js";
import {
  changeDetail,
  itemOf,
  partEvents,
  partOf,
  plain,
  read,
  stepEvent,
  storable,
  turnDetail,
} from "./ledger-rows.js";
import { createGroupCommit } from "./group-commit.js";
import { createSqliteHandles } from "./handles-sqlite.js";
import { createPresence, explainDamage, explainOpening } from "./ledger-file.js";
import { type Database, handleTables, migrate, refuseNewer, type Statement } from "./ledger-schema.js";
import { createSqliteReports } from "./ledger-reports-sqlite.js";
import { createSqliteOccurrences } from "./occurrences-sqlite.js";
import { createSqliteUsage } from "./usage-sqlite.js";

export type SqliteLedgerParts = {
  readonly file: string;
  readonly now: () => number;
  /** Told before and after everything that must survive a crash; the lab kills the process there. */
  readonly reach: (point: string) => void;
  /** For looking only: nothing is created, migrated or changed, whoever else is at work. */
  readonly readOnly?: boolean;
};

/** So many old messages are forgotten at a time, so that nobody waits for it. */
const sweepAtOnce = 500;

export async function openSqliteLedger({ file, now, reach, readOnly = false }: SqliteLedgerParts): Promise<Ledger> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  if (!readOnly) mkdirSync(dirname(file), { recursive: true });
  let opened: Database | undefined;
  try {
    opened = new DatabaseSync(file, { timeout: 5000, readOnly }) as unknown as Database;
    refuseNewer(opened, file);
    if (!readOnly) {
      opened.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
      migrate(opened);
      opened.exec(handleTables);
    }
  } catch (error) {
    opened?.close();
    throw explainOpening(file, error);
  }
  const db = opened;
  const refuseIfGone = createPresence(file);

  const prepared = new Map<string, Statement>();
  const sql = (text: string): Statement => {
    const statement = prepared.get(text) ?? db.prepare(text);
    prepared.set(text, statement);
    return statement;
  };

  const { durably, soon, idle } = createGroupCommit(db, reach);

  const dataVersion = (): unknown => db.prepare("PRAGMA data_version").get()?.["data_version"];
  let knownVersion = dataVersion();

  const event = (item: number, what: string, detail = ""): void => {
    sql("INSERT INTO events (item, at, what, detail) VALUES (?, ?, ?, ?)").run(item, now(), what, plain(detail));
  };

  const addParts = (messages: readonly Outbound[], item: number | null, state: "held" | "pending"): void => {
    for (const message of messages) {
      sql(
        "INSERT INTO outbox (item, channel, chat, message, state, next_at, created_at) VALUES (?, ?, ?, ?, ?, 0, ?)",
      ).run(item, plain(message.to.channel), plain(message.to.chat), storable(message), state, now());
    }
  };

  /** A message has its outcome once its turn is in the session and nothing of it is waiting to be sent. */
  const settle = (item: number): void => {
    const turn = sql("SELECT outcome, reason, appended FROM turns WHERE item = ?").get(item);
    if (!turn || turn["appended"] !== 1) return;
    const waiting = sql("SELECT 1 FROM outbox WHERE item = ? AND state IN ('held', 'pending', 'sending') LIMIT 1").get(
      item,
    );
    if (waiting) return;
    const lost = sql("SELECT reason FROM outbox WHERE item = ? AND state = 'failed' LIMIT 1").get(item);
    const outcome = lost ? "failed" : turn["outcome"];
    const reason = lost ? `not delivered: ${lost["reason"]}` : turn["reason"];
    const { changes } = sql(
      "UPDATE inbox SET outcome = ?, reason = ?, finished_at = ? WHERE id = ? AND outcome IS NULL",
    ).run(outcome, reason, now(), item);
    if (Number(changes) === 0) return;
    sql("DELETE FROM steps WHERE item = ?").run(item);
    event(item, "finished", [outcome, reason].filter(Boolean).join(": "));
  };

  /** The owner has discarded it: whatever is still under way for it has no effect any more. */
  const isOver = (item: number): boolean =>
    sql("SELECT 1 FROM inbox WHERE id = ? AND outcome IS NULL").get(item) === undefined;

  const isKnown = (channel: string, platformId: string): boolean =>
    sql("SELECT 1 FROM inbox WHERE channel = ? AND platform_id = ?").get(channel, platformId) !== undefined ||
    sql("SELECT 1 FROM seen WHERE channel = ? AND platform_id = ?").get(channel, platformId) !== undefined;

  const occurrences = createSqliteOccurrences({ sql, durably, now });
  const usage = createSqliteUsage({ sql, now });

  return {
    occurrences,
    usage,
    handles: createSqliteHandles({ sql, durably, now }),
    inbox: {
      async accept(message, session) {
        refuseIfGone();
        const ids = [plain(message.from.channel), plain(message.id)] as const;
        const store = (): Item | "repeat" => {
          // Another process may have been faster.
          if (isKnown(...ids)) return "repeat";
          const trace = randomUUID().slice(0, 8) + randomUUID().slice(9, 13);
          const receivedAt = now();
          sql(
            "INSERT INTO inbox (trace, channel, platform_id, chat, session, message, received_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
          ).run(trace, ...ids, plain(message.from.chat), storable(session), storable(message), receivedAt);
          const id = Number(sql("SELECT last_insert_rowid() AS id").get()?.["id"]);
          event(id, "received", `${message.from.channel} ${message.id}`);
          return { id, trace, session, message, receivedAt, attempts: 0 };
        };
        try {
          return isKnown(...ids) ? "repeat" : await durably("accept", store);
        } catch (error) {
          throw explainDamage(file, error);
        }
      },
      async open() {
        return sql(
          `SELECT inbox.* FROM inbox LEFT JOIN turns ON turns.item = inbox.id
           WHERE inbox.outcome IS NULL AND coalesce(turns.appended, 0) = 0 ORDER BY inbox.id`,
        )
          .all()
          .map(itemOf);
      },
      async knows({ channel, chat }) {
        const known = (table: "inbox" | "seen"): boolean =>
          sql(`SELECT 1 FROM ${table} WHERE channel = ? AND chat = ? LIMIT 1`).get(plain(channel), plain(chat)) !==
          undefined;
        return known("inbox") || known("seen");
      },
      async endOf(runId) {
        const row = sql(
          `SELECT inbox.outcome, inbox.reason, turns.outcome AS turn, turns.reason AS why, turns.appended
           FROM inbox LEFT JOIN turns ON turns.item = inbox.id WHERE platform_id = ? AND platform_id GLOB 'cron-*'`,
        ).get(plain(runId));
        if (!row) {
          const seen = "SELECT 1 FROM seen WHERE platform_id = ? AND platform_id GLOB 'cron-*'";
          return sql(seen).get(plain(runId)) ? "forgotten" : undefined;
        }
        const [kind, reason] = row["appended"] === 1 ? [row["turn"], row["why"]] : [row["outcome"], row["reason"]];
        if (kind === null || kind === undefined) return "open";
        return { kind: kind as Outcome["kind"], ...(reason && { reason: String(reason) }) };
      },
      async lastChat(channels) {
        // The plus keeps SQLite from sorting all that was ever said there: looked at from the newest on, it is found at once.
        const row = sql(
          `SELECT channel, chat FROM inbox WHERE +channel IN (SELECT value FROM json_each(?1))
           AND NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE substr(platform_id, 1, length(value)) = value)
           ORDER BY id DESC LIMIT 1`,
        ).get(JSON.stringify(channels), JSON.stringify(ownIds));
        return row && { channel: String(row["channel"]), chat: String(row["chat"]) };
      },
    },

    journal: {
      async begin(item) {
        const stored = sql("SELECT step FROM steps WHERE item = ? ORDER BY number").all(item.id);
        const steps = stored.map(({ step }) => read<Step>(step));
        const done = steps.filter(({ kind }) => kind === "row" || kind === "asked").length;
        // Whoever dies while a tool runs may have died of it, however far it had come.
        const isHarmless = steps.at(-1)?.kind !== "started";
        const attempt = await soon("begin", () => {
          if (isOver(item.id)) return undefined;
          sql(
            `UPDATE inbox SET attempts = 1 + CASE WHEN ?1 > begun_at_step AND ?2 THEN min(attempts, 1) ELSE attempts END,
               begun_at_step = ?1 WHERE id = ?3`,
          ).run(done, isHarmless ? 1 : 0, item.id);
          const count = Number(sql("SELECT attempts FROM inbox WHERE id = ?").get(item.id)?.["attempts"]);
          event(item.id, "attempt", String(count));
          return count;
        });
        if (attempt === undefined) return "over";
        const turn = sql("SELECT turn, appended FROM turns WHERE item = ?").get(item.id);
        return {
          attempt,
          steps,
          finished: turn && read<FinishedTurn>(turn["turn"]),
          appended: turn?.["appended"] === 1,
        };
      },
      async keep(item, step) {
        const mayWait = step.kind === "row" || step.kind === "asked";
        // A tool runs after its start has been noted; what a row says, and a file, can be asked for again.
        await (mayWait ? soon : durably)(mayWait ? "step" : "tool start", () => {
          sql(
            "INSERT INTO steps (item, number, step) SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM steps WHERE item = ?1",
          ).run(item.id, storable(step));
          event(item.id, ...stepEvent(step));
        });
      },
      async finish(item, turn) {
        return durably("finish", () => {
          if (isOver(item.id)) return "over";
          sql("INSERT INTO turns (item, turn, outcome, reason) VALUES (?, ?, ?, ?)").run(
            item.id,
            storable(turn),
            turn.outcome.kind,
            plain(turn.outcome.reason ?? "") || null,
          );
          addParts(turn.messages, item.id, "held");
          if (turn.usage) usage.count(item.session, turn.model ?? "", turn.usage);
          event(item.id, "turn finished", turnDetail(turn));
          return "finished";
        });
      },
      async appended(item) {
        // Whoever does not find this looks into the session.
        await soon("appended", () => {
          if (isOver(item.id)) return;
          sql("UPDATE turns SET appended = 1 WHERE item = ?").run(item.id);
          sql("UPDATE outbox SET state = 'pending' WHERE item = ? AND state = 'held'").run(item.id);
          event(item.id, "saved");
          settle(item.id);
        });
      },
      async release(item) {
        await durably("release", () => {
          sql("UPDATE inbox SET attempts = max(attempts - 1, 0) WHERE id = ?").run(item.id);
          event(item.id, "broken off");
        });
      },
    },

    outbox: {
      async add(messages, item) {
        await durably("add", () => addParts(messages, item?.id ?? null, "pending"));
      },
      async next(channel, chat) {
        const row = sql(
          `SELECT *, (SELECT trace FROM inbox WHERE id = outbox.item) AS trace,
             (SELECT count(*) FROM outbox AS earlier WHERE earlier.item = outbox.item AND earlier.id <= outbox.id) AS number
           FROM outbox WHERE channel = ? AND chat = ? AND state IN ('held', 'pending', 'sending') ORDER BY id LIMIT 1`,
        ).get(plain(channel), plain(chat));
        // What is held back until its turn is saved also holds back what comes after it: order within a chat is kept.
        return row === undefined || row["state"] === "held" ? undefined : partOf(row);
      },
      async waiting() {
        return sql("SELECT DISTINCT channel, chat FROM outbox WHERE state IN ('pending', 'sending')")
          .all()
          .map(({ channel, chat }) => ({ channel: String(channel), chat: String(chat) }));
      },
      async change(part, change) {
        return durably(change.kind, () => {
          const waits = sql("SELECT 1 FROM outbox WHERE id = ? AND state IN ('pending', 'sending')").get(part.id);
          // What was discarded while it was on its way stays so; but that it has arrived is a fact.
          if (!waits && change.kind !== "sent") return false;
          if (change.kind === "sending") {
            sql("UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE id = ?").run(part.id);
          } else if (change.kind === "later") {
            sql(
              `UPDATE outbox SET state = 'pending', next_at = ?1 + ?2, wait_ms = ?2, tried_ms = tried_ms + ?2 + ?3,
                 reason = ?4, may_repeat = ?5 WHERE id = ?6`,
            ).run(now(), change.waitMs, change.tookMs, plain(change.reason), change.mayRepeat ? 1 : 0, part.id);
          } else {
            const receipt = change.kind === "sent" ? plain(change.receipt) : null;
            sql("UPDATE outbox SET state = ?, receipt = ?, reason = ?, finished_at = ? WHERE id = ?").run(
              change.kind === "sent" ? "sent" : "failed",
              receipt,
              change.kind === "never" ? plain(change.reason) : null,
              now(),
              part.id,
            );
          }
          if (!part.answers) return true;
          const { item, number } = part.answers;
          event(item, partEvents[change.kind], changeDetail(number, change));
          if (change.kind === "sent" || change.kind === "never") settle(item);
          return true;
        });
      },
    },

    reports: createSqliteReports({ sql, durably, now, event }),

    upkeep: {
      async touched() {
        const version = dataVersion();
        const changed = version !== knownVersion;
        knownVersion = version;
        return changed;
      },
      async sweep(before) {
        // Only the oldest are looked at: ids grow with time, and a look at everything would take long.
        const old = sql(
          `SELECT id FROM (SELECT id, finished_at FROM inbox ORDER BY id LIMIT ${sweepAtOnce}) WHERE finished_at < ?`,
        ).all(before);
        const said = sql(
          `SELECT id FROM (SELECT id, finished_at FROM outbox WHERE item IS NULL ORDER BY id LIMIT ${sweepAtOnce}) WHERE finished_at < ?`,
        ).all(before);
        const due = await occurrences.sweep(before);
        if (old.length + said.length === 0) return due;
        await durably("sweep", () => {
          usage.forgetOld();
          for (const { id } of old) {
            sql("INSERT OR IGNORE INTO seen SELECT channel, platform_id, chat FROM inbox WHERE id = ?").run(id);
            for (const table of ["steps", "turns", "outbox", "events"]) {
              sql(`DELETE FROM ${table} WHERE item = ?`).run(id);
            }
            sql("DELETE FROM inbox WHERE id = ?").run(id);
          }
          for (const { id } of said) sql("DELETE FROM outbox WHERE id = ?").run(id);
        });
        return old.length + said.length + due;
      },
    },

    async close() {
      await idle();
      if (!readOnly) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
      db.close();
    },
  };
}
