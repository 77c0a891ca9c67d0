/** Files that come with a Discord message: which there are, and how they are saved. */
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { APIMessage } from "discord.js";
import type { Attachment } from "../message.js";
import { replaceFile } from "../util/atomic-write.js";
import { reasonOf } from "../util/errors.js";
import { withOwnSignal } from "../util/own-signal.js";
import type { Channel, ChannelWorld } from "./channel.js";

/** A file of a message, as Discord announces it. */
type DiscordFile = {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly url: string;
  /** Where it was said, and in which message. */
  readonly channel: string;
  readonly message: string;
};

const mostBytes = 20 * 1024 * 1024;
const timeoutMs = 60_000;

/** nanobot's words for a file that came with a message. */
const marker = (name: string): string => `[attachment: ${name}]`;

export const attachmentsOf = ({ id: message, channel_id: channel, attachments }: APIMessage): readonly Attachment[] =>
  (attachments ?? []).map(({ id, filename, size, url }) => ({
    marker: marker(filename),
    reference: { id, filename, size, url, channel, message } satisfies DiscordFile,
  }));

export type AttachmentParts = {
  readonly world: ChannelWorld;
  /** A message as it is now. */
  readonly look: (channel: string, message: string, signal: AbortSignal) => Promise<unknown>;
};

export function createAttachments({ world, look }: AttachmentParts): NonNullable<Channel["save"]> {
  /** Discord's addresses are good for a day, and a turn may begin later: the message has a new one. */
  const currentUrl = async ({ id, url, channel, message }: DiscordFile, signal: AbortSignal): Promise<string> => {
    const { attachments = [] } = (await look(channel, message, signal)) as Partial<APIMessage>;
    return attachments.find((file) => file.id === id)?.url ?? url;
  };

  const openBody = async (file: DiscordFile, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
    let response = await world.fetch(file.url, { signal });
    if (isGone(response)) {
      await response.body?.cancel();
      response = await world.fetch(await currentUrl(file, signal), { signal });
    }
    if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
    return response.body;
  };

  const download = (file: DiscordFile, path: string, signal: AbortSignal): Promise<void> =>
    withOwnSignal(signal, timeoutMs, async (own) => {
      const body = await openBody(file, own);
      await mkdir(world.mediaFolder, { recursive: true });
      await replaceFile(path, async (handle) => {
        let bytes = 0;
        for await (const chunk of body) {
          bytes += chunk.length;
          if (bytes > mostBytes) throw new Error("it is larger than Discord said");
          await handle.write(chunk);
        }
      });
    });

  return async function save({ reference }, signal) {
    const file = reference as DiscordFile;
    if (file.size > mostBytes) return { marker: marker(`${file.filename} - too large`) };
    const path = join(world.mediaFolder, fileName(file));
    try {
      // Its id is in the name: a turn that begins again finds its files here.
      if ((await stat(path).catch(() => undefined))?.size !== file.size) await download(file, path, signal);
      return { marker: marker(path), path };
    } catch (error) {
      // Stopped is not failed: nobody is told anything, or the turn begins again after a restart.
      signal.throwIfAborted();
      world.log.warn(`Discord: the attachment ${file.filename} could not be saved: ${reasonOf(error)}`);
      return { marker: marker(`${file.filename} - download failed`) };
    }
  };
}

const isGone = ({ status }: Response): boolean => status === 403 || status === 404;

/** No folders, nothing invisible, not too long for a file system. */
function fileName({ id, filename }: DiscordFile): string {
  const harmless = filename.replaceAll(/[/\\\p{C}]/gu, "_");
  return `${id}_${Buffer.from(harmless).subarray(-150).toString().replaceAll("\ufffd", "")}`;
}
