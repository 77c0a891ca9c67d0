/** Copies of files on their way out: what a tool wants to send now may be sent later, when the file is another. */
import { randomUUID } from "node:crypto";
import { copyFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Outbound } from "../message.js";

export type Outgoing = {
  readonly copy: (path: string) => Promise<string>;
  /** The platform has it. */
  readonly arrived: (message: Outbound) => Promise<void>;
  /** What could not be sent stays as long as its message can be put back. */
  readonly forget: (before: number) => Promise<void>;
};

export function createOutgoing(folder: string): Outgoing {
  return {
    async copy(path: string): Promise<string> {
      await mkdir(folder, { recursive: true });
      const copy = join(folder, `${randomUUID().slice(0, 8)}-${basename(path)}`);
      await copyFile(path, copy);
      return copy;
    },
    async arrived(message: Outbound): Promise<void> {
      if (message.kind === "file" && dirname(message.path) === folder) await rm(message.path, { force: true });
    },
    async forget(before: number): Promise<void> {
      const names = await readdir(folder).catch(() => []);
      for (const path of names.map((name) => join(folder, name))) {
        const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
        if (mtimeMs < before) await rm(path, { force: true });
      }
    },
  };
}
