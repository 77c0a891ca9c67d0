/** Made-up data for looking at the page without a gateway. */
import type { LedgerEntry, TraceEvent } from "../../src/gateway/ledger.js";
import type { JobView, MemoryDiff, OccurrenceView, Overview, SessionSummary, UsageEntry } from "../../src/http/api.js";
import type { Row } from "../../src/message.js";
import { contentOf } from "../src/transcript/row.js";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
export const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 23);

const talk: readonly (readonly [string, string])[] = [
  [
    "Can you remind me what we planned for Saturday?",
    "You planned **three things**:\n\n1. Pick up the bike from repair (before noon)\n2. Lunch with Marta at 13:00\n3. Call your parents\n\nShall I set a reminder for the bike?",
  ],
  ["Yes please, at 10", "Done. I will remind you on Saturday at 10:00."],
  [
    "How do I find the ten largest files here?",
    "Use `du` and sort by size:\n\n```sh\ndu -ah . | sort -rh | head -n 10\n```\n\nThe `-h` flag prints sizes people can read.",
  ],
  [
    "And in TypeScript?",
    '```ts\nimport { readdir, stat } from "node:fs/promises";\n\nconst names = await readdir(".", { recursive: true });\nconst sizes = await Promise.all(names.map(async (name) => ({ name, size: (await stat(name)).size })));\nsizes.sort((a, b) => b.size - a.size);\nconsole.table(sizes.slice(0, 10));\n```',
  ],
  [
    "Compare the three plans",
    "| Plan | Price | Storage |\n|---|---:|---:|\n| Small | 4 € | 20 GB |\n| Medium | 7 € | 80 GB |\n| Large | 13 € | 200 GB |\n\nFor your photos **Medium** is enough for about four years.",
  ],
];

export function rowsOf(count: number, end: number): Row[] {
  const rows: Row[] = [];
  for (let turn = 0; rows.length < count; turn++) {
    const [ask = "", answer = ""] = talk[turn % talk.length] ?? [];
    const time = (offset: number): string => iso(end - (count - rows.length) * 4 * minute + offset);
    rows.push({ role: "user", content: count > 1000 ? `${ask} (${rows.length})` : ask, timestamp: time(0) });
    if (turn % 5 === 2 && rows.length < count - 2) {
      const call = {
        id: `call_${turn}`,
        type: "function",
        function: { name: "exec", arguments: '{"command": "du -ah . | sort -rh | head"}' },
      };
      rows.push({ role: "assistant", content: "Let me try it here first.", tool_calls: [call], timestamp: time(1000) });
      rows.push({
        role: "tool",
        tool_call_id: call.id,
        name: "exec",
        content: "1.2G\t.\n640M\t./photos\n120M\t./videos",
        timestamp: time(2000),
      });
    }
    rows.push({ role: "assistant", content: answer, timestamp: time(3000) });
  }
  return rows.slice(0, count);
}

export function sessions(now: number): (SessionSummary & { rows: Row[] })[] {
  const names: readonly (readonly [string, number, number])[] = [
    ["telegram:1001", 42, 3 * minute],
    ["web:kx2m9w", 7, 26 * minute],
    ["discord:88213:thread:5", 120, 2 * hour],
    ["telegram:-100200", 100_000, 5 * hour],
    ["cli:direct", 14, day],
    ["file:3f2a", 9, 2 * day],
  ];
  return names.map(([key, count, ago]) => {
    const rows = rowsOf(count, now - ago);
    const text = contentOf(rows.at(-1) ?? {}).text.slice(0, 120);
    return { key, createdAt: iso(now - 30 * day), updatedAt: iso(now - ago), last: { role: "assistant", text }, rows };
  });
}

export const overview = (now: number, startedAt: number): Overview => ({
  version: "0.1.0",
  model: "demo/demo",
  uptimeSeconds: Math.round((now - startedAt) / 1000) + 86_400 * 3,
  ready: true,
  channels: [
    { name: "telegram", state: "up", lastAliveMs: now - 4000, restarts: 0, reason: undefined },
    { name: "discord", state: "deaf", lastAliveMs: now - 190_000, restarts: 2, reason: "the connection ended" },
  ],
  lanes: { lanes: 2, queued: 1 },
  ledger: {
    open: 1,
    unsent: 0,
    dead: 1,
    oldestOpenAt: now - 2000,
    outcomes: { answered: 1422, silent: 31, failed: 4, dead: 1 },
  },
  residentBytes: 78_000_000 + 4_000_000 * Math.sin(now / 20_000),
  eventLoopDelayMs: 1.2 + Math.random(),
});

const asked = [
  "list files",
  "What is the weather in Lisbon?",
  "Remind me in 2 hours to call Marta",
  "/status",
  "Summarise the attached report",
  "good morning",
  "Translate this to German: see you soon",
];

export function ledger(now: number): LedgerEntry[] {
  return Array.from({ length: 60 }, (_, at): LedgerEntry => {
    const outcome =
      at === 0 ? undefined : at === 4 ? "dead" : at === 9 ? "failed" : at % 11 === 7 ? "silent" : "answered";
    const reason =
      outcome === "dead" ? "failed 3 times" : outcome === "failed" ? "the model refused the key (401)" : undefined;
    return {
      trace: (0xab215bdf + at * 7919).toString(16).padEnd(12, "7"),
      platformId: `77/${400 - at}`,
      channel: at % 3 === 1 ? "discord" : "telegram",
      chat: at % 3 === 1 ? "88213" : "1001",
      text: asked[at % asked.length] ?? "",
      receivedAt: now - at * at * 40_000 - 2000,
      attempts: outcome === "dead" ? 4 : 1,
      outcome,
      reason,
    };
  });
}

export function traceOf({ receivedAt: at, outcome, platformId, channel }: LedgerEntry): TraceEvent[] {
  const events: readonly (readonly [number, string, string])[] = [
    [0, "received", `${channel} ${platformId}`],
    [1, "queued", "behind 1"],
    [840, "attempt", "1"],
    [2110, "model answered", "calls list_dir"],
    [2112, "tool started", "list_dir"],
    [2380, "tool finished", "list_dir"],
    [4210, "model answered", ""],
    [4231, "turn finished", `${outcome ?? "answered"}, 1 to send, 3948 tokens in, 44 out`],
    [4239, "saved", ""],
    [4243, "sending", "part 1"],
    [4390, "sent", "part 1 as 102"],
    [4391, "finished", outcome ?? "answered"],
  ];
  return events
    .slice(0, outcome === undefined ? 5 : 12)
    .map(([offset, what, detail]) => ({ at: at + offset, what, detail }));
}

export const memoryText = `# Memory

## Person
- Name: Anna, lives in Lisbon, works with maps
- Likes short answers and metric units

## Plans
- Bike at the repair shop until Saturday
- Lunch with Marta on Saturday, 13:00
`;

export const historyText = `[2026-11-14 09:12] Anna asked about storage plans; Medium (80 GB) was chosen.

[2026-11-15 18:40] Found the largest files in the workspace, photos (640 MB) and videos (120 MB). Anna will move the videos to the external disk.

[2026-11-16 08:05] Planned Saturday: bike before noon, lunch with Marta at 13:00, call the parents.
`;

export function changes(now: number): MemoryDiff[] {
  const before = memoryText
    .replace("- Lunch with Marta on Saturday, 13:00\n", "")
    .replace("short answers and metric", "long answers and metric");
  return [
    {
      id: "c3",
      time: iso(now - 2 * hour),
      by: "consolidation of telegram:1001",
      isUndoable: true,
      before,
      after: memoryText,
    },
    {
      id: "c2",
      time: iso(now - 26 * hour),
      by: "by hand",
      isUndoable: true,
      before: before.replace("- Bike at the repair shop until Saturday\n", ""),
      after: before,
    },
    {
      id: "c1",
      time: iso(now - 3 * day),
      by: "consolidation of discord:88213",
      isUndoable: false,
      before: "",
      after: "# Memory\n",
    },
  ];
}

const policy = { misfire: "once", graceMs: hour, overlap: "skip", limitMs: 10 * minute, retries: 1 } as const;

export function jobs(now: number): JobView[] {
  const every = (ms: number, first: number): number[] => Array.from({ length: 10 }, (_, at) => now + first + at * ms);
  return [
    {
      id: "j1",
      name: "Morning briefing",
      message: "Summarise my calendar and the weather",
      enabled: true,
      schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "Europe/Lisbon" },
      timing: "30 7 * * 1-5 (Europe/Lisbon)",
      to: "telegram:1001",
      policy,
      nextRunsMs: every(day, 9 * hour),
    },
    {
      id: "j2",
      name: "Check the backups",
      message: "Run the backup check and tell me only if something is wrong",
      enabled: true,
      schedule: { kind: "every", everyMs: 2 * hour },
      timing: "every 2h",
      to: "discord:88213",
      policy,
      nextRunsMs: every(2 * hour, 25 * minute),
    },
    {
      id: "j3",
      name: "Call Marta",
      message: "Remind Anna to call Marta",
      enabled: true,
      schedule: { kind: "at", atMs: now + 100 * minute },
      timing: "once",
      to: "telegram:1001",
      policy,
      nextRunsMs: [now + 100 * minute],
    },
    {
      id: "j4",
      name: "Weekly review",
      message: "What did we do this week?",
      enabled: false,
      schedule: { kind: "cron", expr: "0 18 * * 5" },
      timing: "0 18 * * 5",
      policy,
      nextRunsMs: [],
    },
  ];
}

export function occurrences(now: number): OccurrenceView[] {
  return Array.from({ length: 24 }, (_, at): OccurrenceView => {
    const dueAtMs = now - at * 2 * hour - 20 * minute;
    const jobId = at % 4 === 3 ? "j1" : "j2";
    if (at === 0) return { jobId, dueAtMs: now - 3000, startedAtMs: now - 2900 };
    if (at === 5) return { jobId, dueAtMs, outcome: "skipped", reason: "missed by 3 h, later than its grace allows" };
    if (at === 8)
      return {
        jobId,
        dueAtMs,
        startedAtMs: dueAtMs + 80,
        finishedAtMs: dueAtMs + 9000,
        outcome: "failed",
        reason: "the model did not answer",
      };
    return { jobId, dueAtMs, startedAtMs: dueAtMs + 40, finishedAtMs: dueAtMs + 4000 + at * 200, outcome: "ran" };
  });
}

export function usage(now: number, days: number): UsageEntry[] {
  const who: readonly (readonly [string, string, number])[] = [
    ["telegram:1001", "anthropic/claude-sonnet", 1],
    ["discord:88213", "openai/gpt-4o", 0.6],
    ["web:kx2m9w", "anthropic/claude-sonnet", 0.3],
    ["cron:j2", "demo/demo", 0.15],
  ];
  return Array.from({ length: days }, (_, ago) => ago).flatMap((ago) =>
    who.map(([session, model, share]) => {
      const input = Math.round((60_000 + 45_000 * Math.sin(ago * 1.7) + 20_000 * Math.cos(ago * 0.6)) * share);
      return {
        day: iso(now - ago * day).slice(0, 10),
        session,
        model,
        turns: Math.round(input / 4000),
        input,
        output: Math.round(input * 0.12),
        cached: Math.round(input * 0.4),
      };
    }),
  );
}
