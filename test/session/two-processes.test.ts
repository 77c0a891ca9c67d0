/** Real processes on one workspace, some of them killed: what was acknowledged is there, once and whole (004-20). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type DriverName, driverNames } from "../../src/session/open.js";
import { openWorkspace } from "../support/workspace.js";

const program = fileURLToPath(new URL("../support/saving-process.ts", import.meta.url));
const shared = ["telegram:a:b", "telegram:a_b"];

type Saved = { readonly key: string; readonly id: string };

/** Runs a saver; `killAfter` acknowledged turns and a little while it is killed. Resolves with what it acknowledged. */
async function saver(
  workspace: string,
  driver: DriverName,
  name: string,
  turns: number,
  killAfter = Infinity,
): Promise<Saved[]> {
  const args = [workspace, driver, name, String(turns), ...shared, `own:${name}`];
  const child = spawn(process.execPath, ["--import", "tsx", program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const saved: Saved[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "ready") continue;
    saved.push(JSON.parse(line) as Saved);
    if (saved.length >= killAfter) setTimeout(() => child.kill("SIGKILL"), Math.random() * 12);
  }
  const [code] = (await exited) as [number | null];
  if (killAfter === Infinity) expect(code).toBe(0);
  return saved;
}

describe.each(driverNames)("%s: processes that save at the same time", (driver) => {
  it("lose no acknowledged turn, double none and mix none, though some are killed", { timeout: 60_000 }, async () => {
    const house = openWorkspace();
    const run = (name: string, turns: number, killAfter?: number): Promise<Saved[]> =>
      saver(house.workspace, driver, name, turns, killAfter);
    const killed = async (name: string): Promise<Saved[]> => [
      ...(await run(`${name}1`, 1000, 1 + Math.floor(Math.random() * 8))),
      ...(driver === "jsonl" ? await run(`${name}2`, 1000, 1 + Math.floor(Math.random() * 8)) : []),
    ];
    const acknowledged = (await Promise.all([run("x", 15), run("y", 15), killed("k")])).flat();
    const keys = [...new Set(acknowledged.map(({ key }) => key))];
    const sessions = house.open({ driver });
    for (const key of keys) {
      const session = await sessions.getOrCreate(key);
      const said = session.slice(0).map((row) => String(row["content"]).split(" ")[0] ?? "");
      for (const { id } of acknowledged.filter((saved) => saved.key === key)) {
        const at = said.indexOf(`${id}.0`);
        expect(said.slice(at, at + 3)).toEqual([0, 1, 2].map((part) => `${id}.${part}`));
      }
      expect(said.length).toBe(new Set(said).size);
      // At most what each killed process was just writing comes on top of what was acknowledged.
      const known = new Set(acknowledged.flatMap(({ id }) => [0, 1, 2].map((part) => `${id}.${part}`)));
      expect(said.filter((row) => !known.has(row)).length).toBeLessThanOrEqual(6);
      session.addMessage("user", "afterwards");
      await sessions.save(session);
      const reread = await house.open({ driver }).getOrCreate(key);
      expect(reread.slice(0).map((row) => String(row["content"]).split(" ")[0])).toEqual([...said, "afterwards"]);
    }
    if (driver !== "jsonl") return;
    for (const name of house.names().filter((each) => each.endsWith(".jsonl"))) {
      const text = readFileSync(join(house.folder, name), "utf8");
      expect(text.endsWith("}\n")).toBe(true);
      for (const line of text.trimEnd().split("\n")) expect(() => JSON.parse(line) as unknown).not.toThrow();
    }
  });
});
