/** The body of a request, if it is not too large: a byte too many and nothing of it is kept. */
import type { IncomingMessage } from "node:http";

export type Body = Buffer | "too large" | "too many";
export type ReadBody = (request: IncomingMessage, most: number) => Promise<Body>;

/** `inAll`: so many bytes may be on their way in at the same time. */
export function createBodies({ inAll }: { readonly inAll: number }): ReadBody {
  let coming = 0;
  return async function readBody(request, most) {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > most) return "too large";
    if (coming + announced > inAll) return "too many";
    const pieces: Buffer[] = [];
    let read = 0;
    const whole = new Promise<Body>((resolve, reject) => {
      request.on("data", (piece: Buffer) => {
        read += piece.length;
        coming += piece.length;
        if (read > most) resolve("too large");
        else if (coming > inAll) resolve("too many");
        else pieces.push(piece);
      });
      request.once("end", () => resolve(Buffer.concat(pieces)));
      request.once("error", reject);
      request.once("close", () => reject(new Error("the request broke off")));
    });
    try {
      return await whole;
    } finally {
      coming -= read;
      request.removeAllListeners("data");
    }
  };
}

/** Pictures are large; everything else is words. */
export function mostBytes(path: string): number {
  return path === "/api/turns" || path === "/v1/chat/completions" ? 25 * 1024 * 1024 : 1024 * 1024;
}
