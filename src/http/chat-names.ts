/** Names that come in through the door (a file, a user) as the names of chats: two never share one, and any can be stored. */
import { createHash } from "node:crypto";
import { type Address, keyOf } from "../message.js";

/** Longer ones end in a fingerprint: sessions are kept in files, whose names are short. */
const mostBytes = 120;

/** What no driver of sessions takes, and the sign we escape it with. */
const unsafe = /[%/\\\0-\x1f\x7f]|(?<=\.)\./g;

/** `Notes/a.md` is `Notes%2Fa.md`. A percent sign before anything but two digits is ours to use. */
export function chatName(text: string): string {
  const escaped = text.replaceAll(unsafe, (sign) => `%${hex(sign)}`);
  if (Buffer.byteLength(escaped) <= mostBytes) return escaped;
  const print = createHash("sha256").update(text, "utf8").digest("hex");
  return `${firstBytes(escaped, mostBytes)}%~${print.slice(0, 16)}`;
}

const hex = (sign: string): string => sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");

/** Never half a character, nor half an escape. */
function firstBytes(text: string, most: number): string {
  let length = 0;
  let head = "";
  for (const piece of text.match(/%..|./gsu) ?? []) {
    length += Buffer.byteLength(piece);
    if (length > most) break;
    head += piece;
  }
  return head;
}

/** The chat about a file. No file (null) is one of its own, and so is the file without a name. */
export const fileChat = (file: string | null): Address => ({
  channel: "file",
  chat: file === null ? "%none" : file === "" ? "%empty" : chatName(file),
});

/**
 * The id by which an editor knows a chat: a UUID that is the same whenever and wherever it is asked for (version 5 of
 * RFC 9562), so that it need not be stored.
 */
export function chatId(chat: Address): string {
  const bytes = createHash("sha1").update(namespace).update(keyOf(chat), "utf8").digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const namespace = Buffer.from("6f1d3a5e2c844b0a9d7748e1b3c05f92", "hex");
