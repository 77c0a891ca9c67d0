/** Bodies of requests: as large as they may be, and not a byte more. */
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { array, asyncProperty, assert, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import { createBodies } from "../../src/http/body.js";

const requestOf = (headers: Record<string, string> = {}) => {
  const stream = new PassThrough();
  return { stream, request: Object.assign(stream, { headers }) as unknown as IncomingMessage };
};
const readBody = createBodies({ inAll: 1000 });

describe("a body", () => {
  it("is read whole, however it comes", async () => {
    await assert(
      asyncProperty(array(uint8Array({ maxLength: 20 }), { maxLength: 10 }), async (pieces) => {
        const { stream, request } = requestOf();
        const reading = readBody(request, 200);
        for (const piece of pieces) stream.write(piece);
        stream.end();
        expect(await reading).toEqual(Buffer.concat(pieces));
      }),
    );
  });

  it("of the largest size is taken; one byte more is not, and is known at that byte", async () => {
    const exact = requestOf();
    exact.stream.end(Buffer.alloc(100));
    expect(await readBody(exact.request, 100)).toHaveLength(100);
    const more = requestOf();
    more.stream.write(Buffer.alloc(101));
    expect(await readBody(more.request, 100)).toBe("too large");
    expect(more.stream.listenerCount("data")).toBe(0);
  });

  it("that says it is too large is not begun with", async () => {
    const { request, stream } = requestOf({ "content-length": "101" });
    expect(await readBody(request, 100)).toBe("too large");
    expect(stream.listenerCount("data")).toBe(0);
  });

  it("has to wait for its turn when too much is coming in; what has come makes room", async () => {
    const one = requestOf();
    const reading = readBody(one.request, 900);
    one.stream.write(Buffer.alloc(800));
    await new Promise((done) => setImmediate(done));
    expect(await readBody(requestOf({ "content-length": "300" }).request, 900)).toBe("too many");
    const silent = requestOf();
    silent.stream.write(Buffer.alloc(300));
    expect(await readBody(silent.request, 900)).toBe("too many");
    one.stream.end();
    expect(await reading).toHaveLength(800);
    const next = requestOf({ "content-length": "300" });
    next.stream.end(Buffer.alloc(300));
    expect(await readBody(next.request, 900)).toHaveLength(300);
  });

  it("that breaks off is none, and makes room", async () => {
    const { request, stream } = requestOf();
    const reading = readBody(request, 900);
    stream.write(Buffer.alloc(900));
    stream.destroy();
    await expect(reading).rejects.toThrow("broke off");
    const next = requestOf({ "content-length": "900" });
    next.stream.end(Buffer.alloc(900));
    expect(await readBody(next.request, 900)).toHaveLength(900);
  });
});
