/**
 * How single jobs want to be treated. nanobot's file has no place for it, and its next save would drop it there, so it
 * lies in a small file of our own.
 */
import { Mutex } from "async-mutex";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod/mini";
import { replaceFile, setAside } from "../util/atomic-write.js";
import { errorCode, reasonOf } from "../util/errors.js";
import { sameStamp, type Stamp, stampOf } from "../util/file-stamp.js";
import type { ProcessLock } from "../util/process-lock.js";
import type { Policy } from "./job.js";

/** As the owner writes it down. */
export type PolicySettings = Pick<Policy, "misfire" | "overlap" | "retries"> & {
  readonly graceHours: number;
  readonly limitMinutes: number;
};

export const policyFrom = ({ misfire, graceHours, overlap, limitMinutes, retries }: PolicySettings): Policy => ({
  misfire,
  graceMs: Math.round(graceHours * 3_600_000),
  overlap,
  limitMs: Math.max(1, Math.round(limitMinutes * 60_000)),
  retries,
});

export type PoliciesParts = {
  readonly file: string;
  readonly lock: ProcessLock;
  readonly now: () => number;
  readonly report: (problem: string) => void;
};
export type Wishes = Readonly<Record<string, Partial<Policy>>>;

export type Policies = {
  /** By the id of the job; the same object as long as nothing has changed. */
  read(): Promise<Wishes>;
  /** Undefined: it has no wishes any more. Durable when it resolves. */
  set(id: string, policy: Partial<Policy> | undefined): Promise<void>;
};

const positive = z.int().check(z.gte(1));
const schema = z.object({
  version: z.literal(1),
  jobs: z.record(
    z.string(),
    z.partial(
      z.object({
        misfire: z.enum(["skip", "once", "all"]),
        graceMs: z.int().check(z.gte(0)),
        overlap: z.enum(["skip", "wait"]),
        limitMs: positive,
        retries: z.int().check(z.gte(0)),
        stateless: z.literal(true),
      }),
    ),
  ),
});

export function createPolicies({ file, lock, now, report }: PoliciesParts): Policies {
  const alone = new Mutex();
  let known: { readonly stamp: Stamp; readonly wishes: Wishes } | undefined;

  const read = async (): Promise<Wishes> => {
    const stamp = await stampOf(file);
    if (!stamp) return none;
    if (known && sameStamp(known.stamp, stamp)) return known.wishes;
    try {
      const wishes = schema.parse(JSON.parse(await readFile(file, "utf8"))).jobs as Wishes;
      known = { stamp, wishes };
    } catch (error) {
      if (errorCode(error) === "ENOENT") return none;
      report(`${file} could not be read (${reasonOf(error)}): all jobs are treated alike.`);
      known = { stamp, wishes: none };
    }
    return known.wishes;
  };

  return {
    read,
    set: (id, policy) =>
      alone.runExclusive(() =>
        lock.hold(async () => {
          const { [id]: before, ...others } = await read();
          if (policy === undefined && before === undefined) return;
          const isDamaged = known?.wishes === none;
          if (isDamaged && (await stampOf(file))) await setAside(file, `corrupt-${Math.floor(now() / 1000)}`);
          const jobs = policy === undefined ? others : { ...others, [id]: policy };
          await mkdir(dirname(file), { recursive: true });
          await replaceFile(file, (to) => to.writeFile(`${JSON.stringify({ version: 1, jobs }, null, 2)}\n`, "utf8"));
        }),
      ),
  };
}

const none: Wishes = {};
