/** Pictures that come with a message, as data URLs: checked, and saved like those of any channel. */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { imageType } from "../agent/images.js";
import { replaceFile } from "../util/atomic-write.js";

/** A picture that is not taken; the message is for whoever sent it. */
export class NoPicture extends Error {
  override readonly name = "NoPicture";
}

export const mostPictures = 10;
const mostBytes = 10 * 1024 * 1024;

const extensions: Readonly<Record<string, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/gif": ".gif",
  "image/webp": ".webp",
};

/** Where they lie. A message that is sent again finds its pictures there: their names come from its id. */
export async function savePictures(folder: string, id: string, urls: readonly string[]): Promise<string[]> {
  if (urls.length > mostPictures) throw new NoPicture(`At most ${mostPictures} pictures can come with a message.`);
  const pictures = urls.map(decoded);
  if (pictures.length > 0) await mkdir(folder, { recursive: true });
  const name = createHash("sha256").update(id, "utf8").digest("hex").slice(0, 16);
  const paths: string[] = [];
  for (const [at, { bytes, extension }] of pictures.entries()) {
    const path = join(folder, `${name}-${at + 1}${extension}`);
    await replaceFile(path, (file) => file.writeFile(bytes));
    paths.push(path);
  }
  return paths;
}

/** A message's words with the places of its pictures, as every channel has them. */
export const withPictures = (text: string, paths: readonly string[]): string =>
  [...(text === "" ? [] : [text]), ...paths.map((path) => `[image: ${path}]`)].join("\n");

function decoded(url: string): { bytes: Buffer; extension: string } {
  // Nothing is fetched: an address would let whoever asks look around in our network.
  const [, base64] = /^data:[\w/.+-]*;base64,([A-Za-z0-9+/\s]*={0,2})$/.exec(url) ?? [];
  if (base64 === undefined) throw new NoPicture("Pictures are taken as data URLs only (data:image/png;base64,…).");
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length > mostBytes) throw new NoPicture(`A picture may have ${mostBytes / 1024 / 1024} MB at most.`);
  const extension = extensions[imageType(bytes) ?? ""];
  if (extension === undefined) throw new NoPicture("Pictures are PNG, JPEG, GIF or WebP.");
  return { bytes, extension };
}
