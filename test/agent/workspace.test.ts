/** The fence around a workspace: what belongs to nanogate itself is out of reach of every tool. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readFileTool } from "../../src/agent/tools/read-file.js";
import { writeFileTool } from "../../src/agent/tools/write-file.js";
import { prepareWorkspace, workspaceFence } from "../../src/agent/workspace.js";
import { call } from "./tools/bench-of-tools.js";

describe("the fence", () => {
  it.each(["cron/jobs.json", "cron/action.jsonl", "sessions/cli_direct.jsonl"])(
    "keeps tools from %s, in which they could plan what nobody has asked for",
    async (file) => {
      const home = mkdtempSync(join(tmpdir(), "nanogate-fence-"));
      onTestFinished(() => rmSync(home, { recursive: true }));
      const places = { home, workspace: join(home, "workspace") };
      await prepareWorkspace(places, join(import.meta.dirname, "../../workspace"));
      const fence = workspaceFence(places);
      expect(await call(writeFileTool(fence), { path: file, content: "{}" })).toContain("out of reach");
      expect(await call(readFileTool(fence), { path: file })).toContain("out of reach");
    },
  );
});
