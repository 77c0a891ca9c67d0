/** Files that are at every moment either the old or the new one, also after a power cut. */
import { randomUUID } from "node:crypto";
import { copyFile, link, open, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "./errors.js";
import { stampOf } from "./file-stamp.js";

/** Puts a new file in place of `path`, or of nothing. `write` fills it. */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  await viaTemp(path, write, (temp) => rename(temp, path));
}

/** Creates `path` complete; fails with EEXIST if something is already there. */
export async function createFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  await viaTemp(path, write, async (temp) => {
    await linkOrCopy(temp, path);
    await unlink(temp);
  });
}

/** Gives the file a second name, so that the bytes survive when `path` is replaced. Never overwrites; returns the name. */
export async function setAside(path: string, suffix: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const aside = asideName(path, suffix, attempt);
    try {
      await linkOrCopy(path, aside);
      await syncFolder(dirname(path));
      return aside;
    } catch (error) {
      if (errorCode(error) !== "EEXIST" || attempt >= 1000) throw error;
    }
  }
}

/** Takes a file out of the way under another name. Never overwrites; durable once the folder is synced. */
export async function moveAside(path: string, suffix: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const aside = asideName(path, suffix, attempt);
    if ((await stampOf(aside)) !== undefined) continue;
    await rename(path, aside);
    return aside;
  }
}

/** Makes names in a folder durable. Some systems cannot; then there is nothing to wait for. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!["EPERM", "EINVAL", "EISDIR", "EACCES", "ENOTSUP"].includes(errorCode(error) ?? "")) throw error;
  }
}

async function viaTemp(
  path: string,
  write: (file: FileHandle) => Promise<void>,
  place: (temp: string) => Promise<void>,
): Promise<void> {
  const temp = join(dirname(path), `.${randomUUID()}.tmp`);
  try {
    const file = await open(temp, "wx");
    try {
      // Whoever may read the old file may read the new one, and nobody else.
      const old = await stat(path).catch(() => undefined);
      if (old) await file.chmod(old.mode & 0o7777);
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await place(temp);
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** A second name for the same bytes; a copy where the file system has no links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV"].includes(errorCode(error) ?? "")) throw error;
    await copyFile(from, to, 1 /* COPYFILE_EXCL */);
  }
}

function asideName(path: string, suffix: string, attempt: number): string {
  return join(dirname(path), shortened(`${basename(path)}.${suffix}${attempt === 1 ? "" : `-${attempt}`}`));
}

/** A name too long for the file system loses its front: the end says what it is. */
function shortened(name: string): string {
  const bytes = Buffer.from(name, "utf8");
  return bytes.length <= 255
    ? name
    : bytes
        .subarray(bytes.length - 250)
        .toString("utf8")
        .replaceAll("\ufffd", "");
}
