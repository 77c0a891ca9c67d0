/** The examples of docs/webhook.md, run as they stand against the whole gateway. */
import { execFile, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { openGatewayApp } from "../support/gateway-app.js";
import { temporaryFolder } from "../support/workspace.js";

const text = readFileSync(new URL("../../docs/webhook.md", import.meta.url), "utf8");
const has = (name: string): boolean =>
  ["/usr/bin", "/usr/local/bin", "/bin"].some((folder) => existsSync(join(folder, name)));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.skipIf(!has("curl") || !has("openssl"))("docs/webhook.md", () => {
  it("has examples that work", async () => {
    const [inPort, outPort] = [await freePort(), await freePort()];
    const here = text.replaceAll("18791", String(inPort)).replaceAll("18792", String(outPort));
    const blocks = (language: string): string[] =>
      [...here.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block);
    const [config = "", told = ""] = blocks("json");
    const [receiver = "", sender = ""] = blocks("js");
    const [command = ""] = blocks("sh");
    const folder = temporaryFolder();

    writeFileSync(join(folder, "receiver.mjs"), receiver);
    const program = spawn(process.execPath, ["receiver.mjs"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void program.kill());
    let heard = "";
    program.stdout.on("data", (words: Buffer) => void (heard += words.toString()));

    const { channels } = JSON.parse(config) as { channels: { webhook: object } };
    const agents = { defaults: { model: "demo", provider: "demo" } };
    const { home, url } = await openGatewayApp({
      config: { agents, channels: { webhook: { ...channels.webhook, port: inPort } } },
    });
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);

    const run = promisify(execFile);
    expect((await run("bash", ["-euc", command])).stdout).toBe('{"status":"accepted"}');
    await expect.poll(() => heard, { timeout: 10_000 }).toBe("build: 6*7 = 42\n");
    // Said again, it is no second question.
    expect((await run("bash", ["-euc", command])).stdout).toBe('{"status":"accepted"}');
    writeFileSync(join(folder, "send.mjs"), sender);
    const { stdout } = await run(process.execPath, ["send.mjs"], { cwd: folder });
    expect(sender).toContain(`// ${stdout.trim()}`);
    await expect.poll(() => heard, { timeout: 10_000 }).toBe("build: 6*7 = 42\nbuild: 17*23 = 391\n");
    expect(Object.keys(JSON.parse(told) as object)).toEqual(["id", "chat", "text", "answers"]);
    expect(existsSync(join(home, "workspace", "sessions", "webhook_build.jsonl"))).toBe(true);
  });
});
