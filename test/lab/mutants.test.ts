/** The lab is only worth something if it finds faults: each protection is taken away once, and must be missed. */
import { describe, expect, it } from "vitest";
import { drill, drillPoints } from "../support/drill.js";
import type { HouseOptions } from "../support/house.js";

const mutants: Readonly<Record<string, Pick<HouseOptions, "mutate" | "store">>> = {
  "acknowledges before the message is stored": {
    mutate: (ledger) => ({
      ...ledger,
      inbox: {
        ...ledger.inbox,
        accept: (message, session) => {
          const stored = ledger.inbox.accept(message, session);
          stored.catch(() => {});
          return stored.catch(() => "repeat" as const);
        },
      },
    }),
  },
  "does not note that a tool is being run": {
    mutate: (ledger) => ({
      ...ledger,
      journal: {
        ...ledger.journal,
        keep: async (item, step) => {
          if (step.kind === "row") await ledger.journal.keep(item, step);
        },
      },
    }),
  },
  "keeps no steps": {
    mutate: (ledger) => ({ ...ledger, journal: { ...ledger.journal, keep: async () => {} } }),
  },
  "appends without looking whether the rows are there": {
    store: async (sessions, key, rows) => {
      const session = await sessions.getOrCreate(key);
      session.addRows(rows);
      await sessions.save(session);
    },
  },
  "tells without having sent": {
    mutate: (ledger) => ({
      ...ledger,
      outbox: {
        ...ledger.outbox,
        change: (part, change) =>
          ledger.outbox.change(part, change.kind === "sending" ? { kind: "sent", receipt: "early" } : change),
      },
    }),
  },
  "does not recognise a redelivery": {
    mutate: (ledger) => ({
      ...ledger,
      inbox: {
        ...ledger.inbox,
        accept: (message, session) =>
          ledger.inbox.accept({ ...message, id: `${message.id}-${Math.random()}` }, session),
      },
    }),
  },
};

describe("a gateway without a fault", () => {
  it.each(drillPoints)("keeps its books when killed %s", async (point) => {
    expect(await drill(point)).toEqual([]);
  });
});

describe("a gateway that", () => {
  it.each(Object.keys(mutants))("%s is found out", async (name) => {
    const found: string[] = [];
    for (const point of drillPoints) {
      const problems = await drill(point, mutants[name]).catch((error: unknown) => [String(error)]);
      found.push(...problems.filter((problem) => !problem.includes("never reached")));
    }
    expect(found).not.toEqual([]);
  });
});
