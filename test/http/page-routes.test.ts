/** The page, as the gateway serves it. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDoor } from "../support/door.js";

const script = `console.log(${JSON.stringify("x".repeat(5000))});`;

async function openPage(options: Parameters<typeof openDoor>[0] = {}) {
  const door = await openDoor(options);
  const folder = join(door.house.folder, "web");
  const build = (files: Readonly<Record<string, string>>): void => {
    mkdirSync(join(folder, "assets"), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  build({ "index.html": "<title>nanogate</title>", "assets/index-B1a2c3.js": script, "favicon.svg": "<svg/>" });
  return { ...door, folder, build };
}

describe("the page", () => {
  it("is served with a policy that lets nothing in from elsewhere, and is not kept", async () => {
    const { url } = await openPage();
    for (const path of ["/", "/index.html"]) {
      const response = await fetch(`${url}${path}`);
      expect([response.status, await response.text()]).toEqual([200, "<title>nanogate</title>"]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "x-frame-options": "DENY",
      });
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  it("has pieces that may be kept for ever, for their names change with them", async () => {
    const { url } = await openPage();
    const response = await fetch(`${url}/assets/index-B1a2c3.js`);
    expect(await response.text()).toBe(script);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
    });
    expect((await fetch(`${url}/favicon.svg`)).headers.get("cache-control")).toBe("public, max-age=3600");
  });

  it.each(["br", "gzip"])("is sent small to who takes %s", async (encoding) => {
    const { url } = await openPage();
    const response = await fetch(`${url}/assets/index-B1a2c3.js`, { headers: { "accept-encoding": encoding } });
    expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
      encoding,
      "accept-encoding",
    ]);
    expect(Number(response.headers.get("content-length"))).toBeLessThan(500);
    expect(await response.text()).toBe(script);
    const plain = await fetch(`${url}/assets/index-B1a2c3.js`, { headers: { "accept-encoding": "identity" } });
    expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, script]);
  });

  it("is there when it is built while the gateway runs, old pieces or new", async () => {
    const { url, build } = await openPage();
    await fetch(`${url}/`);
    build({ "index.html": "new", "assets/index-N3w.js": "new" });
    expect(await (await fetch(`${url}/`)).text()).toBe("new");
    expect(await (await fetch(`${url}/assets/index-N3w.js`)).text()).toBe("new");
  });

  it("says so when it is not built", async () => {
    const { url } = await openDoor();
    const response = await fetch(`${url}/`);
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("npm run build")]);
  });

  it("can be loaded without a token, so that it can ask for one", async () => {
    const { url } = await openPage({ tokens: ["correct-horse-battery-staple"] });
    for (const path of ["/", "/assets/index-B1a2c3.js", "/favicon.svg"]) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    }
  });

  it.each([
    "/../ledger.sqlite",
    "/%2e%2e/ledger.sqlite",
    "/..%2fledger.sqlite",
    "/assets/..%2f..%2fledger.sqlite",
    "/assets/%2e%2e%2f%2e%2e%2fledger.sqlite",
    "/assets\\..\\..\\ledger.sqlite",
    "//etc/passwd",
    "/secret.html",
    "/assets/",
    "/assets",
  ])("is all there is: %s is not", async (path) => {
    const { url, folder, house } = await openPage();
    symlinkSync(join(house.folder, "ledger.sqlite"), join(folder, "secret.html"));
    const port = Number(new URL(url).port);
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    let answer = "";
    for await (const piece of socket) answer += String(piece);
    expect(answer).toMatch(/^HTTP\/1.1 40[04] /);
    expect(answer).not.toContain("SQLite");
  });
});
