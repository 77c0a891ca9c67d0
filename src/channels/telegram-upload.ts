/** Files on their way to Telegram: by which method each kind goes, and which go at all. */
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import type { Api, InputFile } from "grammy";
import { reasonOf } from "../util/errors.js";
import { SendFailure } from "./channel.js";

const fileMost = 50 * 1024 * 1024;
const photoMost = 10 * 1024 * 1024;

/** How the words of a message are to be read. */
export type Mode = { readonly parse_mode?: "HTML" };

export type FileKind = "photo" | "voice" | "audio" | "video" | "document";

const kinds: Readonly<Record<string, FileKind>> = {
  ".jpg": "photo",
  ".jpeg": "photo",
  ".png": "photo",
  ".gif": "photo",
  ".webp": "photo",
  ".ogg": "voice",
  ".mp3": "audio",
  ".m4a": "audio",
  ".wav": "audio",
  ".aac": "audio",
  ".mp4": "video",
  ".mov": "video",
};

/** As what a file goes best. Throws if it cannot go at all. */
export async function kindOf(path: string): Promise<FileKind> {
  const size = await sizeOf(path);
  const kind = kinds[extname(path).toLowerCase()] ?? "document";
  return kind === "photo" && size > photoMost ? "document" : kind;
}

type FileOptions = Mode & { readonly message_thread_id?: number; readonly caption?: string };
type SendFile = (
  api: Api,
  chat: number | string,
  file: InputFile,
  options: FileOptions,
  signal: never,
) => Promise<{ readonly message_id: number }>;

export const senders: Readonly<Record<FileKind, SendFile>> = {
  photo: (api, ...rest) => api.sendPhoto(...rest),
  voice: (api, ...rest) => api.sendVoice(...rest),
  audio: (api, ...rest) => api.sendAudio(...rest),
  video: (api, ...rest) => api.sendVideo(...rest),
  document: (api, ...rest) => api.sendDocument(...rest),
};

async function sizeOf(path: string): Promise<number> {
  const { size } = await stat(path).catch((cause: unknown) => {
    throw new SendFailure("never", `The file cannot be read: ${reasonOf(cause)}`, { cause });
  });
  if (size > fileMost) throw new SendFailure("never", "Telegram takes no files over 50 MB.");
  if (size === 0) throw new SendFailure("never", "Telegram takes no empty files.");
  return size;
}
