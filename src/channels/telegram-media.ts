/** Files that come with a Telegram message: which there are, and how they are saved. */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Agent } from "node:http";
import { join } from "node:path";
import { Semaphore } from "async-mutex";
import { type Api, GrammyError } from "grammy";
import type { Message } from "grammy/types";
import type { Attachment } from "../message.js";
import { orAborted } from "../util/abort.js";
import { replaceFile } from "../util/atomic-write.js";
import { openDownload } from "../util/download.js";
import { withOwnSignal } from "../util/own-signal.js";
import type { Channel, ChannelWorld, Saved } from "./channel.js";
import { mayPass, withoutToken } from "./telegram-failures.js";

/** A file of a message, as Telegram announces it. */
export type TelegramFile = {
  /** How nanobot calls its kind in the text: `[image: …]`. */
  readonly kind: "image" | "voice" | "audio" | "video" | "file";
  readonly id: string;
  /** The same for everybody and for ever. */
  readonly uniqueId: string;
  readonly size: number | undefined;
  readonly name: string | undefined;
  readonly type: string | undefined;
};

type FileFields = {
  readonly file_id: string;
  readonly file_unique_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
  readonly mime_type?: string;
};

export function filesOf(message: Message): readonly TelegramFile[] {
  const { photo, voice, audio, video, video_note: round, animation, document } = message;
  const of = (kind: TelegramFile["kind"], file: FileFields): TelegramFile => ({
    kind,
    id: file.file_id,
    uniqueId: file.file_unique_id,
    size: file.file_size,
    name: file.file_name,
    type: file.mime_type,
  });
  const largest = photo?.toSorted((one, other) => one.width * one.height - other.width * other.height).at(-1);
  return [
    ...(largest ? [of("image", largest)] : []),
    ...(voice ? [of("voice", voice)] : []),
    ...(audio ? [of("audio", audio)] : []),
    ...(video ? [of("video", video)] : []),
    ...(round ? [of("video", round)] : []),
    ...(animation ? [of("video", animation)] : []),
    // An animation is announced as a document too.
    ...(document && !animation ? [of(document.mime_type?.startsWith("image/") ? "image" : "file", document)] : []),
  ];
}

/** For as long as it is not here. Its id is good for ever: there is no hurry. */
export const attachmentOf = (file: TelegramFile): Attachment => ({
  marker: file.name === undefined ? `[${file.kind}]` : `[${file.kind}: ${file.name}]`,
  reference: file,
});

/** Telegram hands out no larger files to bots. */
const mostBytes = 20 * 1024 * 1024;
const sideBySide = 8;
/** Nothing may come for so long, and all of it may take so long. */
const silenceMs = 10_000;
const longestMs = 300_000;
/** Waits before the second and the third try. */
const waitsMs = [1000, 3000];

export type MediaParts = {
  readonly api: Api;
  readonly token: string;
  readonly apiRoot: string;
  readonly agent: Agent;
  readonly world: ChannelWorld;
};

export function createMedia({ api, token, apiRoot, agent, world }: MediaParts): NonNullable<Channel["save"]> {
  const slots = new Semaphore(sideBySide);

  const download = async (file: TelegramFile, path: string, signal: AbortSignal): Promise<void> => {
    const { file_path: place = "" } = await api.getFile(file.id, signal as never);
    const url = new URL(`${apiRoot}/file/bot${token}/${place}`);
    const body = await openDownload(url, { agent, timeoutMs: silenceMs, signal });
    await replaceFile(path, async (handle) => {
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > mostBytes) throw new Error("it is larger than Telegram said");
        await handle.write(chunk);
      }
    });
  };

  const patiently = async (file: TelegramFile, path: string, signal: AbortSignal): Promise<void> => {
    const once = (own: AbortSignal): Promise<void> => download(file, path, own);
    for (let attempt = 0; ; attempt++) {
      try {
        // Whoever is stopped does not wait for others' files either.
        return await orAborted(
          slots.runExclusive(() => withOwnSignal(signal, longestMs, once)),
          signal,
        );
      } catch (error) {
        // Nobody waits for ever for a file that does not come: soon the message goes on without it.
        const wait = waitsMs[attempt];
        if (signal.aborted || wait === undefined || (error instanceof GrammyError && !mayPass(error))) throw error;
        await world.sleep(wait, signal);
      }
    }
  };

  return async function save({ reference }, signal) {
    const file = reference as TelegramFile;
    const label = file.name ?? "";
    const unsaved = (why: string): Saved => ({ marker: `[${file.kind}: ${label === "" ? "" : `${label} - `}${why}]` });
    if ((file.size ?? 0) > mostBytes) return unsaved("too large (over 20 MB)");
    const path = join(world.mediaFolder, fileName(file));
    try {
      // The name is the same for the same file: a turn that begins again finds it here.
      const there = await stat(path).catch(() => undefined);
      if (!there || (file.size !== undefined && there.size !== file.size)) await patiently(file, path, signal);
      return { marker: `[${file.kind}: ${path}]`, path };
    } catch (error) {
      // Stopped is not failed: nobody is told anything, or the turn begins again after a restart.
      signal.throwIfAborted();
      world.log.warn(`Telegram: a file could not be saved: ${withoutToken(error, token).message}`);
      const tooBig = error instanceof GrammyError && /too big/i.test(error.description);
      return unsaved(tooBig ? "too large (over 20 MB)" : "download failed");
    }
  };
}

const byType: Readonly<Record<string, string>> = {
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/gif": ".gif",
  "image/webp": ".webp",
  "audio/ogg": ".ogg",
  "audio/mpeg": ".mp3",
  "audio/mp4": ".m4a",
  "video/mp4": ".mp4",
};
const byKind = { image: ".jpg", voice: ".ogg", audio: ".mp3", video: ".mp4", file: "" } as const;

/** nanobot's name for it, and for a file with a name of its own also that, for the model to read. */
function fileName({ kind, uniqueId, name, type }: TelegramFile): string {
  const unique = /^[\w-]{1,64}$/.test(uniqueId) ? uniqueId : createHash("sha256").update(uniqueId).digest("hex");
  // No folders, nothing hidden or invisible, not too long for a file system.
  const harmless = name
    ?.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")
    .replaceAll(/\.{2,}/g, ".")
    .slice(-60)
    .toWellFormed();
  if (harmless) return `${unique}_${harmless}`;
  return unique + (byType[type ?? ""] ?? byKind[kind]);
}
