/** The k-th operation on the disk fails, for each k: the state is the one before or the one after (cross-seed 3). */
import fs, { writeFileSync } from "node:fs";
import promises, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/session/open.js";
import type { Session } from "../../src/session/session.js";
import { openWorkspace } from "../support/workspace.js";

const disk = {
  /** How many operations succeed before one fails. */
  left: Infinity,
  failed: "",
  /** True for the one operation that is to fail. */
  isFull: (): boolean => disk.left-- === 0,
  error: (what: string): Error => {
    disk.failed = what;
    return Object.assign(new Error(`ENOSPC: no space left on device, ${what}`), { code: "ENOSPC" });
  },
};

type Act = (...args: never[]) => unknown;

/** The same, unless its turn has come. */
const counted = <F extends Act>(what: string, act: F, fail: (error: Error) => unknown = raise): F =>
  ((...args: never[]) => (disk.isFull() ? fail(disk.error(what)) : act(...args))) as F;

const raise = (error: Error): never => {
  throw error;
};
const refuse = async (fault: Error): Promise<never> => raise(fault);

const handle = (file: FileHandle): FileHandle =>
  new Proxy(file, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function") return member;
      const act = member.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name === "write") {
        return async (bytes: Buffer, offset: number, length: number, ...rest: unknown[]) => {
          if (!disk.isFull()) return act(bytes, offset, length, ...rest);
          await act(bytes, offset, Math.floor(length / 2), ...rest); // it fills up in the middle
          throw disk.error("write");
        };
      }
      const counts = ["read", "readFile", "sync", "datasync", "stat", "truncate", "chmod"].includes(String(name));
      return counts ? counted(String(name), act, refuse) : act;
    },
  });

const real = { fs: { ...fs }, promises: { ...promises } };

const failing = (names: readonly string[], from: object, fail?: (error: Error) => unknown): object =>
  Object.fromEntries(names.map((name) => [name, counted(name, Reflect.get(from, name) as Act, fail)]));

const failingPromises = {
  // A handle has its own way of being read.
  ...failing(["readFile", "rename", "link", "unlink", "stat", "truncate", "readdir"], real.promises, refuse),
  open: counted(
    "open",
    async (...args: Parameters<typeof promises.open>) => handle(await real.promises.open(...args)),
    refuse,
  ),
};

const failingFs = {
  ...failing(["openSync", "fstatSync", "statSync", "readSync", "readFileSync", "ftruncateSync"], real.fs),
  writeSync: (file: number, bytes: Buffer, offset: number, length: number, ...rest: number[]): number => {
    if (!disk.isFull()) return real.fs.writeSync(file, bytes, offset, length, ...rest);
    real.fs.writeSync(file, bytes, offset, Math.floor(length / 2), ...rest);
    throw disk.error("writeSync");
  },
  fdatasync: (file: number, done: (error: Error | null) => void): void =>
    disk.isFull() ? done(disk.error("fdatasync")) : real.fs.fdatasync(file, done),
};

const putDisk = (ofFs: object, ofPromises: object): void => {
  Object.assign(fs, ofFs);
  Object.assign(promises, ofPromises);
  syncBuiltinESMExports();
};

beforeAll(() => putDisk(failingFs, failingPromises));
afterEach(() => {
  disk.left = Infinity;
});
afterAll(() => {
  const namesOf = (some: object, all: object): object =>
    Object.fromEntries(Object.keys(some).map((name) => [name, Reflect.get(all, name) as unknown]));
  putDisk(namesOf(failingFs, real.fs), namesOf(failingPromises, real.promises));
});

const key = "telegram:42";
const stateOf = (session: Session) => ({
  said: session.slice(0).map((row) => row["content"]),
  title: session.metadata["title"],
  cursor: session.lastConsolidated,
});

const turns: readonly (readonly [string, (session: Session) => void])[] = [
  ["a turn", (session) => session.addMessage("user", "new")],
  [
    "a turn that changes the header",
    (session) => {
      session.addMessage("user", "new");
      session.metadata["title"] = "a longer title";
      session.lastConsolidated = 1;
    },
  ],
  [
    "/new",
    (session) => {
      session.clear();
      session.addMessage("user", "fresh");
    },
  ],
];
const beginnings = [
  ["a healthy session", (text: string) => text],
  ["a damaged session", (text: string) => `${text}{"role": "us`],
  ["no session yet", () => undefined],
] as const;

describe.each(["jsonl", "chunked"] as const)("%s", (driver) => {
  const cases = turns.flatMap(([turn, act]) =>
    beginnings
      .filter(([start]) => driver === "jsonl" || start !== "a damaged session")
      .map(([start, make]) => ({ turn, act, start, make })),
  );

  it.each(cases)("$turn on $start: all or nothing, and nothing is lost", async ({ act, make }) => {
    for (let k = 0; ; k++) {
      disk.left = Infinity;
      const house = openWorkspace();
      const preparing = house.open({ driver });
      const first = await preparing.getOrCreate(key);
      if (make("") !== undefined) {
        first.addMessage("user", "old");
        first.metadata["title"] = "title";
        await preparing.save(first);
        await preparing.close();
        if (driver === "jsonl") {
          const [name = ""] = house.names();
          writeFileSync(`${house.folder}/${name}`, make(house.text(name)) ?? "");
        }
      }
      const sessions = house.open({ driver });
      const session = await sessions.getOrCreate(key);
      const before = stateOf(session);
      disk.left = k;
      act(session);
      const after = stateOf(session);
      const error: unknown = await sessions.save(session).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const wasHit = disk.left < 0;
      disk.left = Infinity;
      const onDisk = stateOf(await house.open({ driver }).getOrCreate(key));
      const at = `operation ${k}, ${wasHit ? disk.failed : "none failed"}`;
      if (error === undefined) {
        expect({ at, onDisk }).toEqual({ at, onDisk: after });
      } else {
        // Whoever is told that it failed finds the session as it was, unless only tidying up was left to do.
        expect([before, ...(driver === "chunked" ? [after] : [])]).toContainEqual(stateOf(session));
        expect([before, after]).toContainEqual(onDisk);
      }
      // Life goes on from what is on disk, and no damage was done.
      const again = await sessions.getOrCreate(key);
      expect({ at, found: stateOf(again) }).toEqual({ at, found: onDisk });
      again.addMessage("user", "next");
      await sessions.save(again);
      const later = stateOf(await house.open({ driver }).getOrCreate(key));
      expect({ at, said: later.said }).toEqual({ at, said: [...onDisk.said, "next"] });
      const store = openStore({ workspace: house.workspace, driver, log: house.log });
      for await (const { damage } of store.verify({ repair: false }))
        expect({ at, damage }).toEqual({ at, damage: [] });
      await Promise.all([store.close(), sessions.close()]);
      if (!wasHit) {
        expect(error).toBeUndefined();
        expect(k).toBeGreaterThan(3);
        return;
      }
    }
  });
});
