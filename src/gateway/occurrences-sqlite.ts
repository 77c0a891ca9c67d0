/** The clock's book in the ledger's database. */
import type { Ending, HistoryEntry, How, Mark, Occurrences, OpenOccurrence } from "../cron/occurrences.js";
import { plain } from "./ledger-rows.js";
import type { Row, SqliteTables } from "./ledger-schema.js";

/** So many rows of a job are kept, and so many are forgotten at a time. */
const keptRows = 200;
const sweepAtOnce = 500;

/** Skipped for being missed: whether that is so depends on the clock. */
const missed = "how = 'scheduled' AND outcome = 'skipped' AND reason IN ('skip', 'once', 'grace')";
/** Its outcome stands, and its time has come by the clock we have now: the mark alone keeps it from happening again. */
const isPast =
  "outcome IS NOT NULL AND (how = 'manual' OR due_at <= (SELECT through FROM marks WHERE marks.job = occurrences.job))";

export function createSqliteOccurrences({ sql, durably, now }: SqliteTables): Occurrences {
  const marks = (): Map<string, Mark> => {
    const ahead = new Map<string, number[]>();
    const later = sql(
      `SELECT job, due_at FROM occurrences JOIN marks USING (job)
       WHERE due_at > through AND how = 'scheduled' ORDER BY due_at`,
    ).all();
    for (const { job, due_at: at } of later) {
      ahead.set(String(job), [...(ahead.get(String(job)) ?? []), Number(at)]);
    }
    const markOf = ({ job, through, timing, planned, listed }: Row): [string, Mark] => [
      String(job),
      {
        through: Number(through),
        timing: String(timing),
        ours: [planned, listed].flatMap((at) => (at === null ? [] : [Number(at)])),
        ahead: ahead.get(String(job)) ?? [],
      },
    ];
    return new Map(sql("SELECT * FROM marks").all().map(markOf));
  };

  const isThere = (job: string, dueAt: number, how: How): boolean =>
    sql("SELECT 1 FROM occurrences WHERE job = ? AND due_at = ? AND how = ?").get(job, dueAt, how) !== undefined;

  /** Final rows to forget: of any job the old ones, of each the ones that are too many. */
  const superfluous = (before: number): Row[] => {
    const old = sql(
      `SELECT job, due_at, how, until FROM occurrences WHERE decided_at < ? AND ${isPast} LIMIT ${sweepAtOnce}`,
    ).all(before);
    if (old.length > 0) return old;
    const full = sql(`SELECT job FROM occurrences GROUP BY job HAVING count(*) > ${keptRows}`).all();
    return full
      .flatMap(({ job }) =>
        sql(
          `SELECT job, due_at, how, until FROM (
             SELECT * FROM occurrences WHERE job = ? ORDER BY due_at DESC LIMIT ${sweepAtOnce} OFFSET ${keptRows}
           ) AS occurrences WHERE ${isPast}`,
        ).all(job ?? null),
      )
      .slice(0, sweepAtOnce);
  };

  return {
    marks: async () => marks(),

    async decide(decisions) {
      await durably("occurrence", () => {
        const at = now();
        for (const { job, name, through, timing, planned, listed, runs, skipped } of decisions) {
          for (const { dueAt, late } of runs) {
            sql(
              `INSERT OR IGNORE INTO occurrences (job, due_at, how, until, count, name, late, decided_at)
               VALUES (?1, ?2, 'scheduled', ?2, 1, ?3, ?4, ?5)`,
            ).run(plain(job), dueAt, plain(name), late ? 1 : 0, at);
          }
          for (const { from, to, count, by } of skipped) {
            sql(
              `INSERT OR IGNORE INTO occurrences (job, due_at, how, until, count, name, outcome, reason, decided_at, ended_at)
               VALUES (?1, ?2, 'scheduled', ?3, ?4, ?5, 'skipped', ?6, ?7, ?7)`,
            ).run(plain(job), from, to, count, plain(name), by, at);
          }
          sql(
            `INSERT INTO marks (job, through, timing, planned, listed) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (job) DO UPDATE SET through = max(through, excluded.through), timing = excluded.timing,
               planned = excluded.planned, listed = excluded.listed`,
          ).run(plain(job), through, plain(timing), planned ?? null, listed ?? null);
        }
      });
    },

    async takeBack(to, listed) {
      return durably("take back", () => {
        for (const { job, swept } of sql("SELECT job, swept FROM marks WHERE through > ?").all(to)) {
          if (!listed.has(String(job))) continue;
          // Rows that were forgotten may have run: before them nothing is taken back.
          const through = Math.max(to, Number(swept));
          sql(`DELETE FROM occurrences WHERE job = ? AND due_at > ? AND ${missed}`).run(job, through);
          sql(
            `UPDATE occurrences SET until = ?2, count = NULL WHERE job = ?1 AND due_at <= ?2 AND until > ?2 AND ${missed}`,
          ).run(job, through);
          sql("UPDATE marks SET through = min(through, ?2), planned = NULL, listed = ?3 WHERE job = ?1").run(
            job,
            through,
            listed.get(String(job)) ?? null,
          );
        }
        return marks();
      });
    },

    async open() {
      return sql("SELECT * FROM occurrences WHERE outcome IS NULL ORDER BY due_at").all().map(openOf);
    },

    async change({ job, dueAt, how }, change) {
      const which = [plain(job), dueAt, how] as const;
      if (change.kind === "again") {
        return durably("occurrence again", () => {
          const { changes } = sql(
            `UPDATE occurrences SET attempt = attempt + 1, not_before = ?4, reason = ?5
             WHERE job = ?1 AND due_at = ?2 AND how = ?3 AND outcome IS NULL`,
          ).run(...which, change.notBefore, plain(change.reason));
          return Number(changes) > 0;
        });
      }
      return durably("occurrence end", () => {
        const { changes } = sql(
          `UPDATE occurrences SET outcome = ?4, reason = ?5, ended_at = ?6
           WHERE job = ?1 AND due_at = ?2 AND how = ?3 AND outcome IS NULL`,
        ).run(...which, change.kind, reasonOf(change), now());
        return Number(changes) > 0;
      });
    },

    async history({ job, limit }) {
      // Whoever only looks does not bring an older file up to date.
      if (!sql("SELECT 1 FROM sqlite_master WHERE name = 'occurrences'").get()) return [];
      const columns = "SELECT * FROM occurrences";
      const rows =
        job === undefined
          ? sql(`${columns} ORDER BY decided_at DESC, due_at DESC LIMIT ?`).all(limit)
          : sql(`${columns} WHERE job = ? ORDER BY due_at DESC LIMIT ?`).all(plain(job), limit);
      return rows.map(entryOf);
    },

    async request({ id, name }) {
      return durably("request", () => {
        const at = now();
        let dueAt = at;
        while (isThere(plain(id), dueAt, "manual")) dueAt++;
        sql(
          `INSERT INTO occurrences (job, due_at, how, until, count, name, decided_at)
           VALUES (?1, ?2, 'manual', ?2, 1, ?3, ?4)`,
        ).run(plain(id), dueAt, plain(name), at);
        return { job: id, name, dueAt, how: "manual", late: false, attempt: 1, notBefore: 0 };
      });
    },

    async sweep(before) {
      const rows = superfluous(before);
      if (rows.length === 0) return 0;
      await durably("sweep", () => {
        for (const { job, due_at: at, how, until } of rows) {
          sql("DELETE FROM occurrences WHERE job = ? AND due_at = ? AND how = ?").run(job, at, how);
          if (how === "scheduled") sql("UPDATE marks SET swept = max(swept, ?) WHERE job = ?").run(until, job);
        }
      });
      return rows.length;
    },
  };
}

function reasonOf(ending: Ending): string | null {
  if (ending.kind === "skipped") return ending.by;
  return ending.kind === "failed" ? plain(ending.reason) : null;
}

const openOf = (row: Row): OpenOccurrence => ({
  job: String(row["job"]),
  name: String(row["name"]),
  dueAt: Number(row["due_at"]),
  how: row["how"] as How,
  late: row["late"] === 1,
  attempt: Number(row["attempt"]),
  notBefore: Number(row["not_before"]),
  ...(row["reason"] !== null && { reason: String(row["reason"]) }),
});

const entryOf = (row: Row): HistoryEntry => ({
  job: String(row["job"]),
  name: String(row["name"]),
  how: row["how"] as How,
  dueAt: Number(row["due_at"]),
  until: Number(row["until"]),
  count: row["count"] === null ? undefined : Number(row["count"]),
  outcome: (row["outcome"] ?? "open") as HistoryEntry["outcome"],
  reason: row["reason"] === null ? undefined : String(row["reason"]),
  attempts: Number(row["attempt"]),
  decidedAt: Number(row["decided_at"]),
  endedAt: row["ended_at"] === null ? undefined : Number(row["ended_at"]),
});
