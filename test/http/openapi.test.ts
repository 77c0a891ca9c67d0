/** The OpenAPI document and the door say the same. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRoutes, type DoorParts } from "../../src/http/door.js";
import { operations } from "../../src/http/operations.js";
import { checkedClient } from "../support/checked-client.js";
import { fails, says } from "../support/fake-openai.js";
import { openGatewayApp } from "../support/gateway-app.js";

const name = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method.toUpperCase()} ${path}`;

describe("the document", () => {
  it("names every route, and none that is not there", () => {
    const health = ["/healthz", "/readyz", "/status", "/metrics"];
    const documented = operations.filter(({ path }) => !health.includes(path)).map(name);
    const routes = createRoutes({ now: () => 0 } as DoorParts).routes.filter(({ path }) => path !== "/*");
    expect([...new Set(routes.map(name))].sort()).toEqual(documented.sort());
  });

  it("tells what each of them answers: all are called, and their answers are as it says", async () => {
    const answers = [says("one"), says("two"), says("three"), says("four"), fails(400, { message: "no" })];
    const house = await openGatewayApp({ answers });
    mkdirSync(join(house.workspace, "memory"), { recursive: true });
    const { call, templates } = await checkedClient(house.url);
    const called = new Set<string>();
    const ok: typeof call = async (template, ...asked) => {
      const answer = await call(template, ...asked);
      expect(answer.status, template).toBe(200);
      called.add(template);
      return answer;
    };
    const message = { message: "hi", active_file: "a.md" };

    await ok("POST /chat", {}, { body: message });
    await ok("POST /chat/stream", {}, { body: message });
    await ok("POST /v1/chat/completions", {}, { body: { messages: [{ role: "user", content: "hi" }] } });
    await ok("GET /v1/models");
    await ok("GET /v1/models/{id}", { id: "nanogate" });
    await ok("POST /api/turns", {}, { body: { session: "web:1", text: "hi" } });
    await ok("POST /api/turns", {}, { body: { session: "web:1", text: "fails", id: "fails-001" } });
    await ok("GET /api/overview");
    await ok("GET /api/pulse", {}, { events: 1 });
    await ok("GET /api/sessions");
    const key = "file:a.md";
    await ok("GET /api/sessions/{key}/rows", { key }, { query: { raw: 1 } });
    await ok("GET /api/sessions/{key}/verify", { key });
    await ok("GET /api/sessions/{key}/export", { key });
    await ok("GET /api/messages");
    await ok("GET /api/messages/{trace}", { trace: "fails-001" });
    await ok("POST /api/messages/{trace}/discard", { trace: "fails-001" });
    await ok("POST /api/messages/{trace}/retry", { trace: "fails-001" });
    writeFileSync(join(house.workspace, "memory", "MEMORY.md"), "one");
    await ok("GET /api/memory");
    writeFileSync(join(house.workspace, "memory", "MEMORY.md"), "two");
    const { changes } = (await ok("GET /api/memory")).body as { changes: { id: string }[] };
    const { id = "" } = changes[0] ?? {};
    await ok("GET /api/memory/{id}", { id });
    await ok("POST /api/memory/{id}/undo", { id });
    await ok("GET /api/usage");
    await ok("POST /api/login", {}, { body: { token: "any, where none is needed" } });
    await ok("POST /api/logout");
    await ok("GET /api/occurrences");
    for (const path of ["openapi.json", "healthz", "readyz", "status", "metrics"]) await ok(`GET /${path}`);

    const watching = call("GET /api/events", {}, { events: 2 });
    await call("POST /chat", {}, { body: { message: "/help" } });
    expect((await watching).status).toBe(200);
    called.add("GET /api/events");

    const jobs = templates.filter((template) => template.includes("/api/jobs"));
    expect(templates.filter((template) => !called.has(template) && !jobs.includes(template))).toEqual([]);
  });

  it("tells how each of them refuses", async () => {
    const { url } = await openGatewayApp({ answers: [fails(400, { message: "no" })] });
    const { call } = await checkedClient(url);
    const status = async (...asked: Parameters<typeof call>): Promise<number> => (await call(...asked)).status;
    expect(await status("POST /chat", {}, { body: {} })).toBe(400);
    expect(await status("POST /chat", {}, { body: { message: "fails" } })).toBe(500);
    expect(await status("POST /chat/stream", {}, { body: {} })).toBe(400);
    expect(await status("POST /v1/chat/completions", {}, { body: {} })).toBe(400);
    expect(await status("POST /api/turns", {}, { body: {} })).toBe(400);
    for (const what of ["rows", "verify", "export"]) {
      expect(await status(`GET /api/sessions/{key}/${what}`, { key: "nobody:1" })).toBe(404);
    }
    expect(await status("GET /api/messages/{trace}", { trace: "none" })).toBe(404);
    expect(await status("GET /api/memory/{id}", { id: "99" })).toBe(404);
    expect(await status("POST /api/memory/{id}/undo", { id: "99" })).toBe(404);
  });
});
