import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { temporaryFolder } from "../support/workspace.js";
import { describeOccurrences } from "./occurrences.contract.js";

describeOccurrences("SQLite", () => {
  const file = join(temporaryFolder(), "state", "ledger.sqlite");
  let time = Date.UTC(2026, 0, 1);
  return {
    open: () => openSqliteLedger({ file, now: () => time, reach: () => {} }),
    pass: (ms) => {
      time += ms;
    },
  };
});

describe("a ledger from before there was a clock", () => {
  it("has no history, also for those who only look", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const open = (readOnly: boolean) => openSqliteLedger({ file, now: () => 0, reach: () => {}, readOnly });
    await (await open(false)).close();
    const db = new DatabaseSync(file);
    db.exec("DROP TABLE occurrences; DROP TABLE marks; PRAGMA user_version = 2");
    db.close();
    const looking = await open(true);
    expect(await looking.occurrences.history({ limit: 10 })).toEqual([]);
    await looking.close();
  });
});
