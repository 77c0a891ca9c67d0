import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { diagnose, type Finding } from "../../src/cli/doctor.js";
import { openFakeTelegram } from "../lab/fake-telegram.js";
import { openHome, runMain } from "../support/cli.js";
import { openFakeApi } from "../support/fake-api.js";
import { temporaryFolder } from "../support/workspace.js";

const states = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ name, state }) => [name, state]));
const world = { env: {}, fetch, now: () => Date.now() };
const channel = (name: string, settings: object) => ({
  agents: { defaults: { provider: "demo" } },
  channels: { [name]: { enabled: true, allowFrom: ["1"], ...settings } },
});

describe("nanogate doctor", () => {
  it("is content with a fresh machine, and says what could be better", async () => {
    const home = openHome({ agents: { defaults: { model: "demo" } }, gateway: { port: 0 } });
    const { code, out } = await runMain(["doctor", "--home", home]);
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +node +v/m);
    expect(out).toMatch(/^ok +workspace/m);
    expect(out).toMatch(/^ok +gateway +not running/m);
  });

  it("prints JSON, and ends with 1 if something is broken", async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, "config.json"), '{"gateway": {"port": "x"}}');
    const { code, out } = await runMain(["doctor", "--json", "--home", home]);
    expect(code).toBe(1);
    const report = JSON.parse(out) as { ok: boolean; checks: Finding[] };
    expect(report.ok).toBe(false);
    const bad = report.checks.find(({ state }) => state === "fail");
    expect(bad).toMatchObject({ name: "configuration" });
    expect(bad?.detail).toContain("gateway.port");
  });

  it("tries the key without spending tokens", async () => {
    const asked: string[] = [];
    const api = await openFakeApi((path, { method, headers }) => {
      asked.push(`${method} ${path}`);
      return headers.authorization === "Bearer good" ? { body: { data: [] } } : { status: 401, body: {} };
    });
    const home = (apiKey: string) =>
      openHome({
        agents: { defaults: { model: "m", provider: "openai" } },
        providers: { openai: { apiKey, apiBase: `${api}/v1` } },
      });
    expect(states(await diagnose(home("good"), world))["model"]).toBe("ok");
    expect(states(await diagnose(home("bad"), world))["model"]).toBe("fail");
    expect(asked).toEqual(["GET /v1/models", "GET /v1/models"]);
  });

  it("knows a server in trouble from a wrong key", async () => {
    const api = await openFakeApi(() => ({ status: 503, body: {} }));
    const home = openHome({
      agents: { defaults: { model: "m", provider: "openai" } },
      providers: { openai: { apiKey: "k", apiBase: `${api}/v1` } },
    });
    expect(states(await diagnose(home, world))["model"]).toBe("warn");
  });

  it("tries the tokens of channels, and sees when nobody may speak", async () => {
    const telegram = await openFakeTelegram({ token: "42:good" });
    onTestFinished(() => telegram.close());
    const apiRoot = telegram.url;
    expect(states(await diagnose(openHome(channel("telegram", { token: "42:good", apiRoot })), world))).toMatchObject({
      telegram: "ok",
    });
    expect(states(await diagnose(openHome(channel("telegram", { token: "42:bad", apiRoot })), world))).toMatchObject({
      telegram: "fail",
    });
    const closed = openHome(channel("telegram", { token: "42:good", apiRoot, allowFrom: [] }));
    const findings = await diagnose(closed, world);
    expect(findings.filter(({ name }) => name === "telegram").map(({ state }) => state)).toEqual(["warn", "ok"]);
  });

  it("sees a Discord bot that may not read messages", async () => {
    const api = await openFakeApi((path) => ({ body: path.endsWith("/users/@me") ? { username: "B" } : { flags: 0 } }));
    const findings = await diagnose(openHome(channel("discord", { token: "t", apiRoot: `${api}/api` })), world);
    expect(findings.find(({ name }) => name === "discord")).toMatchObject({ state: "fail" });
    expect(findings.find(({ name }) => name === "discord")?.detail).toContain("Message Content");
  });

  it.each([
    [
      "discord",
      { token: "t", groupPolicy: "foo" },
      "fail",
      'channels.discord.groupPolicy: must be "mention" or "open"',
    ],
    ["telegram", { token: "1:t", apiRoot: "nowhere" }, "fail", "channels.telegram.apiRoot is no address."],
    ["telegram", { token: "1:t", apiRoot: "ftp://x" }, "fail", "channels.telegram.apiRoot is no address."],
    ["discord", {}, "fail", "channels.discord.token: is missing: the bot token from the Discord developer portal"],
    [
      "webhook",
      {},
      "fail",
      "channels.webhook.secret: is missing: make one up, of 16 characters or more, for the program that sends here",
    ],
    ["telegrm", { token: "1:t" }, "fail", "channels.telegrm is enabled, and nobody knows such a channel."],
    ["whatsapp", {}, "warn", "nanogate has no such channel"],
  ])(
    "sees settings of %s that a gateway would not start with, or not use: %j",
    async (name, settings, state, detail) => {
      const findings = await diagnose(openHome(channel(name, settings)), world);
      expect(findings.find((finding) => finding.name === name)).toMatchObject({ state, detail });
    },
  );

  it("sees a clock that is wrong", async () => {
    const api = await openFakeApi(() => ({ body: { data: [] } }));
    const home = openHome({
      agents: { defaults: { model: "m", provider: "openai" } },
      providers: { openai: { apiKey: "k", apiBase: api } },
    });
    const at = async (now: number) => states(await diagnose(home, { ...world, now: () => now }))["clock"];
    expect(await at(Date.now())).toBe("ok");
    expect(await at(Date.now() + 3_600_000)).toBe("warn");
    expect(await at(0)).toBe("fail");
  });

  it.skipIf(process.getuid?.() === 0)("sees a workspace that cannot be written", async () => {
    const home = openHome();
    mkdirSync(join(home, "workspace"));
    chmodSync(join(home, "workspace"), 0o500);
    expect(states(await diagnose(home, world))["workspace"]).toBe("fail");
  });

  it("sees that somebody else has the gateway's port, and that there is no such host", async () => {
    const other = createServer();
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const find = async (gateway: object) =>
      (await diagnose(openHome({ gateway }), world)).find(({ name }) => name === "gateway");
    expect(await find({ port })).toMatchObject({
      state: "fail",
      detail: `The gateway cannot listen on 127.0.0.1:${port}: somebody else does.`,
      fix: expect.stringContaining("gateway.port"),
    });
    expect(await find({ port, host: "192.0.2.1" })).toMatchObject({
      state: "fail",
      fix: expect.stringContaining("gateway.host"),
    });
    expect(await find({ port: 0 })).toMatchObject({ state: "ok" });
  });

  it("sees a ledger that is damaged, and says nothing of one that is not there", async () => {
    const home = openHome();
    expect(states(await diagnose(home, world))).not.toHaveProperty("ledger");
    mkdirSync(join(home, "state"), { recursive: true });
    writeFileSync(join(home, "state", "ledger.sqlite"), "this is no database, and long enough to be looked at twice");
    expect(states(await diagnose(home, world))).toMatchObject({ ledger: "fail" });
  });

  it("sees a workspace that is no folder", async () => {
    const home = openHome();
    writeFileSync(join(home, "workspace"), "");
    expect(states(await diagnose(home, world))["workspace"]).toBe("fail");
  });
});
