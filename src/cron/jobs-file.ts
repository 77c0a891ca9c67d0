/**
 * The file of jobs, which other programs write too: looked at anew before each use, changed under a lock by temp file and
 * rename, and set aside before anything takes the place of what cannot be read. Changes that are wanted at the same
 * time are written together.
 */
import { mkdir, readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { replaceFile, setAside } from "../util/atomic-write.js";
import { errorCode, reasonOf } from "../util/errors.js";
import { sameStamp, type Stamp, stampOf } from "../util/file-stamp.js";
import type { ProcessLock } from "../util/process-lock.js";
import { emptyActions, mergeActions, readActions } from "./action-log.js";
import { emptyDocument, type Entry, type JobsDocument, printJobsJson, readJobsJson } from "./jobs-json.js";

export type JobsFileParts = {
  readonly home: string;
  readonly workspace: string;
  readonly lock: ProcessLock;
  readonly now: () => number;
  /** Told what the owner should know. */
  readonly report: (problem: string) => void;
};

/** Gets what is there and says what is to be there; the same list if nothing is to change. */
export type Edit<T> = (entries: readonly Entry[]) => { readonly entries: readonly Entry[]; readonly result: T };

export type JobsFile = {
  read(): Promise<readonly Entry[]>;
  /** Durable when it resolves. */
  change<T>(edit: Edit<T>): Promise<T>;
};

type Loaded = { readonly path: string; readonly stamp: Stamp | undefined; readonly document: JobsDocument };
type Wish = {
  readonly edit: Edit<unknown>;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
};

/** nanobot up to v0.2.0 writes in place: what looks torn may be whole a moment later. */
const tornTries = 5;
const tornPauseMs = 60;
/** An action.jsonl that grows faster than it is merged waits for the next time. */
const mergeRounds = 5;
const freshTries = 5;

export function createJobsFile({ home, workspace, lock, now, report }: JobsFileParts): JobsFile {
  const actionFile = join(workspace, "cron", "action.jsonl");
  // v0.1.4.post6 and later keep it in the workspace and take it there from the home; a new one is made where all find it.
  const [newer, older] = [join(workspace, "cron", "jobs.json"), join(home, "cron", "jobs.json")];
  let loaded: Loaded | undefined;
  let merged: { readonly stamp: Stamp; readonly length: number } | undefined;
  let wishes: Wish[] = [];
  let working: Promise<void> | undefined;
  let hasLookedAround = false;

  const place = async (): Promise<{ readonly path: string; readonly stamp: Stamp | undefined }> => {
    const stamp = await stampOf(newer);
    return stamp ? { path: newer, stamp } : { path: older, stamp: await stampOf(older) };
  };

  /** Undefined if there is nothing but something torn. */
  const load = async (): Promise<Loaded | { readonly path: string; readonly damage: unknown }> => {
    for (let attempt = 1; ; attempt++) {
      const { path, stamp } = await place();
      if (loaded?.path === path && isSame(loaded.stamp, stamp)) return loaded;
      if (!stamp) return (loaded = { path, stamp, document: emptyDocument });
      try {
        return (loaded = { path, stamp, document: readJobsJson(await readFile(path)) });
      } catch (damage) {
        if (errorCode(damage) === "ENOENT") continue;
        if (!(damage instanceof SyntaxError)) throw damage;
        if (attempt >= tornTries) return { path, damage };
        await pause(tornPauseMs);
      }
    }
  };

  /** Only under the lock. */
  const save = async (path: string, document: JobsDocument): Promise<Loaded> => {
    await mkdir(dirname(path), { recursive: true });
    // A link stays one.
    const real = await realpath(path).catch(() => path);
    await replaceFile(real, (file) => file.writeFile(printJobsJson(document), "utf8"));
    return (loaded = { path, stamp: await stampOf(path), document });
  };

  const loadOrSetAside = async (): Promise<Loaded> => {
    const found = await load();
    if (!("damage" in found)) return found;
    const aside = await setAside(found.path, `corrupt-${Math.floor(now() / 1000)}`);
    const fresh = await save(found.path, emptyDocument);
    report(
      `${found.path} could not be read (${reasonOf(found.damage)}). It is kept as ${aside}; until it is put right there are no jobs.`,
    );
    return fresh;
  };

  /** Where in the file of actions the lines begin that are not merged yet; undefined if there are none. */
  const newActions = async (): Promise<{ readonly from: number; readonly stamp: Stamp } | undefined> => {
    const stamp = await stampOf(actionFile);
    if (!stamp || stamp.size === 0n || isSame(merged?.stamp, stamp)) return undefined;
    const hasGrown = merged?.stamp.ino === stamp.ino && stamp.size >= BigInt(merged.length);
    return { from: hasGrown ? (merged?.length ?? 0) : 0, stamp };
  };

  /** Only under the lock. Saved before it is emptied: a crash between the two merges the same lines again. */
  const takeActions = async (): Promise<void> => {
    for (let round = 0; round < mergeRounds; round++) {
      const actions = await newActions();
      if (!actions) return;
      const log = await readActions(actionFile);
      const { path, document } = await loadOrSetAside();
      const { entries, unread } = mergeActions(document.entries, log.subarray(actions.from));
      if (unread.length > 0) await keepUnread(unread);
      await save(path, { ...document, entries });
      // Should it not be emptied, the same lines must not come again and undo what happened since.
      merged = { stamp: actions.stamp, length: log.length };
      try {
        if (await emptyActions(actionFile, log.length)) merged = undefined;
      } catch (error) {
        return report(`${actionFile} cannot be emptied: ${reasonOf(error)}.`);
      }
    }
  };

  const keepUnread = async (lines: readonly string[]): Promise<void> => {
    const aside = `${actionFile}.corrupt-${now()}`;
    await replaceFile(aside, (file) => file.writeFile(`${lines.join("\n")}\n`, "utf8"));
    report(`${lines.length} line(s) of ${actionFile} could not be read. They are kept in ${aside}.`);
  };

  const lookAround = async (): Promise<void> => {
    hasLookedAround = true;
    if (!(await stampOf(newer)) || !(await stampOf(older))) return;
    const other = await readFile(older).then(readJobsJson, () => undefined);
    if (other?.entries.length === 0) return;
    report(`There are two lists of jobs. ${newer} is used; what is in ${older} does not run.`);
  };

  const begin = (): void => {
    working ??= work().finally(() => {
      working = undefined;
      if (wishes.length > 0) begin();
    });
  };

  const work = async (): Promise<void> => {
    while (wishes.length > 0) {
      const batch = wishes;
      wishes = [];
      await lock.hold(() => grant(batch)).catch((error: unknown) => batch.forEach(({ failed }) => failed(error)));
    }
  };

  const grant = async (batch: readonly Wish[]): Promise<void> => {
    await takeActions();
    for (let attempt = 1; ; attempt++) {
      const { path, stamp, document } = await loadOrSetAside();
      let { entries } = document;
      const settled = batch.map(({ edit, done, failed }) => {
        try {
          const { entries: next, result } = edit(entries);
          entries = next;
          return () => done(result);
        } catch (error) {
          return () => failed(error);
        }
      });
      // Other programs do not know our lock. What they wrote meanwhile comes first, and our change on top of it.
      const isFresh = isSame(stamp, (await place()).stamp) || attempt >= freshTries;
      if (!isFresh) continue;
      if (entries !== document.entries) await save(path, { ...document, entries });
      return settled.forEach((settle) => settle());
    }
  };

  const change = <T>(edit: Edit<T>): Promise<T> =>
    new Promise<T>((done, failed) => {
      wishes.push({ edit, done: done as Wish["done"], failed });
      begin();
    });

  return {
    async read() {
      if (!hasLookedAround) await lookAround();
      // Nothing new: no lock, so that looking neither waits nor makes others wait.
      if (!(await newActions())) {
        const found = await load();
        if (!("damage" in found)) return found.document.entries;
      }
      return change((entries) => ({ entries, result: entries }));
    },
    change,
  };
}

const isSame = (one: Stamp | undefined, other: Stamp | undefined): boolean =>
  one === undefined ? other === undefined : sameStamp(one, other);
