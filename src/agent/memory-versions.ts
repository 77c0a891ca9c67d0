/** What MEMORY.md was before and after each change, so that every one can be looked at and taken back. */
import { mkdir, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../util/atomic-write.js";
import { ifThere } from "./memory-log.js";

export type MemoryVersion = {
  readonly id: number;
  readonly time: string;
  /** The session whose consolidation it was; `undo`; or `edit`: somebody, perhaps a tool, wrote the file. */
  readonly by: string;
  readonly before: string;
  readonly after: string;
};

/** So many changes can be taken back. */
const kept = 200;

export function createMemoryVersions(folder: string) {
  /** The ids that are there, oldest first. */
  const ids = async (): Promise<number[]> =>
    (await ifThere(readdir(folder), []))
      .flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  const fileOf = (id: number): string => join(folder, `${String(id).padStart(6, "0")}.json`);

  const read = async (id: number): Promise<MemoryVersion> => ({
    id,
    ...(JSON.parse(await readFile(fileOf(id), "utf8")) as Omit<MemoryVersion, "id">),
  });

  return {
    nextId: async (): Promise<number> => ((await ids()).at(-1) ?? 0) + 1,

    /** Doing it again, after a crash, changes nothing. */
    async keep({ id, ...version }: MemoryVersion): Promise<void> {
      await mkdir(folder, { recursive: true });
      await replaceFile(fileOf(id), (file) => file.writeFile(JSON.stringify(version), "utf8"));
      const all = await ids();
      for (const old of all.slice(0, Math.max(0, all.length - kept))) await unlink(fileOf(old));
    },

    async newest(): Promise<MemoryVersion | undefined> {
      const id = (await ids()).at(-1);
      return id === undefined ? undefined : read(id);
    },

    /** Newest first. */
    list: async (): Promise<MemoryVersion[]> => Promise.all((await ids()).reverse().map(read)),
  };
}
