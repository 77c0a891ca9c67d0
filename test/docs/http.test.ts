/** The examples of docs/http.md, run as they stand against the whole gateway. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openGatewayApp } from "../support/gateway-app.js";
import { temporaryFolder } from "../support/workspace.js";

const text = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
const hasCurl = ["/usr/bin/curl", "/usr/local/bin/curl", "/bin/curl"].some((path) => existsSync(path));

describe.skipIf(!hasCurl)("docs/http.md", () => {
  it("has examples that work", async () => {
    expect(blocks.length).toBeGreaterThan(4);
    const config = { agents: { defaults: { model: "demo", provider: "demo" } } };
    const { url } = await openGatewayApp({ config });
    const folder = temporaryFolder();
    const said: string[] = [];
    for (const block of blocks) {
      const script = block.replaceAll("http://127.0.0.1:18790", url).replaceAll("curl ", "curl --fail-with-body ");
      const { stdout } = await promisify(execFile)("bash", ["-euc", script], { cwd: folder });
      said.push(stdout);
    }
    const [, shown = ""] = /^```json\n(.*?)^```$/ms.exec(text) ?? [];
    expect(JSON.parse(said[0] ?? "")).toEqual(JSON.parse(shown));
    expect(said[1]).toContain('"type":"tool_call"');
    expect(said[2]).toContain("[DONE]");
    expect(said[3]).toMatch(/"kind":"finished"[^]*"platformId":"question-0001"/);
    expect(existsSync(`${folder}/web_1.jsonl`)).toBe(true);
  });
});
