/** `nanogate trace` and `nanogate ledger` on a ledger with something in it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import type { Outcome } from "../../src/gateway/ledger.js";
import { openHome, runMain } from "../support/cli.js";

/** A home whose gateway has had these messages; `open` ones have no outcome. */
async function openLedgerHome(...messages: (readonly [id: string, text: string, outcome: Outcome["kind"] | "open"])[]) {
  const home = openHome();
  let now = Date.UTC(2026, 0, 1, 12);
  const ledger = await openSqliteLedger({
    file: join(home, "state", "ledger.sqlite"),
    now: () => now,
    reach: () => {},
  });
  const traces: string[] = [];
  for (const [id, text, kind] of messages) {
    const from = { channel: "telegram", chat: "42" };
    const item = await ledger.inbox.accept({ id, from, sender: ["42"], text, media: [] }, "telegram:42");
    if (item === "repeat") throw new Error("twice the same id");
    traces.push(item.trace);
    if (kind === "open") continue;
    await ledger.journal.begin(item);
    now += 1234;
    await ledger.journal.keep(item, { kind: "started", call: "c1", name: "web_search" });
    const said = [{ kind: "text", to: from, text: "answer" } as const];
    await ledger.journal.finish(item, { rows: [], messages: said, outcome: { kind, reason: `because ${kind}` } });
    await ledger.journal.appended(item);
    const part = await ledger.outbox.next("telegram", "42");
    if (!part) throw new Error("nothing to send");
    await ledger.outbox.change(part, { kind: "sending" });
    now += 20_000;
    await ledger.outbox.change(part, { kind: "sent", receipt: "r-99" });
  }
  await ledger.close();
  return { home, traces };
}

describe("nanogate trace", () => {
  it("tells the life of a message, by our id and by the platform's", async () => {
    const { home, traces } = await openLedgerHome(["42/7", "what is up?", "answered"]);
    for (const id of [...traces, "42/7", "7"]) {
      const { code, out } = await runMain(["trace", id, "--home", home]);
      expect(code).toBe(0);
      expect(out).toContain("what is up?");
      expect(out).toMatch(/\+0\.000 s {2}received, stored +telegram 42\/7/);
      expect(out).toMatch(/\+1\.234 s {2}tool started +web_search/);
      expect(out).toMatch(/\+21\.2 s {2}sent +part 1 as r-99/);
      expect(out.trimEnd().split("\n").at(-1)).toBe("  answered: because answered");
    }
  });

  it("prints JSON for scripts", async () => {
    const { home, traces } = await openLedgerHome(["42/7", "hi", "failed"]);
    const { out } = await runMain(["trace", "42/7", "--json", "--home", home]);
    const found = JSON.parse(out) as { entry: object; events: readonly object[] };
    expect(found.entry).toMatchObject({ trace: traces[0], outcome: "failed", platformId: "42/7" });
    expect(found.events[0]).toMatchObject({ what: "received" });
  });

  it("ends with 4 for a message that nobody knows, and makes no ledger", async () => {
    const { home } = await openLedgerHome(["1", "hi", "answered"]);
    const unknown = await runMain(["trace", "nope", "--home", home]);
    expect(unknown).toMatchObject({ code: 4, out: "" });
    expect(unknown.err).toContain('no message "nope"');
    const fresh = openHome();
    expect((await runMain(["trace", "nope", "--home", fresh])).code).toBe(4);
    expect(existsSync(join(fresh, "state"))).toBe(false);
  });

  it("lets no control character of a stranger reach the terminal", async () => {
    const { home } = await openLedgerHome(["1", "a\u001b[31mred\u0007", "answered"]);
    const { out } = await runMain(["trace", "1", "--home", home]);
    expect(out).not.toMatch(/[\u0007\u001b]/);
  });
});

describe("nanogate ledger", () => {
  it("lists what is open, failed or put aside, the newest first", async () => {
    const { home } = await openLedgerHome(
      ["1", "good one", "answered"],
      ["2", "bad one", "failed"],
      ["3", "poison", "dead"],
      ["4", "waiting one", "open"],
    );
    const { code, out } = await runMain(["ledger", "--home", home]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/open +0 +waiting one/);
    expect(lines[2]).toMatch(/dead +1 +poison {2}\(because dead\)/);
    expect(lines[3]).toMatch(/failed +1 +bad one/);
    expect((await runMain(["ledger", "--all", "--home", home])).out).toContain("good one");
    expect((await runMain(["ledger", "--all", "--limit", "1", "--home", home])).out.trim().split("\n")).toHaveLength(2);
    const json = JSON.parse((await runMain(["ledger", "--json", "--home", home])).out) as { text: string }[];
    expect(json.map(({ text }) => text)).toEqual(["waiting one", "poison", "bad one"]);
  });

  it("has nothing to say on a fresh machine", async () => {
    const { code, out } = await runMain(["ledger", "--home", openHome()]);
    expect([code, out]).toEqual([0, "Nothing is open, failed or put aside.\n"]);
  });

  it("puts a message back, or drops it for good", async () => {
    const { home, traces } = await openLedgerHome(["2", "bad one", "failed"], ["3", "poison", "dead"]);
    const retried = await runMain(["ledger", "retry", String(traces[0]), "--home", home]);
    expect(retried.code).toBe(0);
    expect(retried.out).toContain("will be tried again");
    expect((await runMain(["ledger", "discard", "3", "--home", home])).code).toBe(0);
    const { out } = await runMain(["ledger", "--home", home]);
    expect(out).toMatch(/open +0 +bad one/);
    expect(out).not.toContain("poison");
  });

  it("says why when there is nothing to do", async () => {
    const { home } = await openLedgerHome(["1", "good one", "answered"]);
    const retry = await runMain(["ledger", "retry", "1", "--home", home]);
    expect(retry.code).toBe(4);
    expect(retry.err).toContain("nothing to try again");
    const discard = await runMain(["ledger", "discard", "1", "--home", home]);
    expect(discard.err).toContain("nothing to discard");
    expect((await runMain(["ledger", "retry", "nope", "--home", home])).code).toBe(4);
    expect((await runMain(["ledger", "--limit", "x", "--home", home])).code).toBe(2);
  });
});
