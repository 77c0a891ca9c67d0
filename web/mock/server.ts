/** `npx tsx web/mock/server.ts`: the door's API with made-up data, and the built page. For looking at it; not shipped. */
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { News } from "../../src/gateway/live.js";
import { createLive } from "../../src/gateway/live.js";
import type { Item } from "../../src/gateway/ledger.js";
import type { TurnRequest } from "../../src/http/api.js";
import {
  changes,
  historyText,
  iso,
  jobs,
  ledger,
  memoryText,
  occurrences,
  overview,
  sessions,
  traceOf,
  usage,
} from "./data.js";

const startedAt = Date.now();
const all = sessions(startedAt);
const messages = ledger(startedAt);
const live = createLive();
const app = new Hono();
const number = (context: Context, name: string, otherwise: number): number =>
  Number(context.req.query(name) ?? otherwise);

app.get("/api/overview", (context) => context.json(overview(Date.now(), startedAt)));
app.get("/api/pulse", (context) =>
  streamSSE(context, async (stream) => {
    while (!stream.aborted) {
      await stream.writeSSE({ data: JSON.stringify(overview(Date.now(), startedAt)) });
      await sleep(2000);
    }
  }),
);
app.get("/api/sessions", (context) => {
  const q = (context.req.query("q") ?? "").toLowerCase();
  const found = all.filter(({ key, last }) => `${key} ${last?.text}`.toLowerCase().includes(q));
  const from = number(context, "offset", 0);
  const page = found
    .slice(from, from + number(context, "limit", 50))
    .map(({ key, createdAt, updatedAt, last }) => ({ key, createdAt, updatedAt, last }));
  return context.json({ total: found.length, sessions: page });
});
app.get("/api/sessions/:key/rows", (context) => {
  const rows = all.find(({ key }) => key === context.req.param("key"))?.rows ?? [];
  const before = number(context, "before", rows.length);
  const from = Math.max(0, before - number(context, "limit", 100));
  const page = rows.slice(from, before);
  const lines = context.req.query("raw") === undefined ? undefined : page.map((row) => JSON.stringify(row));
  return context.json({ total: rows.length, from, rows: page, lines });
});
app.get("/api/sessions/:key/verify", (context) => {
  const isBad = context.req.param("key").startsWith("discord");
  return context.json({ ok: !isBad, problems: isBad ? ["line 3: not valid JSON"] : [] });
});
app.get("/api/sessions/:key/export", (context) => context.text("{}\n"));
app.get("/api/messages", (context) => {
  const isProblem = ({ outcome }: (typeof messages)[number]): boolean =>
    outcome === undefined || outcome === "failed" || outcome === "dead";
  return context.json({ messages: context.req.query("filter") === "problems" ? messages.filter(isProblem) : messages });
});
app.get("/api/messages/:trace", (context) => {
  const entry = messages.find(({ trace }) => trace === context.req.param("trace"));
  return entry
    ? context.json({ entry, events: traceOf(entry) })
    : context.json({ error: "There is no such message." }, 404);
});
app.get("/api/memory", (context) =>
  context.json({
    memory: memoryText,
    history: historyText,
    changes: changes(startedAt).map(({ id, time, by, isUndoable }) => ({ id, time, by, isUndoable })),
  }),
);
app.get("/api/memory/:id", (context) =>
  context.json(changes(startedAt).find(({ id }) => id === context.req.param("id"))),
);
app.get("/api/jobs", (context) => context.json({ jobs: jobs(startedAt) }));
app.get("/api/occurrences", (context) => context.json({ occurrences: occurrences(Date.now()) }));
app.get("/api/usage", (context) => context.json({ usage: usage(startedAt, number(context, "days", 30)) }));
app.on(["POST", "DELETE"], ["/api/messages/*", "/api/memory/*", "/api/jobs/*"], (context) =>
  context.json({ done: true }),
);

app.get("/api/events", (context) =>
  streamSSE(context, async (stream) => {
    const tell = (event: unknown): void => void stream.writeSSE({ data: JSON.stringify(event) });
    const leave = live.watch({ news: tell, said: tell });
    stream.onAbort(leave);
    while (!stream.aborted) await sleep(1000);
  }),
);

app.post("/api/turns", async (context) => {
  const asked = await context.req.json<TurnRequest>();
  void answer(asked);
  return streamSSE(context, async (stream) => {
    await stream.writeSSE({ data: JSON.stringify({ kind: "accepted", text: asked.text }) });
    await sleep(200);
  });
});

const result = "640M\t./photos\n120M\t./videos\n 18M\t./backup.tar.gz";
const reply = `Three things take nearly all of the space:

| Folder | Size | Last changed |
|---|---:|---|
| \`photos\` | 640 MB | yesterday |
| \`videos\` | 120 MB | in August |
| \`backup.tar.gz\` | 18 MB | this morning |

The **videos** have not been opened since August. To move them to the external disk:

\`\`\`sh
rsync -a --remove-source-files videos/ /media/disk/videos/
\`\`\`

Shall I do that now?`;

let items = 0;
async function answer({ session, text, id = "x" }: TurnRequest): Promise<void> {
  const from = { channel: "web", chat: session };
  const message = { id, from, sender: ["owner"], text, media: [] };
  const item: Item = { id: ++items, trace: `t${items}`, session, message, receivedAt: Date.now(), attempts: 0 };
  const tell = (event: News["event"]): void => live.tell(item, event);
  tell({ kind: "accepted", text });
  await sleep(600);
  const command = "du -ah . | sort -rh | head -n 3";
  const call = {
    id: `c${items}`,
    type: "function",
    function: { name: "exec", arguments: JSON.stringify({ command }) },
  } as const;
  tell({ kind: "tool-call", call, hint: command });
  await sleep(900);
  tell({ kind: "tool-result", call, result });
  for (const word of reply.split(/(?<= )/)) {
    tell({ kind: "text", text: word });
    await sleep(40);
  }
  const time = iso(Date.now());
  const rows = [
    { role: "user", content: text, timestamp: time },
    { role: "assistant", content: null, tool_calls: [call], timestamp: time },
    { role: "tool", tool_call_id: call.id, name: "exec", content: result, timestamp: time },
    { role: "assistant", content: reply, timestamp: time },
  ];
  let known = all.find(({ key }) => key === session);
  if (!known) all.unshift((known = { key: session, createdAt: time, updatedAt: time, rows: [] }));
  known.rows.push(...rows);
  tell({
    kind: "finished",
    turn: { rows, messages: [{ kind: "text", to: from, text: reply, answers: id }], outcome: { kind: "answered" } },
  });
}

const folder = fileURLToPath(new URL("../../dist/web/", import.meta.url));
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
app.get("*", async (context) => {
  const path = normalize(context.req.path === "/" ? "/index.html" : context.req.path);
  const body = await readFile(join(folder, path)).catch(() => undefined);
  if (!body) return context.text("nothing here", 404);
  return context.body(new Uint8Array(body), 200, {
    "content-type": types[extname(path)] ?? "application/octet-stream",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  });
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 18799) }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/`);
});
