/** One GET over HTTP with every limit a stranger's server needs: addresses, redirects, size, time. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { PublicAddresses } from "./public-address.js";
import { ToolError } from "./tool.js";

export type GetParts = {
  readonly addresses: PublicAddresses;
  readonly userAgent: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
};

export type Got = {
  /** After all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly type: string;
  /** Unpacked, at most `maxBytes`. */
  readonly body: Buffer;
  /** The server had more. */
  readonly cut: boolean;
};

const mostRedirects = 5;

/** `wants` decides by the content type whether the body is worth reading. */
export async function httpGet(
  parts: GetParts,
  address: string,
  wants: (type: string) => boolean,
  signal: AbortSignal,
): Promise<Got> {
  const timeout = AbortSignal.timeout(parts.timeoutMs);
  const either = AbortSignal.any([signal, timeout]);
  try {
    return await follow(parts, readUrl(address), wants, either);
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new ToolError(`The server took longer than ${parts.timeoutMs / 1000} seconds.`, { cause: error });
  }
}

async function follow(
  parts: GetParts,
  start: URL,
  wants: (type: string) => boolean,
  signal: AbortSignal,
): Promise<Got> {
  let url = start;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await answer(parts, url, signal);
    const { statusCode: status = 0, headers } = response;
    if ([301, 302, 303, 307, 308].includes(status) && headers.location !== undefined) {
      response.destroy();
      url = readUrl(headers.location, url);
      continue;
    }
    const type = (headers["content-type"] ?? "").toLowerCase();
    if (!wants(type)) {
      response.destroy();
      return { url, status, type, body: Buffer.alloc(0), cut: false };
    }
    return { url, status, type, ...(await readBody(response, parts.maxBytes)) };
  }
  throw new ToolError(`More than ${mostRedirects} redirects.`);
}

function readUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text.trim(), base?.href)) {
    throw new ToolError(`${text} is not a URL. Give a full one, such as https://example.com/page.`);
  }
  const url = new URL(text.trim(), base?.href);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ToolError(`Only http and https can be fetched, got '${url.protocol.slice(0, -1)}'.`);
  }
  if (url.hostname === "") throw new ToolError(`${text} names no host.`);
  return url;
}

function answer({ addresses, userAgent }: GetParts, url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  // For an address written out Node asks no resolver, so `lookup` alone would not see it.
  addresses.check(url);
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    request(url, {
      // No connection is kept: one that was opened for another name must not be reused.
      agent: false,
      lookup: addresses.lookup,
      signal,
      headers: {
        "user-agent": userAgent,
        accept: "text/html,application/xhtml+xml,application/json,text/plain;q=0.9,*/*;q=0.5",
        "accept-encoding": "gzip, deflate, br",
      },
    })
      .once("response", (response) => {
        // Whoever reads the body hears of its errors; one that comes when nobody reads any more is no news.
        response.on("error", () => {});
        resolve(response);
      })
      .on("error", reject)
      .end();
  });
}

/** The limit counts what comes out, so that a small packet cannot unfold into gigabytes. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<{ body: Buffer; cut: boolean }> {
  const codings = (response.headers["content-encoding"] ?? "").toLowerCase().split(",");
  const unpackers = codings.map((coding) => unpacker(coding.trim())).filter((stream) => stream !== undefined);
  if (unpackers.length > 2) throw new ToolError("The server packed its answer more than twice.");
  // A failure of any of them ends the last one with that error, which is where we read.
  const [unpacked = response] = unpackers;
  if (unpackers.length > 0) pipeline([response, ...unpackers.toReversed()], () => {});
  try {
    return await readUpTo(unpacked, maxBytes);
  } finally {
    unpacked.destroy();
    response.destroy();
  }
}

/** Into one growing buffer: a body sent byte by byte must not become a million objects. */
async function readUpTo(stream: Readable, maxBytes: number): Promise<{ body: Buffer; cut: boolean }> {
  let body = Buffer.allocUnsafe(64 * 1024);
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, maxBytes - length);
    if (length + part.length > body.length) {
      body = Buffer.concat(
        [body.subarray(0, length)],
        Math.min(maxBytes, Math.max(2 * body.length, length + part.length)),
      );
    }
    part.copy(body, length);
    length += part.length;
    if (part.length < chunk.length) return { body: body.subarray(0, length), cut: true };
  }
  return { body: body.subarray(0, length), cut: false };
}

function unpacker(coding: string): Transform | undefined {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    case "":
    case "identity":
      return undefined;
    default:
      throw new ToolError(`The server packed its answer as '${coding}', which cannot be read here.`);
  }
}
