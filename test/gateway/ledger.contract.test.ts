import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { UserError } from "../../src/util/errors.js";
import { temporaryFolder } from "../support/workspace.js";
import { describeLedger } from "./ledger.contract.js";

describeLedger("SQLite", () => {
  const file = join(temporaryFolder(), "state", "ledger.sqlite");
  let time = Date.UTC(2026, 0, 1);
  return {
    open: () => openSqliteLedger({ file, now: () => time, reach: () => {} }),
    pass: (ms) => {
      time += ms;
    },
  };
});

const open = (file: string, readOnly = false) =>
  openSqliteLedger({ file, now: () => Date.now(), reach: () => {}, readOnly });
const hello = { id: "1", from: { channel: "fake", chat: "ann" }, sender: [], text: "hi", media: [] };

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

describe("the disk", () => {
  it("is waited for where somebody outside depends on it, and only there", async () => {
    const told: string[] = [];
    class Telling extends DatabaseSync {
      override exec(sql: string): void {
        told.push(sql);
        super.exec(sql);
      }
    }
    vi.doMock("@photostructure/sqlite", () => ({ DatabaseSync: Telling }));
    onTestFinished(() => vi.doUnmock("@photostructure/sqlite"));
    const ledger = await open(join(temporaryFolder(), "ledger.sqlite"));
    let mode = "FULL";
    const waitedFor = async (work: Promise<unknown>): Promise<boolean> => {
      told.length = 0;
      await work;
      for (const sql of told) mode = /^PRAGMA synchronous = (\w+)$/.exec(sql)?.[1] ?? mode;
      expect(told.at(-1)).toBe("COMMIT");
      return mode === "FULL";
    };
    const row = { role: "assistant", content: "hello" };
    const said = { kind: "text", to: hello.from, text: "hello" } as const;
    const turn = { outcome: { kind: "answered" }, rows: [row], messages: [said] } as const;
    expect(await waitedFor(ledger.inbox.accept(hello, "fake:ann"))).toBe(true);
    const [item] = await ledger.inbox.open();
    if (!item) throw new Error("nothing was accepted");
    expect(await waitedFor(ledger.journal.begin(item))).toBe(false);
    expect(await waitedFor(ledger.journal.keep(item, { kind: "row", now: row, stored: row }))).toBe(false);
    expect(await waitedFor(ledger.journal.keep(item, { kind: "started", call: "c1" }))).toBe(true);
    expect(await waitedFor(ledger.journal.finish(item, turn))).toBe(true);
    expect(await waitedFor(ledger.journal.appended(item))).toBe(false);
    const part = await ledger.outbox.next("fake", "ann");
    if (!part) throw new Error("there is nothing to send");
    expect(await waitedFor(ledger.outbox.change(part, { kind: "sending" }))).toBe(true);
    expect(await waitedFor(ledger.outbox.change(part, { kind: "sent", receipt: "r" }))).toBe(true);
    await ledger.close();
  });
});

describe("a ledger file", () => {
  it("of a newer version is refused in words, and left as it is", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    await (await open(file)).close();
    change(file, "PRAGMA user_version = 99");
    await expect(open(file)).rejects.toThrow(UserError);
    await expect(open(file)).rejects.toThrow(/newer nanogate/);
    await expect(open(file, true)).rejects.toThrow(/newer nanogate/);
  });

  it("of an older version is migrated with everything in it", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const first = await open(file);
    await first.inbox.accept(hello, "fake:ann");
    await first.close();
    change(
      file,
      "DROP TABLE seen; DROP INDEX inbox_outcome; DROP INDEX inbox_cron; DROP TABLE occurrences; DROP TABLE marks; DROP TABLE usage; ALTER TABLE outbox DROP COLUMN wait_ms; ALTER TABLE outbox DROP COLUMN tried_ms; ALTER TABLE inbox DROP COLUMN begun_at_step; PRAGMA user_version = 1",
    );
    const ledger = await open(file);
    expect(await ledger.inbox.accept(hello, "fake:ann")).toBe("repeat");
    expect(await ledger.inbox.open()).toHaveLength(1);
    expect(await ledger.upkeep.sweep(0)).toBe(0);
    await ledger.close();
  });

  it("can be looked at while a gateway writes, and is not changed by that", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const gateway = await open(file);
    const looking = await open(file, true);
    await gateway.inbox.accept(hello, "fake:ann");
    expect((await looking.reports.entries("all", 10)).map(({ text }) => text)).toEqual(["hi"]);
    await expect(looking.reports.discard("1")).rejects.toThrow(/readonly|read-only/i);
    await looking.close();
    expect(await gateway.upkeep.touched()).toBe(false);
    await gateway.close();
  });

  it("is not made by looking for one", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    await expect(open(file, true)).rejects.toThrow();
    expect(existsSync(file)).toBe(false);
  });

  it("can be opened and used by several processes at once: each message is taken by one of them", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const program = fileURLToPath(new URL("../support/accepting-process.ts", import.meta.url));
    const run = async (): Promise<string[]> => {
      const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", program, file, "60"]);
      return JSON.parse(stdout) as string[];
    };
    const taken = (await Promise.all([run(), run(), run()])).flat();
    expect(taken).toHaveLength(60);
    expect(new Set(taken).size).toBe(60);
    const ledger = await open(file);
    expect(await ledger.reports.summary()).toMatchObject({ open: 0, outcomes: { answered: 60 } });
    await ledger.close();
  });
});
