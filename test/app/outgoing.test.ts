import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOutgoing } from "../../src/app/outgoing.js";
import { temporaryFolder } from "../support/workspace.js";

const to = { channel: "fake", chat: "ann" };

describe("a file on its way out", () => {
  it("is sent as it was, and its copy is gone once it has arrived", async () => {
    const folder = temporaryFolder();
    const outgoing = createOutgoing(join(folder, "outgoing"));
    const path = join(folder, "report.txt");
    writeFileSync(path, "then");
    const copy = await outgoing.copy(path);
    writeFileSync(path, "now");
    expect(readFileSync(copy, "utf8")).toBe("then");
    await outgoing.arrived({ kind: "file", to, path: copy, caption: "" });
    expect(existsSync(copy)).toBe(false);
    // What is not ours is not removed.
    await outgoing.arrived({ kind: "file", to, path, caption: "" });
    expect(existsSync(path)).toBe(true);
  });

  it("that could not be sent stays for thirty days", async () => {
    const folder = temporaryFolder();
    const outgoing = createOutgoing(join(folder, "outgoing"));
    await outgoing.forget(Date.now());
    writeFileSync(join(folder, "a"), "");
    const [old, fresh] = [await outgoing.copy(join(folder, "a")), await outgoing.copy(join(folder, "a"))];
    utimesSync(old, 1000, 1000);
    await outgoing.forget(Date.now() - 60_000);
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
  });
});
