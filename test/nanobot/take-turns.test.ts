/** Two programs, one workspace: whoever writes, the other reads the same, and neither disturbs the other's bytes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { sessionFileName } from "../../src/session/key.js";
import { openSessions } from "../../src/session/open.js";
import { temporaryFolder } from "../support/workspace.js";
import { type Version, versions } from "./install.js";
import { describeEach, describeWith, historyOf, type Nanobot, type Snapshot, snapshotOf } from "./nanobot.js";
import { createModel, randomTurns, sayingOf, take, type Turn } from "./turns.js";

const turnCount = 50;
const seed = inject("seed");
const keys = ["telegram:42", "telegram:-100:topic:5", "cli:direct", 'x<>:"/\\|?*y', "emoji:😀 \u2028é"];

describeEach(versions, (nanobot) => {
  it(`shares its sessions with nanogate for ${turnCount} turns (seed ${seed})`, async () => {
    const house = openHouse();
    for (const [number, turn] of randomTurns(keys, turnCount, seed).entries()) {
      if (number % 2 === 0) await house.nanobotTakes(nanobot(), turn);
      else await house.nanogateTakes(turn);
      await house.bothAgree(nanobot(), turn.key);
    }
    await house.close();
  });
});

describeWith("one nanobot after another", versions, (nanobot) => {
  it(`is updated twice, with nanogate in between, and nothing is lost (seed ${seed + 1})`, async () => {
    const house = openHouse();
    for (const [number, turn] of randomTurns(keys, turnCount, seed + 1).entries()) {
      const program = nanobot(versions[Math.floor((number * versions.length) / turnCount)] ?? "0.3.0");
      if (number % 2 === 0) await house.nanobotTakes(program, turn);
      else await house.nanogateTakes(turn);
      await house.bothAgree(program, turn.key);
    }
    await house.close();
  });
});

/** A workspace where nanogate runs all the time; nanobots come and go. */
function openHouse() {
  const workspace = temporaryFolder();
  const folder = join(workspace, "sessions");
  const sessions = openSessions({ workspace });
  const models = new Map(keys.map((key) => [key, createModel()]));

  const nanogateReads = async (key: string): Promise<Snapshot> => snapshotOf(await sessions.getOrCreate(key));
  const newcomerReads = async (key: string): Promise<Snapshot> => {
    const others = openSessions({ workspace });
    const snapshot = snapshotOf(await others.getOrCreate(key));
    await others.close();
    return snapshot;
  };
  const fileOf = (key: string, version: Version): string =>
    join(folder, sessionFileName(key, { naming: version === "0.3.0" ? "base64url" : "nanobot" }));

  return {
    async nanobotTakes(nanobot: Nanobot, { key, steps }: Turn) {
      take(models.get(key) ?? createModel(), steps);
      await nanobot.at(workspace).turn(key, steps);
    },

    async nanogateTakes({ key, steps }: Turn) {
      take(models.get(key) ?? createModel(), steps);
      const session = await sessions.getOrCreate(key);
      take(session, steps);
      await sessions.save(session);
    },

    async bothAgree(program: Nanobot, key: string) {
      const { version } = program;
      const nanobot = program.at(workspace);
      // nanogate first: reading is what makes v0.3.0 rename a file, and nanogate has to cope with either name.
      const before = await nanogateReads(key);
      expect(sayingOf(before), key).toEqual(models.get(key)?.saying());
      const theirs = await nanobot.load(key);
      expect(forComparison(theirs, version), key).toEqual(forComparison(before, version));
      expect(await nanogateReads(key), key).toEqual(before);
      expect(await newcomerReads(key), key).toEqual(before);

      const path = fileOf(key, version);
      const written = readFileSync(path);
      await nanobot.save(key);
      expect(comparableBytes(readFileSync(path), version), key).toBe(comparableBytes(written, version));
      expect(forComparison(await nanogateReads(key), version), key).toEqual(forComparison(before, version));

      const session = await sessions.getOrCreate(key);
      await sessions.save(session);
      expect(comparableBytes(readFileSync(path), "0.1.4.post4"), key).toBe(comparableBytes(written, "0.1.4.post4"));

      if (version === "0.1.4.post4") {
        for (const max of [undefined, 0, 1, 7, 100, -3]) {
          expect(historyOf(session, max), `${key}, history(${max})`).toEqual(await nanobot.history(key, max));
        }
      }
    },

    async close() {
      await sessions.close();
      // No file twice, nothing set aside as damaged, no leftovers of writing.
      const names = readdirSync(folder).filter((name) => name !== ".nanogate.lock");
      expect(names.filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
      expect(names.length).toBeLessThanOrEqual(keys.length);
    },
  };
}

/** v0.1.4.post4 forgets when a session was last updated, and puts the time of loading there. */
const forComparison = (snapshot: Snapshot, version: Version): Snapshot =>
  version === "0.1.4.post4" ? { ...snapshot, updatedAt: "" } : snapshot;

const comparableBytes = (bytes: Buffer, version: Version): string => {
  const text = bytes.toString("latin1");
  return version === "0.1.4.post4" ? text.replace(/"updated_at": "[^"]*"/, '"updated_at": ""') : text;
};
