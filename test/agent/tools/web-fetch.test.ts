/** Where web_fetch goes, where it does not, and how much it takes from a stranger. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AddressParts, createPublicAddresses } from "../../../src/agent/tools/public-address.js";
import { webFetchTool, type WebFetchParts } from "../../../src/agent/tools/web-fetch.js";
import { call } from "./bench-of-tools.js";

/** A server on one of this machine's own addresses. Returns its port. */
async function serve(listener: RequestListener, host = "127.0.0.1"): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, host, ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const page =
  (body: string | Buffer, headers: Record<string, string> = { "content-type": "text/html" }): RequestListener =>
  (_, response) =>
    void response.writeHead(200, headers).end(body);

type Answer = {
  url: string;
  finalUrl: string;
  status: number;
  extractor: string;
  truncated: boolean;
  length: number;
  text: string;
  untrusted: boolean;
  error?: string;
};

const fetcher = (addresses: AddressParts = {}, more: Partial<WebFetchParts> = {}) => {
  const tool = webFetchTool({ addresses: createPublicAddresses(addresses), ...more });
  return async (url: string, input: object = {}): Promise<Answer> =>
    JSON.parse(await call(tool, { url, ...input })) as Answer;
};

/** Only this one of the machine's addresses may be dialled; its neighbours stand for everything internal. */
const fromHere: AddressParts = { allowed: ["127.0.0.1"] };

describe("an internal address", () => {
  it("is not dialled", async () => {
    let asked = 0;
    const port = await serve((_, response) => {
      asked++;
      response.end("internal");
    });
    const { error, text } = await fetcher()(`http://127.0.0.1:${port}/`);
    expect(error).toContain("internal or private address");
    expect(text).toBeUndefined();
    expect(asked).toBe(0);
  });

  it.each([
    "http://localhost/",
    "http://localhost./",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.8/",
    "http://192.168.1.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://①②⑦.⓪.⓪.①/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:a00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://user:pass@127.0.0.1/",
  ])("is refused as %s", async (url) => {
    const resolve: AddressParts["resolve"] = async () => [{ address: "127.0.0.1", family: 4 }];
    expect((await fetcher({ resolve })(url)).error).toContain("internal or private address");
  });

  it.each([[["127.0.0.1"]], [["93.184.215.14", "10.0.0.1"]], [["::1"]], [["::ffff:10.0.0.1"]], [["fe80::1%eth0"]]])(
    "is refused behind a name that resolves to %j",
    async (list) => {
      const resolve: AddressParts["resolve"] = async () =>
        list.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      expect((await fetcher({ resolve })("http://innocent.example/")).error).toContain(
        "innocent.example is an internal",
      );
    },
  );

  it("is refused after a redirect, by address and by name", async () => {
    const port = await serve(({ url }, response) => {
      const target =
        url === "/name" ? "http://inner.example/" : url === "/local" ? "//localhost/" : "http://127.0.0.2/";
      response.writeHead(302, { location: target }).end();
    });
    const resolve: AddressParts["resolve"] = async () => [{ address: "127.0.0.3", family: 4 }];
    const fetch = fetcher({ ...fromHere, resolve });
    for (const path of ["", "name", "local"]) {
      expect((await fetch(`http://127.0.0.1:${port}/${path}`)).error).toContain("internal or private");
    }
  });

  it("is refused when a name changes its mind between two looks", async () => {
    let looks = 0;
    const resolve: AddressParts["resolve"] = async () => [
      { address: looks++ === 0 ? "127.0.0.1" : "127.0.0.2", family: 4 },
    ];
    const port = await serve(({ url }, response) =>
      url === "/again" ? response.end("got it") : response.writeHead(302, { location: "/again" }).end(),
    );
    const { error } = await fetcher({ ...fromHere, resolve })(`http://rebind.example:${port}/`);
    expect(error).toContain("rebind.example is an internal");
    expect(looks).toBe(2);
  });

  it.each(["file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/plain,hi"])(
    "is no way around: %s",
    async (url) => {
      expect((await fetcher()(url)).error).toContain("Only http and https");
    },
  );

  it.each(["", "example.com", "http://", "http://[::1"])("no URL is told as such: %j", async (url) => {
    expect((await fetcher()(url)).error).toContain("is not a URL");
  });

  it("is not reached by a redirect to another scheme", async () => {
    const port = await serve((_, response) => void response.writeHead(301, { location: "file:///etc/passwd" }).end());
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}/`)).error).toContain(
      "Only http and https can be fetched, got 'file'",
    );
  });
});

describe("what the owner allows", () => {
  it.each(["127.0.0.1", "127.0.0.0/8", "nas.lan"])("can be fetched: %s", async (allowed) => {
    const port = await serve(page("<p>the nas"));
    const resolve: AddressParts["resolve"] = async () => [{ address: "127.0.0.1", family: 4 }];
    const host = allowed === "nas.lan" ? "NAS.lan" : "127.0.0.1";
    expect((await fetcher({ allowed: [allowed], resolve })(`http://${host}:${port}/`)).text).toContain("the nas");
  });

  it("is refused at the start if it makes no sense", () => {
    expect(() => createPublicAddresses({ allowed: ["10.0.0.0/99"] })).toThrow("no range of addresses");
  });

  it("is that name only", async () => {
    const resolve: AddressParts["resolve"] = async () => [{ address: "127.0.0.1", family: 4 }];
    expect((await fetcher({ allowed: ["nas.lan"], resolve })("http://other.lan/")).error).toContain("internal");
    expect((await fetcher({ allowed: ["nas.lan"], resolve })("http://127.0.0.1/")).error).toContain("internal");
  });
});

describe("a page", () => {
  it("comes as nanobot's JSON, marked as a stranger's words", async () => {
    const port = await serve(page("<html><title>T</title><body><h1>Hello</h1><p>World</p></body></html>"));
    const url = `http://127.0.0.1:${port}/a`;
    const answer = await fetcher(fromHere)(url);
    expect(Object.keys(answer)).toEqual([
      "url",
      "finalUrl",
      "status",
      "extractor",
      "truncated",
      "length",
      "text",
      "untrusted",
    ]);
    expect(answer).toMatchObject({
      url,
      finalUrl: url,
      status: 200,
      extractor: "readability",
      truncated: false,
      untrusted: true,
    });
    expect(answer.text).toMatch(/^\[From the web: .*\]\n\n# T\n\n# Hello\n\nWorld$/);
    expect(answer.length).toBe(answer.text.length);
  });

  it("may be JSON, which is made readable, or text, which is left alone", async () => {
    const json = await serve(page('{"a":[1]}', { "content-type": "application/json; charset=utf-8" }));
    expect(await fetcher(fromHere)(`http://127.0.0.1:${json}`)).toMatchObject({ extractor: "json" });
    expect((await fetcher(fromHere)(`http://127.0.0.1:${json}`)).text).toContain('{\n  "a": [\n    1\n  ]\n}');
    const text = await serve(page("a <b> c", { "content-type": "text/plain" }));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${text}`)).text).toContain("a <b> c");
  });

  it("is followed through five redirects, not six", async () => {
    const port = await serve(({ url }, response) => {
      const left = Number(url?.slice(1));
      if (left === 0) response.end("arrived");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const answer = await fetcher(fromHere)(`http://127.0.0.1:${port}/5`);
    expect(answer.text).toContain("arrived");
    expect(answer.finalUrl).toBe(`http://127.0.0.1:${port}/0`);
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}/6`)).error).toBe("More than 5 redirects.");
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("is unpacked from %s", async (coding, pack) => {
    const port = await serve(
      page(pack(Buffer.from("packed")), { "content-type": "text/plain", "content-encoding": coding }),
    );
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}`)).text).toContain("packed");
  });

  it("is read in its own encoding", async () => {
    const latin = await serve(
      page(Buffer.from("<p>caf\xe9", "latin1"), { "content-type": "text/html; charset=iso-8859-1" }),
    );
    expect((await fetcher(fromHere)(`http://127.0.0.1:${latin}`)).text).toContain("café");
    const meta = await serve(page(Buffer.from('<meta charset="windows-1252"><p>\x80', "latin1")));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${meta}`)).text).toContain("€");
    const utf16 = await serve(page(Buffer.from("\ufeff<html><p>é", "utf16le"), {}));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${utf16}`)).text).toContain("é");
    const unknown = await serve(page("<p>é", { "content-type": "text/html; charset=klingon" }));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${unknown}`)).text).toContain("é");
  });

  it("that is a picture is not read", async () => {
    const port = await serve(page("GIF89a", { "content-type": "image/gif" }));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}`)).error).toBe("The content is image/gif, not text.");
  });

  it("that is binary without saying so is not shown", async () => {
    const port = await serve(page(Buffer.from([1, 0, 2]), {}));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}`)).error).toBe("The content is binary, not text.");
  });

  it("keeps its status when the server is not happy", async () => {
    const port = await serve(
      (_, response) => void response.writeHead(404, { "content-type": "text/html" }).end("<p>gone"),
    );
    expect(await fetcher(fromHere)(`http://127.0.0.1:${port}`)).toMatchObject({ status: 404 });
  });

  it("is cut to the wanted length", async () => {
    const port = await serve(page("x".repeat(5000), { "content-type": "text/plain" }));
    const answer = await fetcher(fromHere)(`http://127.0.0.1:${port}`, { maxChars: "100" });
    expect(answer.truncated).toBe(true);
    expect(answer.text.endsWith(`\n\n${"x".repeat(100)}`)).toBe(true);
  });
});

describe("a server that means no good", () => {
  it("cannot send without end", async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    const answer = await fetcher(fromHere, { maxBytes: 1_000_000 })(`http://127.0.0.1:${port}`, { maxChars: 500_000 });
    expect(answer.truncated).toBe(true);
    expect(answer.length).toBeLessThan(501_000);
  });

  it("cannot unfold a small packet into gigabytes", async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000, "x"));
    const port = await serve(page(bomb, { "content-type": "text/plain", "content-encoding": "gzip" }));
    const answer = await fetcher(fromHere, { maxBytes: 1_000_000 })(`http://127.0.0.1:${port}`);
    expect(answer).toMatchObject({ truncated: true, status: 200 });
  });

  it.each(["gzip", "br", "deflate"])("cannot break us with what only says it is %s", async (coding) => {
    const port = await serve(page("plain lies", { "content-type": "text/plain", "content-encoding": coding }));
    expect((await fetcher(fromHere)(`http://127.0.0.1:${port}`)).error).toBeTruthy();
  });

  it("cannot hold us with a body or a header that never comes", async () => {
    const slow = await serve(
      (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("a"),
    );
    const silent = await serve(() => {});
    const fetch = fetcher(fromHere, { timeoutMs: 300 });
    expect((await fetch(`http://127.0.0.1:${slow}`)).error).toBe("The server took longer than 0.3 seconds.");
    expect((await fetch(`http://127.0.0.1:${silent}`)).error).toBe("The server took longer than 0.3 seconds.");
  });

  it("is left at once when the turn is stopped", async () => {
    const stop = new AbortController();
    const port = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/plain" }).write("a");
      stop.abort(new Error("enough"));
    });
    const tool = webFetchTool({ addresses: createPublicAddresses(fromHere) });
    await expect(call(tool, { url: `http://127.0.0.1:${port}` }, { signal: stop.signal })).rejects.toThrow("enough");
  });

  it("that is not there is told as such", async () => {
    const resolve: AddressParts["resolve"] = async () =>
      Promise.reject(new Error("getaddrinfo ENOTFOUND none.example"));
    expect((await fetcher({ resolve })("http://none.example/")).error).toContain("ENOTFOUND none.example");
  });
});
