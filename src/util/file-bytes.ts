/** Reading and writing bytes until all of them are through. */
import { writeSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

export async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

export function writeAllSync(file: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done);
}

/** Copies bytes `from` up to `to` of the file at `path`. */
export async function copyRange(path: string, from: number, to: number, target: FileHandle): Promise<void> {
  const source = await open(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(1 << 20);
    for (let at = from; at < to;) {
      const { bytesRead } = await source.read(chunk, 0, Math.min(chunk.length, to - at), at);
      if (bytesRead === 0) throw new Error(`${path} shrank while it was being copied`);
      await writeAll(target, chunk.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await source.close();
  }
}
