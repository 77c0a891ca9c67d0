/** Pictures that come with a message, as a model takes them. */
import { readFile } from "node:fs/promises";
import type { Part } from "../message.js";

/** The pictures among `paths`, inline. What is not a picture, or cannot be read, is left out. */
export async function imageParts(paths: readonly string[]): Promise<Part[]> {
  const parts = await Promise.all(
    paths.map(async (path): Promise<Part[]> => {
      const bytes = await readFile(path).catch(() => undefined);
      const type = bytes && imageType(bytes);
      if (!type) return [];
      return [{ type: "image_url", image_url: { url: `data:${type};base64,${bytes.toString("base64")}` } }];
    }),
  );
  return parts.flat();
}

/** By the file's first bytes; names lie. */
export function imageType(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))) return "image/png";
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return "image/jpeg";
  const start = bytes.subarray(0, 12).toString("latin1");
  if (start.startsWith("GIF87a") || start.startsWith("GIF89a")) return "image/gif";
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "image/webp";
  return undefined;
}
