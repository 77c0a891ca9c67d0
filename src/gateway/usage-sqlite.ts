/** What turns have cost, day by day, in the ledger's database. */
import type { SessionKey } from "../message.js";
import type { Usage } from "../providers/provider.js";
import { localIsoTime } from "../util/clock.js";
import type { UsageReports } from "./ledger.js";
import { plain, read, storable } from "./ledger-rows.js";
import type { SqliteTables } from "./ledger-schema.js";

/** A year can be compared with the one before it. */
const keptMs = 400 * 24 * 3_600_000;

export type SqliteUsage = UsageReports & {
  /** Within the transaction that finishes the turn, so that each is counted once. */
  count(session: SessionKey, model: string, usage: Usage): void;
  /** Within a transaction. */
  forgetOld(): void;
};

export function createSqliteUsage({ sql, now }: Pick<SqliteTables, "sql" | "now">): SqliteUsage {
  const dayOf = (ms: number): string => localIsoTime(ms * 1000).slice(0, 10);
  return {
    count(session, model, { input, output, cached }) {
      sql(
        `INSERT INTO usage (day, session, model, turns, input, output, cached) VALUES (?, ?, ?, 1, ?, ?, ?)
         ON CONFLICT (day, session, model) DO UPDATE SET turns = turns + 1, input = input + excluded.input,
           output = output + excluded.output, cached = cached + excluded.cached`,
      ).run(dayOf(now()), storable(session), plain(model), input, output, cached);
    },
    forgetOld() {
      sql("DELETE FROM usage WHERE day < ?").run(dayOf(now() - keptMs));
    },
    async since(day) {
      // Whoever only looks does not bring an older file up to date.
      if (!sql("SELECT 1 FROM sqlite_master WHERE name = 'usage'").get()) return [];
      return sql("SELECT * FROM usage WHERE day >= ? ORDER BY day, session, model")
        .all(day)
        .map((row) => ({
          day: String(row["day"]),
          session: read<SessionKey>(row["session"]),
          model: String(row["model"]),
          turns: Number(row["turns"]),
          input: Number(row["input"]),
          output: Number(row["output"]),
          cached: Number(row["cached"]),
        }));
    },
  };
}
