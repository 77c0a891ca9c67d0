/** The books of a made-up run: each kind of fault in them is named, and books without a fault are passed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { openSessions } from "../../src/session/open.js";
import { temporaryFolder } from "../support/workspace.js";
import { audit, type Said } from "./audit.js";
import type { Fakes } from "./daemon.js";

type Books = {
  /** Texts that were accepted and answered. */
  readonly accepted: readonly string[];
  readonly rows: readonly (readonly [role: string, content: string])[];
  readonly onTelegram: readonly string[];
  readonly onDiscord?: readonly string[];
  readonly marks?: string;
  readonly channel?: Said["channel"];
};

const fine: Books = {
  accepted: ["say 0001"],
  rows: [
    ["user", "say 0001"],
    ["assistant", "answer 0001"],
  ],
  onTelegram: ["answer 0001"],
};

async function faultsIn(books: Books, kills = 1): Promise<string[]> {
  const { channel = "telegram" } = books;
  const home = temporaryFolder();
  const ledger = await openSqliteLedger({ file: join(home, "state", "ledger.sqlite"), now: Date.now, reach: () => {} });
  for (const [at, text] of books.accepted.entries()) {
    const from = { channel, chat: "5" };
    const item = await ledger.inbox.accept({ id: String(at), from, sender: ["5"], text, media: [] }, `${channel}:5`);
    if (item === "repeat" || text.startsWith("open")) continue;
    await ledger.journal.begin(item);
    await ledger.journal.finish(item, { rows: [], messages: [], outcome: { kind: "answered" } });
    await ledger.journal.appended(item);
  }
  await ledger.close();
  const workspace = join(home, "workspace");
  const sessions = openSessions({ workspace });
  const session = await sessions.getOrCreate(`${channel}:5`);
  for (const [role, content] of books.rows) session.addMessage(role, content);
  await sessions.save(session);
  await sessions.close();
  mkdirSync(workspace, { recursive: true });
  if (books.marks !== undefined) writeFileSync(join(workspace, "marks.txt"), books.marks);
  const platforms = {
    telegram: { sent: books.onTelegram.map((text) => ({ text })) },
    discord: { posts: (books.onDiscord ?? []).map((content) => ({ content })), violations: [] },
  };
  return audit(home, [{ number: "0001", channel, chat: "5" }], platforms as unknown as Fakes, kills);
}

describe("the books of a run", () => {
  it("in which nothing is wrong are passed", async () => {
    expect(await faultsIn(fine)).toEqual([]);
    expect(await faultsIn({ ...fine, onTelegram: ["answer 0001", "↻ answer 0001"], marks: "0001\n" })).toEqual([]);
  });

  const faulty: Readonly<Record<string, readonly [Partial<Books>, string]>> = {
    "a message that was never accepted": [{ accepted: [] }, "0 entries in the ledger"],
    "a message that was accepted twice": [{ accepted: ["say 0001", "say 0001"] }, "2 entries in the ledger"],
    "a message without an outcome": [{ accepted: ["open say 0001"] }, "outcome undefined"],
    "a turn that is not stored": [{ rows: [] }, "stands 0 times"],
    "a turn that is stored twice": [{ rows: [...fine.rows, ...fine.rows] }, "stands 2 times"],
    "a turn that is torn": [
      { rows: [...fine.rows.slice(0, 1), ["user", "say 0002"], ...fine.rows.slice(1)] },
      "not whole and in order",
    ],
    "an answer that nobody saw": [{ onTelegram: [] }, "never told"],
    "a repeat that does not say so": [{ onTelegram: ["answer 0001", "answer 0001"] }, "told 2 times"],
    "more repeats than kills": [{ onTelegram: ["answer 0001", "↻ answer 0001", "↻ answer 0001"] }, "2 labelled"],
    "any repeat on Discord": [
      { channel: "discord", onTelegram: [], onDiscord: ["answer 0001", "answer 0001"] },
      "Discord shows it 2 times",
    ],
    "a tool that ran twice": [{ marks: "0001\n0001\n" }, "its tool ran 2 times"],
  };

  it.each(Object.keys(faulty))("name %s", async (name) => {
    const [books, words] = faulty[name] ?? [{}, ""];
    const faults = await faultsIn({ ...fine, ...books });
    expect(faults.join("\n")).toContain(words);
    expect(faults).toHaveLength(1);
  });
});
