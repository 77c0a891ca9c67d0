import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { askingAgain, httpFetch } from "../../src/util/http-fetch.js";
import * as light from "../../src/util/light-web.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a request over node:http", () => {
  it("sends method, headers and body, and gives a Response", async () => {
    const heard: unknown[] = [];
    const url = await serve(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const { method, headers } = request;
      heard.push([method, headers["x-a"], headers["content-length"], Buffer.concat(parts).toString()]);
      response.writeHead(201, { "content-type": "application/json", "set-cookie": ["a=1", "b=2"] });
      response.end('{"ok":"ü"}');
    });
    const response = await httpFetch(url, { method: "POST", headers: { "X-A": "1" }, body: "grüß" });
    expect(heard).toEqual([["POST", "1", "6", "grüß"]]);
    expect([response.ok, response.status]).toEqual([true, 201]);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.json()).toEqual({ ok: "ü" });
  });

  it("hands over the body as it comes", async () => {
    let answering: ServerResponse | undefined;
    const url = await serve((_, response) => {
      answering = response;
      response.write("one");
    });
    const { body } = await httpFetch(url);
    const heard: string[] = [];
    for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
      heard.push(Buffer.from(part).toString());
      if (heard.length === 2) break;
      answering?.write("two");
    }
    expect(heard).toEqual(["one", "two"]);
  });

  it("says why it failed, in the cause, as Node's fetch does", async () => {
    const url = await serve((_, response) => void response.destroy());
    const failure = await httpFetch(url).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: "TypeError", cause: { code: "ECONNRESET" } });
  });

  it("ends with the signal's reason: before, while waiting, while reading", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    const url = await serve((request, response) => {
      if (request.url === "/body") response.write("begun");
      else abort.abort(reason);
    });
    const reading = await httpFetch(`${url}/body`, { signal: abort.signal });
    await expect(httpFetch(url, { signal: abort.signal })).rejects.toBe(reason);
    await expect(httpFetch(url, { signal: abort.signal })).rejects.toBe(reason);
    await expect(reading.text()).rejects.toThrow();
  });

  it("follows a redirect, unless told not to", async () => {
    const url = await serve((request, response) => {
      if (request.url === "/new") response.end("here");
      else response.writeHead(307, { location: "/new" }).end();
    });
    expect(await (await httpFetch(`${url}/old`)).text()).toBe("here");
    await expect(httpFetch(`${url}/old`, { redirect: "error" })).rejects.toThrow("fetch failed");
  });

  it("takes an answer without a body", async () => {
    const url = await serve((_, response) => void response.writeHead(204).end());
    const response = await httpFetch(url);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });

  it("sends nothing twice when the server closes a kept connection; questions are asked again", async () => {
    let answers = 0;
    const url = await serve((request, response) => {
      if (request.url === "/first") response.end("first");
      else if (answers++ === 0) request.socket.destroy();
      else response.end("second");
    });
    await (await httpFetch(`${url}/first`)).text();
    await expect(httpFetch(`${url}/again`, { method: "POST" })).rejects.toMatchObject({
      cause: { code: "ECONNRESET" },
    });
    expect(answers).toBe(1);
    answers = 0;
    await (await httpFetch(`${url}/first`)).text();
    expect(await (await askingAgain(httpFetch)(`${url}/again`)).text()).toBe("second");
  });
});

describe("the light Headers and Response of the bundle", () => {
  const lines = [
    ["Content-Type", "text/plain "],
    ["x-a", "1"],
    ["X-A", "2"],
  ] as const;

  it("behave as Node's where the program looks", () => {
    for (const Class of [Headers, light.Headers]) {
      const headers = new Class(lines as unknown as [string, string][]);
      expect([...headers]).toEqual([
        ["content-type", "text/plain"],
        ["x-a", "1, 2"],
      ]);
      expect([headers.get("X-a"), headers.get("none"), headers.has("CONTENT-TYPE")]).toEqual(["1, 2", null, true]);
      headers.delete("X-A");
      headers.set("b", "3");
      expect([...headers.entries()].flat()).toEqual(expect.arrayContaining(["b", "3"]));
      expect(headers.has("x-a")).toBe(false);
    }
  });

  it("read a body as text or JSON, and know success from failure", async () => {
    const answer = (status: number, text: string) =>
      new light.Response(pieces(text), { status, statusText: "", headers: new light.Headers() });
    expect(await answer(200, '\ufeff{"a":"é"}').json()).toEqual({ a: "é" });
    expect(await new light.Response(null, { status: 204, statusText: "", headers: new light.Headers() }).text()).toBe(
      "",
    );
    expect([200, 299, 300, 404].map((status) => answer(status, "").ok)).toEqual([true, true, false, false]);
  });

  /** Byte by byte, so that characters come in parts. */
  async function* pieces(text: string) {
    for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
  }
});
