/** The handles of backends' conversations, in the ledger's database. */
import type { Handles } from "../backends/handles.js";
import { plain } from "./ledger-rows.js";
import type { SqliteTables } from "./ledger-schema.js";

/** As SQLite's CURRENT_TIMESTAMP prints it, and finer: seconds alone would leave ties. */
const stamp = (ms: number): string => new Date(ms).toISOString().replace("T", " ").replace("Z", "");

export function createSqliteHandles({ sql, durably, now }: SqliteTables): Handles {
  return {
    async active(chat, { window, maxAgeMs }) {
      const since = stamp(now() - maxAgeMs);
      const row = sql(
        `SELECT sessions.id, message_count, seen FROM sessions LEFT JOIN session_marks ON session_marks.id = sessions.id
         WHERE chat_id = ? AND message_count < ? AND updated_at > ? ORDER BY updated_at DESC, sessions.rowid DESC LIMIT 1`,
      ).get(plain(chat), window, since);
      if (row) {
        const seen = row["seen"] === null ? undefined : String(row["seen"]);
        return { kind: "active", id: String(row["id"]), count: Number(row["message_count"]), seen };
      }
      const last = sql("SELECT max(updated_at) AS at FROM sessions WHERE chat_id = ?").get(plain(chat))?.["at"] ?? null;
      return { kind: "none", because: last === null ? "first" : String(last) > since ? "full" : "old" };
    },
    async create(chat, id) {
      const at = stamp(now());
      await durably("handle", () => {
        sql("INSERT INTO sessions (id, chat_id, message_count, created_at, updated_at) VALUES (?, ?, 0, ?, ?)").run(
          plain(id),
          plain(chat),
          at,
          at,
        );
      });
    },
    async increment(id, { from, seen, as = id }) {
      return durably("handle", () => {
        const { changes } = sql(
          "UPDATE sessions SET id = ?, message_count = message_count + 1, updated_at = ? WHERE id = ? AND message_count = ?",
        ).run(plain(as), stamp(now()), plain(id), from);
        if (Number(changes) === 0) return false;
        sql("DELETE FROM session_marks WHERE id IN (?, ?)").run(plain(id), plain(as));
        sql("INSERT INTO session_marks (id, seen) VALUES (?, ?)").run(plain(as), plain(seen));
        return true;
      });
    },
    async note(id, seen) {
      await durably("handle", () => {
        sql("UPDATE session_marks SET seen = ? WHERE id = ?").run(plain(seen), plain(id));
      });
    },
    async expire(id) {
      await durably("handle", () => {
        sql("DELETE FROM sessions WHERE id = ?").run(plain(id));
        sql("DELETE FROM session_marks WHERE id = ?").run(plain(id));
      });
    },
    async old(maxAgeMs) {
      const rows = sql("SELECT id FROM sessions WHERE updated_at <= ? ORDER BY rowid").all(stamp(now() - maxAgeMs));
      return rows.map(({ id }) => String(id));
    },
  };
}
