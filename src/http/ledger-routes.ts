/** The ledger, for the page: each message with its outcome and its life; what turns have cost. */
import type { Reports, UsageReports } from "../gateway/ledger.js";
import { localIsoTime } from "../util/clock.js";
import type { DoorApp } from "./event-stream.js";
import { numberIn } from "./query.js";

export type LedgerParts = {
  readonly reports: Pick<Reports, "entries" | "trace" | "retry" | "discard">;
  readonly usage: UsageReports;
  /** Goes on with what has been put back. */
  readonly resume: () => Promise<void>;
  readonly now: () => number;
};

const dayMs = 24 * 3_600_000;

export function addLedgerRoutes(app: DoorApp, { reports, usage, resume, now }: LedgerParts): void {
  app.get("/api/messages", async (context) => {
    const filter = context.req.query("filter") === "problems" ? "problems" : "all";
    const limit = numberIn(context, "limit", { otherwise: 100, most: 1000 });
    return context.json({ messages: await reports.entries(filter, limit) });
  });

  app.get("/api/messages/:trace", async (context) => {
    const id = context.req.param("trace");
    const found = await reports.trace(id);
    return found ? context.json(found) : context.json({ error: `There is no message ${id}.` }, 404);
  });

  for (const change of ["retry", "discard"] as const) {
    app.post(`/api/messages/:trace/${change}`, async (context) => {
      const done = await reports[change](context.req.param("trace"));
      if (done) await resume();
      return context.json({ done });
    });
  }

  app.get("/api/usage", async (context) => {
    const days = numberIn(context, "days", { otherwise: 30, most: 400 });
    // Today is one of them.
    const since = localIsoTime((now() - Math.max(0, days - 1) * dayMs) * 1000).slice(0, 10);
    return context.json({ usage: await usage.since(since) });
  });
}
