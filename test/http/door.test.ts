/** What holds for every path of the HTTP door: who is let in, how much is taken, what the answers carry. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { eventsOf, openDoor } from "../support/door.js";
import { gate } from "../support/gate.js";

const token = "correct horse battery staple".replaceAll(" ", "-");
const turn = { session: "fake:ann", text: "hi" };
const json = { "content-type": "application/json" };
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

/** The first line and the headers of an answer to bytes that no proper client would send. */
async function raw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(text);
  let answer = "";
  for await (const piece of socket) {
    answer += String(piece);
    if (answer.includes("\r\n\r\n")) break;
  }
  socket.destroy();
  return answer;
}

describe("without a token", () => {
  it("everybody on this machine may come in", async () => {
    const { url } = await openDoor();
    expect((await fetch(`${url}/api/sessions`)).status).toBe(200);
  });
});

describe("where a token is needed", () => {
  const open = () => openDoor({ tokens: [token, "another-token-0000"] });

  it.each([
    ["none", {}],
    ["a wrong one", bearer("wrong")],
    ["one that is longer", bearer(`${token}x`)],
    ["a piece of it", bearer(token.slice(0, -1))],
    ["an empty one", { authorization: "Bearer " }],
    ["another way", { authorization: `Basic ${token}` }],
    ["a cookie that is made up", { cookie: `nanogate=99999999999.abc.${"A".repeat(43)}` }],
  ])("%s does not let in, anywhere but at health, the way in and the page's files", async (_, headers) => {
    const { url, house } = await open();
    for (const path of [
      "/api/sessions",
      "/api/events",
      "/openapi.json",
      "/status",
      "/metrics",
      "/elsewhere",
      "/api/x.js",
    ]) {
      const response = await fetch(`${url}${path}`, { headers });
      expect([path, response.status, response.headers.get("www-authenticate")]).toEqual([path, 401, "Bearer"]);
      expect(await response.json()).toEqual({ error: expect.stringContaining("token") });
    }
    for (const path of ["/api/turns", "/chat", "/chat/stream", "/v1/chat/completions", "/api/logout"]) {
      expect((await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(turn) })).status).toBe(401);
    }
    expect((await fetch(`${url}/healthz`, { headers })).status).toBe(200);
    expect(await house.outcomes()).toEqual([]);
  });

  it("lets in who shows it, or another that is known", async () => {
    const { url } = await open();
    for (const known of [token, "another-token-0000"]) {
      expect((await fetch(`${url}/api/sessions`, { headers: bearer(known) })).status).toBe(200);
    }
    expect((await fetch(`${url}/api/sessions`, { headers: { authorization: `bearer  ${token}` } })).status).toBe(200);
  });

  it("tells clients of OpenAI in their words", async () => {
    const { url } = await open();
    const response = await fetch(`${url}/v1/models`);
    expect([response.status, await response.json()]).toMatchObject([401, { error: { code: "invalid_api_key" } }]);
  });

  it("is bought a cookie with, which no script can read and no other site can use", async () => {
    const { url, post } = await open();
    const login = await post("/api/login", { token }, { headers: json });
    expect([login.status, await login.json()]).toEqual([200, { done: true }]);
    const [cookie = ""] = login.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=2592000$/);
    expect(cookie).not.toContain(token);
    const headers = { cookie: `other=1; ${cookie.split(";")[0]}` };
    expect((await fetch(`${url}/api/sessions`, { headers })).status).toBe(200);
    const logout = await post("/api/logout", {}, { headers: { ...headers, ...json } });
    expect(logout.headers.getSetCookie()[0]).toMatch(/^nanogate=; .*Max-Age=0$/);
  });

  it("is not bought a cookie with, if it is another", async () => {
    const { post, house } = await open();
    for (const body of [{ token: "wrong" }, { token: "" }]) {
      const response = await post("/api/login", body, { headers: json });
      expect([response.status, response.headers.getSetCookie()]).toEqual([401, []]);
    }
    expect((await post("/api/login", { token: 5 }, { headers: json })).status).toBe(400);
    expect(house.warnings).toEqual([expect.stringContaining("wrong token")]);
  });

  it("a cookie alone changes nothing: a form of another site could send it along", async () => {
    const { url, post, house } = await open();
    const login = await post("/api/login", { token }, { headers: json });
    const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const headers = { cookie, "content-type": type };
      expect((await post("/api/turns", turn, { headers })).status).toBe(403);
      expect((await fetch(`${url}/api/jobs/x`, { method: "DELETE", headers })).status).toBe(403);
    }
    expect(await house.outcomes()).toEqual([]);
    expect((await post("/api/turns", turn, { headers: { cookie, ...json } })).status).toBe(200);
  });

  it("a cookie of yesterday's token is worth nothing, and neither is one that has run out", async () => {
    const first = await openDoor({ tokens: ["yesterday-yesterday"] });
    const login = await first.post("/api/login", { token: "yesterday-yesterday" }, { headers: json });
    const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await fetch(`${first.url}/api/sessions`, { headers: { cookie } })).status).toBe(200);
    const { url } = await open();
    expect((await fetch(`${url}/api/sessions`, { headers: { cookie } })).status).toBe(401);
    const [name = "", worth = ""] = cookie.split("=");
    const [, nonce, seal] = worth.split(".");
    const longer = `${name}=99999999999.${nonce}.${seal}`;
    expect((await fetch(`${first.url}/api/sessions`, { headers: { cookie: longer } })).status).toBe(401);
  });

  it("a cookie over https stays there", async () => {
    const { url } = await open();
    const host = new URL(url).host;
    const headers = { ...json, origin: `https://${host}` };
    const login = await fetch(`${url}/api/login`, { method: "POST", headers, body: JSON.stringify({ token }) });
    expect(login.headers.getSetCookie()[0]).toMatch(/; Secure$/);
  });
});

describe("a page of another site", () => {
  const foreign = { origin: "https://evil.example.org" };

  it("is refused, with a token or without", async () => {
    const { url } = await openDoor({ tokens: [token] });
    const response = await fetch(`${url}/api/sessions`, { headers: { ...foreign, ...bearer(token) } });
    expect(response.status).toBe(403);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("is another one than ours, whose browser need not be told anything", async () => {
    const { url } = await openDoor();
    const response = await fetch(`${url}/api/sessions`, { headers: { origin: url } });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  it("is not told that it may ask", async () => {
    const { url } = await openDoor();
    const headers = { ...foreign, "access-control-request-method": "POST" };
    const preflight = await fetch(`${url}/api/turns`, { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });

  it("may ask if the owner has named it, and its browser is told so before and after", async () => {
    const origin = "https://app.example.org";
    const { url } = await openDoor({ guard: { origins: [origin] }, tokens: [token] });
    const asking = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    };
    const preflight = await fetch(`${url}/v1/chat/completions`, { method: "OPTIONS", headers: asking });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
      vary: "origin",
    });
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    const answered = await fetch(`${url}/v1/models`, { headers: { origin, ...bearer(token) } });
    expect([answered.status, answered.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    const events = await fetch(`${url}/api/events`, { headers: { origin, ...bearer(token) } });
    expect(events.headers.get("access-control-allow-origin")).toBe(origin);
    await events.body?.cancel();
    expect((await fetch(`${url}/v1/models`, { headers: { origin } })).status).toBe(401);
  });
});

describe("a request that is meant for another name", () => {
  it("is refused", async () => {
    const { url } = await openDoor();
    expect(await raw(url, "GET /api/sessions HTTP/1.1\r\nHost: evil.example.org\r\n\r\n")).toMatch(/^HTTP\/1.1 421 /);
    expect(await raw(url, "GET /healthz HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1.1 421 /);
  });
});

describe("a body", () => {
  const megabyte = 1024 * 1024;

  it.each([
    ["/api/turns", 40],
    ["/v1/chat/completions", 40],
    ["/chat", 40],
    ["/chat", 2],
    ["/api/login", 2],
  ])("at %s of %i MB is refused", async (path, size) => {
    const { post, house } = await openDoor();
    const response = await post(path, { ...turn, message: "hi", pad: "x".repeat(size * megabyte) });
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining("MB can be sent here")]);
    expect(await house.outcomes()).toEqual([]);
  });

  it("with pictures may have more", async () => {
    const { post } = await openDoor();
    expect((await post("/api/turns", { ...turn, pad: "x".repeat(24 * megabyte) })).status).toBe(200);
  });

  it("that does not say how large it is is counted as it comes, and refused", async () => {
    const { url, house } = await openDoor();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let answer = "";
    socket.on("data", (piece) => (answer += String(piece)));
    socket.write("POST /chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const piece = Buffer.from(`100000\r\n${"x".repeat(megabyte)}\r\n`);
    for (let sent = 0; sent < 40; sent++) if (!socket.write(piece)) await once(socket, "drain");
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(await house.outcomes()).toEqual([]);
    socket.destroy();
  });

  it("is refused before it is sent, if the client asks first", async () => {
    const { url } = await openDoor();
    const ask = (length: number): Promise<string> =>
      raw(url, `POST /chat HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
    expect(await ask(40 * megabyte)).toMatch(/^HTTP\/1.1 413 /);
    expect(await ask(100)).toMatch(/^HTTP\/1.1 100 /);
  });

  it("of somebody who is not let in is not read at all", async () => {
    const { url } = await openDoor({ tokens: [token] });
    const answer = await raw(url, "POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
  });

  it("that never comes to its end leaves nothing behind", async () => {
    const { url, house } = await openDoor();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write('POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"message"');
    await once(socket, "connect");
    socket.destroy();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(house.warnings).toEqual([]);
  });
});

describe("a client that does not read what it is told", () => {
  it("is let go before it costs much; the others hear everything", async () => {
    const { url, house, watching } = await openDoor();
    const deaf = connect(Number(new URL(url).port), "127.0.0.1").pause();
    deaf.on("error", () => {}).write("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const reading = new AbortController();
    const events = eventsOf(await fetch(`${url}/api/events`, { signal: reading.signal }));
    await expect.poll(watching).toBe(2);
    const to = { channel: "fake", chat: "ann" };
    for (let told = 0; told < 64; told++) {
      house.live.said({ kind: "text", to, text: `${told}${"x".repeat(1024 * 1024)}` });
      const { value } = (await events.next()) as { value: { message: { text: string } } };
      expect(value.message.text).toMatch(new RegExp(`^${told}x`));
    }
    expect(watching()).toBe(1);
    deaf.destroy();
    reading.abort();
  });
});

describe("many connections", () => {
  it("are bounded: those that are there are served, one too many is not", async () => {
    const { url } = await openDoor({ maxConnections: 3 });
    const port = Number(new URL(url).port);
    const sockets = [];
    for (let at = 0; at < 3; at++) {
      const socket = connect(port, "127.0.0.1");
      socket.write("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await once(socket, "data");
      sockets.push(socket);
    }
    const late = connect(port, "127.0.0.1");
    late.on("error", () => {});
    await once(late, "close");
    sockets.pop()?.destroy();
    await expect
      .poll(() =>
        fetch(`${url}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe("a client that leaves before it is answered", () => {
  it("leaves nobody behind who listens", async () => {
    const seen = gate();
    const { url, watching } = await openDoor({
      before: async ({ socket }) => {
        client.destroy();
        await once(socket, "close");
        setImmediate(seen.open);
      },
    });
    const client = connect(Number(new URL(url).port), "127.0.0.1");
    client.write("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await seen.wait;
    await expect.poll(watching).toBe(0);
  });

  it("and only wanted to know what a stream would be like is not kept", async () => {
    const { url } = await openDoor();
    const response = await fetch(`${url}/api/events`, { method: "HEAD" });
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["text/event-stream", ""]);
  });
});

describe("every answer", () => {
  it("says that it is what it says, is kept by nobody, and stands in no frame", async () => {
    const { url } = await openDoor();
    for (const path of ["/api/sessions", "/healthz", "/elsewhere"]) {
      const { headers } = await fetch(`${url}${path}`);
      expect(Object.fromEntries(headers)).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      });
    }
  });

  it("to HEAD is the one to GET without its body", async () => {
    const { url } = await openDoor();
    const response = await fetch(`${url}/healthz`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  it("to a stream that is broken off leaves nobody behind who listens", async () => {
    const rest = gate();
    const { url, watching } = await openDoor({ model: [{ pieces: ["hello", rest.wait, " there"] }] });
    const leaving = new AbortController();
    await fetch(`${url}/api/events`, { signal: leaving.signal });
    await fetch(`${url}/api/turns`, { method: "POST", body: JSON.stringify(turn), signal: leaving.signal });
    await expect.poll(watching).toBe(3);
    leaving.abort();
    await expect.poll(() => watching()).toBe(0);
    rest.open();
  });
});
