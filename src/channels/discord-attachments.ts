/** Saves the files that come with a Discord message. */
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../util/atomic-write.js";
import { reasonOf } from "../util/errors.js";
import { withOwnSignal } from "../util/own-signal.js";
import type { APIAttachment } from "discord.js";
import type { ChannelWorld } from "./channel.js";
import { attachmentMarker } from "./discord-inbound.js";

const mostBytes = 20 * 1024 * 1024;
const timeoutMs = 60_000;

/** One attachment: the words for it in the text, and its path if it was saved. */
export type Saved = { readonly marker: string; readonly path?: string };

export async function saveAttachment(file: APIAttachment, world: ChannelWorld, signal: AbortSignal): Promise<Saved> {
  if (file.size > mostBytes) return { marker: attachmentMarker(file, "too large") };
  const path = join(world.mediaFolder, fileName(file));
  try {
    // Its id is in the name: a message that is fetched again finds its files here.
    if ((await stat(path).catch(() => undefined))?.size !== file.size) await download(file.url, path, world, signal);
    return { marker: `[attachment: ${path}]`, path };
  } catch (error) {
    // Stopped is not failed: the message will be fetched again, with its file.
    signal.throwIfAborted();
    world.log.warn(`Discord: the attachment ${file.filename} could not be saved: ${reasonOf(error)}`);
    return { marker: attachmentMarker(file, "download failed") };
  }
}

/** No folders, nothing invisible, not too long for a file system. */
function fileName({ id, filename }: APIAttachment): string {
  const harmless = filename.replaceAll(/[/\\\p{C}]/gu, "_");
  return `${id}_${Buffer.from(harmless).subarray(-150).toString().replaceAll("\ufffd", "")}`;
}

async function download(url: string, path: string, world: ChannelWorld, signal: AbortSignal): Promise<void> {
  await withOwnSignal(signal, timeoutMs, async (own) => {
    const response = await world.fetch(url, { signal: own });
    if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
    const { body } = response;
    await mkdir(world.mediaFolder, { recursive: true });
    await replaceFile(path, async (file) => {
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > mostBytes) throw new Error("it is larger than Discord said");
        await file.write(chunk);
      }
    });
  });
}
