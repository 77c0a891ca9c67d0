/** What the ledger tells its owner, and what he may change in it. */
import type { Reports } from "./ledger.js";
import { entryOf, plain } from "./ledger-rows.js";
import type { Row, SqliteTables } from "./ledger-schema.js";

export type SqliteReportsParts = SqliteTables & {
  /** A line in the life of a message. */
  readonly event: (item: number, what: string, detail?: string) => void;
};

export function createSqliteReports({ sql, durably, now, event }: SqliteReportsParts): Reports {
  const find = (id: string): Row | undefined =>
    sql("SELECT * FROM inbox WHERE trace = ?1 OR platform_id = ?1 ORDER BY id DESC LIMIT 1").get(plain(id));

  return {
    note(item, what, detail) {
      // Nobody waits for it, and nothing depends on it.
      durably("note", () => event(item.id, what, detail)).catch(() => {});
    },
    async trace(id) {
      // Telegram's ids are `chat/message`; people know the second half.
      const row =
        find(id) ??
        sql("SELECT * FROM inbox WHERE substr(platform_id, -length(?1)) = ?1 ORDER BY id DESC LIMIT 1").get(
          `/${plain(id)}`,
        );
      if (!row) return undefined;
      const events = sql("SELECT at, what, detail FROM events WHERE item = ? ORDER BY rowid").all(row["id"]);
      return {
        entry: entryOf(row),
        events: events.map(({ at, what, detail }) => ({
          at: Number(at),
          what: String(what),
          detail: String(detail),
        })),
      };
    },
    async entries(filter, limit) {
      const where = filter === "all" ? "" : "WHERE outcome IS NULL OR outcome IN ('failed', 'dead')";
      return sql(`SELECT * FROM inbox ${where} ORDER BY id DESC LIMIT ?`).all(limit).map(entryOf);
    },
    async summary() {
      const rows = sql("SELECT outcome, count(*) AS count FROM inbox GROUP BY outcome").all();
      const outcomes = Object.fromEntries(rows.map(({ outcome, count }) => [String(outcome ?? "open"), Number(count)]));
      const unsent = sql("SELECT count(*) AS count FROM outbox WHERE state IN ('held', 'pending', 'sending')").get();
      const oldest = sql("SELECT min(received_at) AS at FROM inbox WHERE outcome IS NULL").get()?.["at"] ?? undefined;
      return {
        open: outcomes["open"] ?? 0,
        oldestOpenAt: oldest === undefined ? undefined : Number(oldest),
        dead: outcomes["dead"] ?? 0,
        unsent: Number(unsent?.["count"]),
        outcomes,
      };
    },
    async retry(trace) {
      const row = find(trace);
      if (!row || (row["outcome"] !== "failed" && row["outcome"] !== "dead")) return false;
      await durably("retry", () => {
        const item = Number(row["id"]);
        const unsent = sql("SELECT 1 FROM outbox WHERE item = ? AND state = 'failed' LIMIT 1").get(item);
        const turn = sql("SELECT outcome FROM turns WHERE item = ?").get(item);
        sql("UPDATE inbox SET outcome = NULL, reason = NULL, finished_at = NULL, attempts = 0 WHERE id = ?").run(item);
        if (unsent && turn?.["outcome"] === "answered") {
          // The answer stands in the session already; only the sending is tried again.
          sql(
            "UPDATE outbox SET state = 'pending', next_at = 0, tried_ms = 0, created_at = ? WHERE item = ? AND state = 'failed'",
          ).run(now(), item);
        } else {
          // What could not be said about the failure has no say in how the new attempt ends.
          sql("UPDATE outbox SET state = 'dropped' WHERE item = ? AND state = 'failed'").run(item);
          sql("DELETE FROM turns WHERE item = ?").run(item);
          sql("DELETE FROM steps WHERE item = ?").run(item);
        }
        event(item, "retried by the owner");
      });
      return true;
    },
    async discard(trace) {
      const row = find(trace);
      if (!row || row["outcome"] === "answered" || row["outcome"] === "silent") return false;
      await durably("discard", () => {
        const item = Number(row["id"]);
        sql("UPDATE inbox SET outcome = 'silent', reason = 'discarded by the owner', finished_at = ? WHERE id = ?").run(
          now(),
          item,
        );
        sql(
          "UPDATE outbox SET state = 'dropped', reason = 'discarded', finished_at = ? WHERE item = ? AND state IN ('held', 'pending', 'sending', 'failed')",
        ).run(now(), item);
        sql("DELETE FROM steps WHERE item = ?").run(item);
        event(item, "discarded by the owner");
      });
      return true;
    },
  };
}
