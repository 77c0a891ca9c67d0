/** What nanobot's commands leave for a running gateway. */
import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { caseOf, jobsOf, names, openStore, type OpsCase } from "../support/job-shop.js";

describe("what nanobot's commands leave in action.jsonl (v0.3.0)", async () => {
  const version = "v0.3.0";
  const cases: string[] = [];
  for (const name of (await names(version)).filter((one) => one.endsWith(".not-started"))) {
    const { other_files } = await caseOf<OpsCase>(version, name);
    if (other_files["action.jsonl"]) cases.push(name.slice(0, -".not-started".length));
  }

  it.each(cases)("becomes what the running program would have written: %s", async (name) => {
    const { other_files } = await caseOf<OpsCase>(version, `${name}.not-started`);
    const { store, read } = await openStore({
      files: { "workspace/cron/action.jsonl": other_files["action.jsonl"] ?? "" },
    });
    await store.list();
    expect(await read()).toBe(await jobsOf(version, name));
    expect(await read("workspace/cron/action.jsonl")).toBe("");
  });

  it("is all of it", () => {
    expect(cases).toHaveLength(14);
  });

  it("is merged once, also while others go on writing and where a line is torn", async () => {
    const line = (id: string): string =>
      `{"action": "add", "params": {"id": "${id}", "name": "n", "schedule": {"kind": "every", "every_ms": 1000}, "payload": {}}}\n`;
    const log = "workspace/cron/action.jsonl";
    const { store, path, read, told, now } = await openStore({ files: { [log]: `${line("a")}{"action": "ad\n` } });
    expect((await store.list()).map(({ id }) => id)).toEqual(["a"]);
    expect(await store.remove("a")).toBe(true);
    await writeFile(path(log), line("b"), { flag: "a" });
    expect((await store.list()).map(({ id }) => id)).toEqual(["b"]);
    expect(await read(log)).toBe("");
    expect(await read(`${log}.corrupt-${now()}`)).toBe('{"action": "ad\n');
    expect(told).toEqual([expect.stringContaining("1 line(s) of /home/workspace/cron/action.jsonl could not be read")]);
  });
});
