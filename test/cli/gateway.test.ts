/** `nanogate gateway` as its owner runs it: the real program, a fake Telegram, and the commands beside it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openFakeTelegram, refuse } from "../lab/fake-telegram.js";
import { buildProgram, openHome, runMain, runProgram, servedBy } from "../support/cli.js";
import { openFakeOpenAi, says } from "../support/fake-openai.js";
import { demo, openGateway } from "../support/gateway-process.js";
import { photo } from "../support/telegram-house.js";

beforeAll(buildProgram);

async function openTelegram() {
  const telegram = await openFakeTelegram({ token: "42:good" });
  onTestFinished(() => telegram.close());
  const settings = { telegram: { enabled: true, token: "42:good", allowFrom: ["77"], apiRoot: telegram.url } };
  return { telegram, settings };
}

/** What has to be in the environment so that this runs before the program. */
function before(home: string, script: string): NodeJS.ProcessEnv {
  const hook = join(home, "hook.cjs");
  writeFileSync(hook, script);
  return { NODE_OPTIONS: `--require ${hook}` };
}

describe("nanogate gateway", () => {
  it("without a channel says how to talk to it and how to connect one, is ready, and ends politely", async () => {
    const gateway = await openGateway({});
    expect([await gateway.get("/readyz"), await gateway.get("/healthz")]).toEqual([200, 200]);
    const { code, out } = await gateway.stop();
    expect(code).toBe(0);
    expect(out).toContain("nanogate chat");
    expect(out).toContain("nanogate init");
    expect(existsSync(join(gateway.home, "state", "gateway.json"))).toBe(false);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends politely by %s", async (signal) => {
    const gateway = await openGateway({});
    expect((await gateway.stop(signal)).code).toBe(0);
    expect(existsSync(join(gateway.home, "state", "gateway.json"))).toBe(false);
  });

  it("speaks in lines of JSON where nobody looks on; only what keeps it from starting is a sentence for its owner", async () => {
    const home = openHome({ gateway: { port: 0 } });
    const gateway = await openGateway({}, home);
    const second = await runProgram(["gateway"], { home });
    const { err } = await gateway.stop();
    const lines = err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringContaining("No key is configured"),
      "ready",
      "SIGTERM: finishing what is under way (again ends at once)",
    ]);
    expect(second.err).toMatch(/^nanogate: A gateway is already running .*\n {2}→ .*--home/);
  });

  it("says ready when it is, and not before", async () => {
    const { out } = await (await openGateway({})).stop();
    expect(out).toContain("/healthz");
    expect(out).not.toContain("ready");
  });

  it("that is told to stop before it has begun ends politely too", async () => {
    const home = openHome({ agents: demo, gateway: { port: 0 } });
    const seen = join(home, "begun.txt");
    // The signal comes in the very moment from which on it is listened for: before anything is opened.
    const env = before(
      home,
      `const { existsSync, writeFileSync } = require("node:fs");
      const { on } = process;
      process.on = (name, listener) => {
        on.call(process, name, listener);
        if (name !== "SIGTERM") return;
        writeFileSync(${JSON.stringify(seen)}, String(existsSync(${JSON.stringify(join(home, "state"))})));
        process.kill(process.pid, name);
      };`,
    );
    const { code, err } = await runProgram(["gateway"], { home, env });
    expect({ code, begun: readFileSync(seen, "utf8") }).toEqual({ code: 0, begun: "false" });
    expect(err).toContain("SIGTERM: finishing");
    expect(existsSync(join(home, "state", "gateway.json"))).toBe(false);
  });

  it("says in one line what it died of, when nobody caught it", async () => {
    const home = openHome({ agents: demo, gateway: { port: 0 } });
    const env = before(home, 'setTimeout(() => Promise.reject(new Error("the sky fell")), 1000);');
    const { code, err } = await runProgram(["gateway"], { home, env });
    const lines = err.trim().split("\n");
    expect({ code, last: JSON.parse(lines.at(-1) ?? "") as object }).toMatchObject({
      code: 1,
      last: { msg: expect.stringContaining("the sky fell") as string, err: { type: "Error" } },
    });
  });

  it("answers, and the commands beside it see what it does", async () => {
    const { telegram, settings } = await openTelegram();
    const gateway = await openGateway(settings);
    const { message_id: id } = telegram.say(77, "what is 17*23");
    await telegram.until(() => telegram.sent.length === 1);
    expect(telegram.sent[0]?.text).toContain("391");

    const status = await runMain(["status", "--home", gateway.home]);
    expect(status.code).toBe(0);
    expect(status.out).toContain(`ready, process ${gateway.pid}`);
    expect(status.out).toMatch(/telegram +up +\d+ s ago +0/);
    const json = JSON.parse((await runMain(["status", "--json", "--home", gateway.home])).out) as object;
    expect(json).toMatchObject({ ready: true, channels: [{ name: "telegram", state: "up" }], ledger: { dead: 0 } });

    await expect
      .poll(async () => (await runMain(["trace", String(id), "--home", gateway.home])).out)
      .toMatch(/received[\s\S]*turn finished[\s\S]*saved[\s\S]*sending[\s\S]*sent[\s\S]*finished/);
    expect((await runMain(["ledger", "--home", gateway.home])).out).toContain("Nothing is open");
    expect((await gateway.stop()).code).toBe(0);
  });

  it("killed while a picture is on its way answers its message once, with the picture", async () => {
    const { telegram, settings } = await openTelegram();
    const model = await openFakeOpenAi(says("A dot."));
    const home = openHome({ ...servedBy(model.url), channels: settings, gateway: { port: 0 } });
    const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
    telegram.file("p", png);
    telegram.fail("file", { kind: "hang" });
    const first = await openGateway(settings, home);
    telegram.say(77, "", { caption: "what is it?", photo: photo("p") });
    // It is stored, and Telegram has been told so, before a byte of the picture is here.
    await telegram.until(() => telegram.callsOf("file").length === 1 && telegram.pending().length === 0);
    const shown = await runMain(["ledger", "--home", home]);
    expect(shown.out).toContain("what is it? [image]");
    first.kill();
    await first.exited;

    const second = await openGateway(settings, home);
    await telegram.until(() => telegram.sent.length === 1);
    expect((await second.stop()).code).toBe(0);
    expect(telegram.sent.map(({ text }) => text)).toEqual(["A dot."]);
    expect(model.heard).toHaveLength(1);
    const asked = JSON.stringify(model.heard[0]?.body["messages"]);
    expect(asked).toContain(`what is it?\\n[image: ${join(home, "media", "telegram", "up.jpg")}]`);
    expect(asked).toContain(png.toString("base64"));
  });

  it("takes up what the owner puts back while it runs", async () => {
    const { telegram, settings } = await openTelegram();
    const gateway = await openGateway(settings);
    telegram.fail("sendMessage", refuse(403, "Forbidden: bot was blocked by the user"));
    const { message_id: id } = telegram.say(77, "what is 6*7");
    const ledger = async () => (await runMain(["ledger", "--home", gateway.home])).out;
    await expect.poll(ledger, { timeout: 10_000 }).toMatch(/failed +\d/);
    expect((await runMain(["ledger", "retry", String(id), "--home", gateway.home])).code).toBe(0);
    await expect.poll(() => telegram.sent.length, { timeout: 10_000 }).toBe(1);
    expect(telegram.sent[0]?.text).toContain("42");
    await expect.poll(ledger).toContain("Nothing is open");
    await gateway.stop();
  });

  it("runs once per home, and at once again after it was killed", async () => {
    const gateway = await openGateway({});
    const second = await runProgram(["gateway"], { home: gateway.home });
    expect(second.code).toBe(1);
    expect(second.err).toContain(`already running on ${gateway.home}: process ${gateway.pid}`);
    gateway.kill();
    await expect.poll(async () => (await runMain(["status", "--home", gateway.home])).code).toBe(4);
    const next = await openGateway({}, gateway.home);
    expect(next.pid).not.toBe(gateway.pid);
    expect((await runMain(["status", "--home", gateway.home])).code).toBe(0);
    await next.stop();
  });

  it("says so when its port is taken", async () => {
    const gateway = await openGateway({});
    const { port } = JSON.parse(readFileSync(join(gateway.home, "state", "gateway.json"), "utf8")) as { port: number };
    const { code, err } = await runProgram(["gateway"], { home: openHome({ agents: demo, gateway: { port } }) });
    expect(code).toBe(1);
    expect(err).toContain(`cannot listen on 127.0.0.1:${port}`);
    expect(err).toContain("gateway.port");
    await gateway.stop();
  });
});

describe("a gateway that cannot listen", () => {
  it("because there is no such address is told to look at gateway.host", async () => {
    // Kept for examples: no machine has it.
    const home = openHome({ agents: demo, gateway: { port: 0, host: "192.0.2.1" } });
    const { code, err } = await runProgram(["gateway"], { home });
    expect(err).toContain("this machine has no such address");
    expect(err).toContain("gateway.host");
    expect(err).not.toContain("gateway.port");
    expect(code).toBe(1);
  });
});

describe("nanogate status", () => {
  it("says that no gateway runs, with 4", async () => {
    const { code, err } = await runMain(["status", "--home", openHome()]);
    expect(code).toBe(4);
    expect(err).toContain("No gateway is running");
  });

  it("tells a gateway that does not answer from one that does not run", async () => {
    const home = openHome();
    const server = createServer(() => {});
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    mkdirSync(join(home, "state"));
    writeFileSync(join(home, "state", "gateway.json"), JSON.stringify({ pid: 123, host: "127.0.0.1", port }));
    const { code, err } = await runMain(["status", "--home", home]);
    expect(code).toBe(1);
    expect(err).toContain("process 123 and does not answer");
  });
});
