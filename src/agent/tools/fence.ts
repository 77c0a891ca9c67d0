/** The fence around the file tools: everything inside the workspace, except what belongs to nanogate itself. */
import { constants, type Dirent } from "node:fs";
import { lstat, mkdir, open, opendir, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { replaceFile } from "../../util/atomic-write.js";
import { errorCode } from "../../util/errors.js";
import { writeAll } from "../../util/file-bytes.js";
import { ToolError } from "./tool.js";

export type FenceParts = {
  readonly workspace: string;
  /** What `~` stands for. */
  readonly userHome: string;
  /** Folders and files out of reach wherever they lie: sessions, state, configuration. They need not exist yet. */
  readonly forbidden: readonly string[];
  /** Folders outside the workspace that may be read, such as the built-in skills. */
  readonly readable?: readonly string[];
};

/**
 * All paths are a model's words: relative to the workspace, absolute, or with `~`. A link counts as what it leads to.
 * Whoever swaps a folder for a link between the check and the use gains nothing: on Linux every step down is taken from
 * an open folder and follows no link, and elsewhere what was opened is compared with what was checked.
 */
export type Fence = {
  readonly workspace: string;
  readonly userHome: string;
  readonly forbidden: readonly string[];
  /** The real path, of a file that may not exist yet. Refuses with a {@link ToolError}. */
  resolve(path: string, use?: Use): Promise<string>;
  /** Runs `work` on an ordinary file opened for reading. */
  read<T>(path: string, work: (file: FileHandle, realPath: string) => Promise<T>): Promise<T>;
  /** What lies in a folder, at most `most` names, sorted; what is out of reach is not mentioned. */
  list(path: string, most: number): Promise<Listing>;
  /** All or nothing; creates the folders on the way. Returns the real path. */
  write(path: string, text: string): Promise<string>;
};

export type Use = "read" | "write";
export type Listing = { readonly path: string; readonly entries: readonly Dirent[]; readonly complete: boolean };

export function createFence({ workspace, userHome, forbidden, readable = [] }: FenceParts): Fence {
  const absolute = (path: string): string => {
    if (path.trim() === "") throw new ToolError("The path is empty. Name a file or folder inside the workspace.");
    if (path.includes("\0")) throw new ToolError("The path holds a NUL character, which no file name can.");
    const expanded = path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path;
    return resolve(workspace, expanded);
  };

  const outside = (path: string): ToolError =>
    new ToolError(`Path ${path} is outside allowed directory ${workspace}. Use a path inside it.`);

  const outOfReach = (path: string): ToolError =>
    new ToolError(
      `Path ${path} holds sessions, state or configuration and is out of reach for tools. ` +
        `Allowed is everything else inside ${workspace}.`,
    );

  /** Asked again at each use: links and folders come and go. */
  const rules = async (use: Use): Promise<Rules> => {
    const barred = await Promise.all(forbidden.map(realPathOf));
    const marks = (await Promise.all(barred.map(identity))).filter((mark) => mark !== undefined);
    return {
      roots: await Promise.all([workspace, ...(use === "read" ? readable : [])].map(realPathOf)),
      barred: [...forbidden.map((name) => folded(resolve(name))), ...barred.map(folded)],
      marks: new Set(marks),
    };
  };

  /** The root that admits a real path. */
  const admit = async (real: string, path: string, use: Use): Promise<string> => {
    const { roots, barred, marks } = await rules(use);
    if (isBarred(barred, real)) throw outOfReach(path);
    const root = roots.find((candidate) => isInside(candidate, real));
    if (root === undefined) throw outside(path);
    // The same folder can have further names: another spelling, a bind mount, a hard link.
    for (let at = real; marks.size > 0 && at !== root; at = dirname(at)) {
      const mark = await identity(at);
      if (mark !== undefined && marks.has(mark)) throw outOfReach(path);
    }
    return root;
  };

  const locate = async (path: string, use: Use): Promise<{ root: string; real: string }> => {
    const real = await realPathOf(absolute(path));
    return { root: await admit(real, path, use), real };
  };

  /** Walks down from the root to `real`, following no link, and checks where it arrived. */
  const enter = async <T>(
    { root, real, path, use }: { root: string; real: string; path: string; use: Use },
    work: (folder: Folder) => Promise<T>,
  ): Promise<T> => {
    const steps = relative(root, real)
      .split(sep)
      .filter((step) => step !== "");
    let folder = await openFolder(root, root);
    try {
      for (const step of steps) {
        const next = await openFolder(folder.at(step), join(folder.path, step), { create: use === "write" });
        await folder.handle.close();
        folder = next;
      }
      await admit((await knownPath(folder.handle)) ?? (await realpath(folder.path)), path, use);
      return await work(folder);
    } finally {
      await folder.handle.close();
    }
  };

  return {
    workspace,
    userHome,
    forbidden,

    resolve: async (path, use = "read") => (await locate(path, use)).real,

    async read(path, work) {
      const { root, real } = await locate(path, "read");
      if (real === root) throw notAFile(path);
      return inWords(path, () =>
        enter({ root, real: dirname(real), path, use: "read" }, async (folder) => {
          const file = await open(folder.at(basename(real)), readFlags);
          try {
            await admit((await knownPath(file)) ?? (await unchanged(file, real, path)), path, "read");
            if (!(await file.stat()).isFile()) throw notAFile(path);
            return await work(file, real);
          } finally {
            await file.close();
          }
        }),
      );
    },

    async list(path, most) {
      const { root, real } = await locate(path, "read");
      return inWords(path, () =>
        enter({ root, real, path, use: "read" }, async (folder) => {
          const found: Dirent[] = [];
          let complete = true;
          for await (const entry of await opendir(folder.at("."))) {
            complete = found.length < most;
            if (!complete) break;
            found.push(entry);
          }
          const { barred } = await rules("read");
          const entries = found
            .filter(({ name }) => !isBarred(barred, join(real, name)))
            .sort((a, b) => (a.name < b.name ? -1 : 1));
          return { path: real, entries, complete };
        }),
      );
    },

    async write(path, text) {
      const { root, real } = await locate(path, "write");
      if (real === root) throw notAFile(path);
      return inWords(path, () =>
        enter({ root, real: dirname(real), path, use: "write" }, async (folder) => {
          const target = folder.at(basename(real));
          const before = await lstat(target).catch(() => undefined);
          if (before?.isDirectory()) throw notAFile(path);
          await replaceFile(target, async (file) => {
            if (before?.isFile()) await file.chmod(before.mode & 0o777);
            await writeAll(file, Buffer.from(text, "utf8"));
          });
          return real;
        }),
      );
    },
  };
}

/** A pipe with no writer must not hold us up; a link in the last place is a swap, since the path was resolved. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const folderFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

type Folder = {
  readonly handle: FileHandle;
  readonly path: string;
  /** A name in this very folder, wherever its path may lead by now. */
  at(name: string): string;
};

async function openFolder(name: string, path: string, options: { create?: boolean } = {}): Promise<Folder> {
  let handle: FileHandle;
  try {
    handle = await open(name, folderFlags);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || !options.create) throw error;
    await mkdir(name).catch((cause: unknown) => {
      if (errorCode(cause) !== "EEXIST") throw cause;
    });
    handle = await open(name, folderFlags);
  }
  const anchor = (await knownPath(handle)) === undefined ? path : `/proc/self/fd/${handle.fd}`;
  return { handle, path, at: (child) => `${anchor}${sep}${child}` };
}

/** Where an open file lies, as the kernel says; undefined on systems that do not say. */
async function knownPath(file: FileHandle): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  return readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
}

/** Without a kernel that says where a file lies: it must still be the one its path leads to. */
async function unchanged(file: FileHandle, real: string, path: string): Promise<string> {
  const [opened, named] = [await file.stat({ bigint: true }), await lstat(real, { bigint: true })];
  if (opened.ino !== named.ino || opened.dev !== named.dev) throw new ToolError(`${path} changed while it was opened.`);
  return realpath(real);
}

/** The path with all links resolved. What does not exist yet is appended to its deepest parent that does. */
async function realPathOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      const code = errorCode(error);
      if (code === "ELOOP") throw new ToolError(`${path} is a link that leads in a circle.`);
      if (code === "ENAMETOOLONG") throw new ToolError("The path is too long for a file name.");
      if ((code !== "ENOENT" && code !== "ENOTDIR") || at === dirname(at)) throw error;
      // Writing through it would create a file wherever it points.
      if ((await lstat(at).catch(() => undefined))?.isSymbolicLink()) {
        throw new ToolError(`${at} is a link that leads nowhere.`);
      }
      missing.unshift(basename(at));
    }
  }
}

async function identity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

type Rules = {
  readonly roots: readonly string[];
  readonly barred: readonly string[];
  readonly marks: ReadonlySet<string>;
};

/** Case is ignored, as some file systems do; that a few harmless names are refused elsewhere hurts nobody. */
const folded = (path: string): string => path.normalize("NFC").toLowerCase();

const isBarred = (barred: readonly string[], real: string): boolean =>
  barred.some((root) => isInside(root, folded(real)));

/** Also true for the root itself. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

const notAFile = (path: string): ToolError =>
  new ToolError(`Not a file: ${path}. Name a file; list_dir shows what is in a folder.`);

/** System errors as a model can act on them, without the names of the detour. */
async function inWords<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const words = phrases[errorCode(error) ?? ""];
    if (words === undefined) throw error;
    throw new ToolError(`${words}: ${path}`, { cause: error });
  }
}

const phrases: Readonly<Record<string, string>> = {
  ENOENT: "No such file or folder",
  ENOTDIR: "Not a directory",
  EISDIR: "Not a file",
  EACCES: "Permission denied",
  EPERM: "Permission denied",
  EROFS: "This folder is read-only",
  ELOOP: "A link appeared on the way to this file",
  ENXIO: "Not an ordinary file",
  ENOSPC: "The disk is full",
  ENAMETOOLONG: "The path is too long for a file name",
};
