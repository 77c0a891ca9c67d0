import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { describeHandles } from "../backends/handles.contract.js";
import { temporaryFolder } from "../support/workspace.js";

const limits = { window: 20, maxAgeMs: 24 * 3_600_000 };

describeHandles("SQLite", () => {
  const file = join(temporaryFolder(), "ledger.sqlite");
  let time = Date.UTC(2026, 0, 1);
  return {
    async open() {
      const ledger = await openSqliteLedger({ file, now: () => time, reach: () => {} });
      onTestFinished(() => ledger.close());
      return ledger.handles;
    },
    pass: (ms) => {
      time += ms;
    },
  };
});

const open = (file: string) => openSqliteLedger({ file, now: () => Date.now(), reach: () => {} });
const hello = { id: "1", from: { channel: "fake", chat: "ann" }, sender: [], text: "hi", media: [] };

function query(file: string, sql: string): unknown[] {
  const db = new DatabaseSync(file);
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

describe("the table of handles", () => {
  it("is the one of the document, with its index (003-5)", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    await (await open(file)).close();
    // Again: harmless.
    await (await open(file)).close();
    expect(query(file, "SELECT name, type, [notnull], dflt_value, pk FROM pragma_table_info('sessions')")).toEqual([
      { name: "id", type: "TEXT", notnull: 0, dflt_value: null, pk: 1 },
      { name: "chat_id", type: "TEXT", notnull: 1, dflt_value: null, pk: 0 },
      { name: "message_count", type: "INTEGER", notnull: 0, dflt_value: "0", pk: 0 },
      { name: "created_at", type: "TIMESTAMP", notnull: 0, dflt_value: "CURRENT_TIMESTAMP", pk: 0 },
      { name: "updated_at", type: "TIMESTAMP", notnull: 0, dflt_value: "CURRENT_TIMESTAMP", pk: 0 },
    ]);
    expect(query(file, "SELECT name FROM pragma_index_info('idx_sessions_chat_id')")).toEqual([{ name: "chat_id" }]);
  });

  it("can be written by SQLite's own clock: its times and ours compare", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    await (await open(file)).close();
    const db = new DatabaseSync(file);
    db.exec("INSERT INTO sessions (id, chat_id) VALUES ('theirs', 'a:1')");
    db.exec("INSERT INTO sessions (id, chat_id, updated_at) VALUES ('old', 'a:1', datetime('now', '-25 hours'))");
    db.close();
    const ledger = await open(file);
    expect(await ledger.handles.active("a:1", limits)).toMatchObject({ id: "theirs", count: 0 });
    expect(await ledger.handles.old(limits.maxAgeMs)).toEqual(["old"]);
    await ledger.close();
  });

  it("can be dropped, or never have been there: messages stay, and the next start makes it (003-16)", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const first = await open(file);
    await first.inbox.accept(hello, "fake:ann");
    await first.handles.create("fake:ann", "x");
    await first.close();
    const db = new DatabaseSync(file);
    db.exec("DROP TABLE sessions; DROP TABLE session_marks");
    db.close();
    const ledger = await open(file);
    expect(await ledger.inbox.open()).toHaveLength(1);
    expect(await ledger.handles.active("fake:ann", limits)).toEqual({ kind: "none", because: "first" });
    await ledger.handles.create("fake:ann", "y");
    await ledger.close();
  });
});
