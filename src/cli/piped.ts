/** Text that comes through stdin: the question itself, or what a question is about. */
import { isUtf8 } from "node:buffer";
import { fstatSync, type Stats } from "node:fs";
import { UserError } from "../util/errors.js";
import type { Terminal } from "./terminal.js";

/** All of it, however long it takes. */
export async function readPiped(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  const all = Buffer.concat(parts);
  if (isUtf8(all) && !all.includes(0)) return all.toString("utf8");
  throw new UserError("What came through the pipe is not text.", "Send text, or name the file in your question.");
}

/** After a moment without a word people are told what is waited for, and after a while it is waited for no longer. */
const patienceMs = { socket: 100, moment: 1500, while: 10_000 };

/**
 * What is piped besides a question; empty if nothing is. Who has written `|` or `<` is waited for, but not for ever: programs
 * that start others often leave a pipe open, or a socket, and send nothing.
 */
export async function readBeside(stream: typeof process.stdin, terminal: Terminal): Promise<string> {
  const kind = kindOf(stream);
  if (kind === "nothing") return "";
  if (await hearsWithin(stream, kind === "socket" ? patienceMs.socket : patienceMs.moment)) return readPiped(stream);
  if (kind === "pipe") {
    terminal.err("nanogate: Waiting for what comes through the pipe …\n");
    if (await hearsWithin(stream, patienceMs.while)) return readPiped(stream);
    terminal.err("nanogate: Nothing came through the pipe; going on without it.\n");
  }
  stream.destroy();
  return "";
}

function kindOf({ fd }: { readonly fd: number }): "pipe" | "socket" | "nothing" {
  let found: Stats;
  try {
    found = fstatSync(fd);
  } catch {
    return "nothing"; // it was closed before we were started
  }
  if (found.isFIFO() || found.isFile()) return "pipe";
  return found.isSocket() ? "socket" : "nothing";
}

const hearsWithin = (stream: NodeJS.ReadableStream, ms: number): Promise<boolean> =>
  new Promise((resolve) => {
    const tell = (heard: boolean): void => {
      clearTimeout(timer);
      stream.off("readable", onReadable).off("error", onReadable);
      resolve(heard);
    };
    // Also told at its end.
    const onReadable = (): void => tell(true);
    const timer = setTimeout(() => tell(false), ms);
    stream.on("readable", onReadable).on("error", onReadable);
  });
