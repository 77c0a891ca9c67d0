/** Reads text from an open file within limits, and refuses what is not text. */
import type { FileHandle } from "node:fs/promises";
import { ToolError } from "./tool.js";

/** The first bytes of a file, at most `most`; a file that grows meanwhile does not matter. */
export async function readBytes(file: FileHandle, most: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(file, signal)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= most) break;
  }
  return Buffer.concat(chunks).subarray(0, most);
}

export async function* chunksOf(file: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

const chunkBytes = 64 * 1024;

/** Strict UTF-8, piece by piece. A byte order mark is text like any other: what is read must match what is edited. */
export function createTextDecoder(path: string): (bytes: Buffer, options: { last: boolean }) => string {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return (bytes, { last }) => {
    if (bytes.includes(0)) throw notText(path);
    try {
      return decoder.decode(bytes, { stream: !last });
    } catch (error) {
      throw notText(path, { cause: error });
    }
  };
}

export const decodeText = (path: string, bytes: Buffer): string => createTextDecoder(path)(bytes, { last: true });

const notText = (path: string, options?: ErrorOptions): ToolError =>
  new ToolError(`${path} is a binary file, not UTF-8 text. Use exec with a program that understands it.`, options);

export const withSeparators = (count: number): string => count.toLocaleString("en-US");
