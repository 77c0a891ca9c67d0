/** The k-th operation on the disk fails, for each k: the state is the one before or the one after (cross-seed 3). */
import type { FileHandle } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openStore } from "../../src/session/open.js";
import type { Session } from "../../src/session/session.js";
import { openWorkspace } from "../support/workspace.js";

const disk = vi.hoisted(() => {
  const state = {
    /** How many operations succeed before one fails. */
    left: Infinity,
    failed: "",
    /** True for the one operation that is to fail. */
    isFull: (): boolean => state.left-- === 0,
    error: (what: string): Error => {
      state.failed = what;
      return Object.assign(new Error(`ENOSPC: no space left on device, ${what}`), { code: "ENOSPC" });
    },
  };
  return state;
});

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const counted =
    <A extends unknown[], R>(what: string, act: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (disk.isFull()) throw disk.error(what);
      return act(...args);
    };
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
        return counts ? counted(String(name), act) : act;
      },
    });
  const all = <F>(what: string, act: F): F => counted(what, act as (...args: unknown[]) => Promise<unknown>) as F;
  return {
    ...real,
    open: counted("open", async (...args: Parameters<typeof real.open>) => handle(await real.open(...args))),
    // A handle has its own way of being read.
    readFile: all("readFile", real.readFile),
    rename: all("rename", real.rename),
    link: all("link", real.link),
    unlink: all("unlink", real.unlink),
    stat: all("stat", real.stat),
    truncate: all("truncate", real.truncate),
    readdir: all("readdir", real.readdir),
  };
});

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const counted = <F>(what: string, act: F): F =>
    ((...args: unknown[]) => {
      if (disk.isFull()) throw disk.error(what);
      return (act as (...args: unknown[]) => unknown)(...args);
    }) as F;
  return {
    ...real,
    openSync: counted("openSync", real.openSync),
    fstatSync: counted("fstatSync", real.fstatSync),
    statSync: counted("statSync", real.statSync),
    readSync: counted("readSync", real.readSync),
    readFileSync: counted("readFileSync", real.readFileSync),
    ftruncateSync: counted("ftruncateSync", real.ftruncateSync),
    writeSync: (file: number, bytes: Buffer, offset: number, length: number, ...rest: number[]): number => {
      if (!disk.isFull()) return real.writeSync(file, bytes, offset, length, ...rest);
      real.writeSync(file, bytes, offset, Math.floor(length / 2), ...rest);
      throw disk.error("writeSync");
    },
    fdatasync: (file: number, done: (error: Error | null) => void): void =>
      disk.isFull() ? done(disk.error("fdatasync")) : real.fdatasync(file, done),
  };
});

afterEach(() => {
  disk.left = Infinity;
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
