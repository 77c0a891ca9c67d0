/** `nanogate chat` while a gateway runs: it talks through that gateway, so that only one process writes. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openConversation } from "../../src/app/conversation.js";
import { loadSettings } from "../../src/config/load.js";
import { systemWorld } from "../../src/world.js";
import { buildProgram, openHome, runMain, runProgram, servedBy } from "../support/cli.js";
import { fails, openFakeOpenAi, says } from "../support/fake-openai.js";
import { demo, openGateway } from "../support/gateway-process.js";

beforeAll(buildProgram);
const patience = { timeout: 20_000 };

const entries = async (home: string): Promise<{ text: string; outcome: string }[]> =>
  JSON.parse((await runMain(["ledger", "--all", "--json", "--home", home])).out) as { text: string; outcome: string }[];

const rowsOf = (home: string, file = "cli_direct.jsonl"): number =>
  readFileSync(join(home, "workspace", "sessions", file), "utf8")
    .trimEnd()
    .split("\n").length - 1;

describe("a question while a gateway runs", () => {
  it("goes through the gateway: its ledger knows it, and it is stored when it returns", async () => {
    const gateway = await openGateway({});
    const { home } = gateway;
    expect(await runProgram(["chat", "-m", "what is 17*23"], { home })).toEqual({
      code: 0,
      out: "17*23 = 391\n",
      err: "",
    });
    expect(rowsOf(home)).toBe(2);
    expect(await entries(home)).toMatchObject([{ text: "what is 17*23", outcome: "answered" }]);
    expect((await gateway.stop()).code).toBe(0);
  });

  it("is answered as JSON, and a command is answered, too", async () => {
    const { home, stop } = await openGateway({});
    const { out } = await runProgram(["chat", "-m", "what is 6*7", "-s", "notes", "--json"], { home });
    expect(JSON.parse(out)).toMatchObject({ session: "notes", reply: "6*7 = 42", end: "answered" });
    expect(rowsOf(home, "notes.jsonl")).toBe(2);
    expect((await runProgram(["chat", "-m", "/help"], { home })).out).toContain("/new");
    await stop();
  });

  it("that is too long for it is told so, and how long it may be", async () => {
    const { home, stop } = await openGateway({});
    const { code, err } = await runProgram(["chat"], { home, input: "x".repeat(1_000_001) });
    expect(err).toBe(
      "nanogate: The gateway did not take it: The text is too long: it may have 1,000,000 characters.\n" +
        "  → Ask something else, or in another way.\n",
    );
    expect(code).toBe(1);
    await stop();
  });

  it("that fails says so, with 1 and the reason", async () => {
    const server = await openFakeOpenAi(...Array.from({ length: 4 }, () => fails(401, { message: "bad key" })));
    const home = openHome({ ...servedBy(server.url), gateway: { port: 0 } });
    const { stop } = await openGateway({}, home);
    const { code, out, err } = await runProgram(["chat", "-m", "hi"], { home });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/key/i);
    await stop();
  });

  it("is kept when the gateway dies, and answered when it runs again", async () => {
    const server = await openFakeOpenAi(() => {}, says("late, but here"));
    const home = openHome({ ...servedBy(server.url), gateway: { port: 0 } });
    const gateway = await openGateway({}, home);
    const asked = runProgram(["chat", "-m", "hi"], { home });
    await expect.poll(() => server.heard.length, patience).toBe(1);
    gateway.kill();
    const { code, err } = await asked;
    expect(code).toBe(1);
    expect(err).toContain("Your message is kept");
    const next = await openGateway({}, home);
    await expect.poll(async () => (await entries(home))[0]?.outcome, patience).toBe("answered");
    expect(rowsOf(home)).toBe(2);
    await next.stop();
  });

  it("stops with Ctrl-C, here and in the gateway", async () => {
    const server = await openFakeOpenAi(() => {});
    const home = openHome({ ...servedBy(server.url), gateway: { port: 0 } });
    const { stop } = await openGateway({}, home);
    let child: ChildProcess | undefined;
    const asked = runProgram(["chat", "-m", "hi"], { home, onStart: (started) => (child = started) });
    await expect.poll(() => server.heard.length, patience).toBe(1);
    child?.kill("SIGINT");
    expect(await asked).toMatchObject({ code: 1, err: expect.stringContaining("cancelled") });
    await expect
      .poll(async () => (await entries(home)).map(({ outcome }) => outcome).sort(), patience)
      .toEqual(["answered", "silent"]);
    await stop();
  });

  it("is answered with its own answer, whoever else asks at the same time", async () => {
    let release = (): void => {};
    const server = await openFakeOpenAi((response, heard) => {
      release = () => says("the first answer")(response, heard);
    }, says("the second answer"));
    const home = openHome({ ...servedBy(server.url), gateway: { port: 0 } });
    const { stop } = await openGateway({}, home);
    const first = runProgram(["chat", "-m", "one"], { home });
    await expect.poll(() => server.heard.length, patience).toBe(1);
    const second = runProgram(["chat", "-m", "two"], { home });
    await expect.poll(async () => (await entries(home)).length, patience).toBe(2);
    release();
    expect((await first).out).toBe("the first answer\n");
    expect((await second).out).toBe("the second answer\n");
    await stop();
  });

  it("does not wait for ever for a gateway that does not answer", async () => {
    const home = openHome({ agents: demo });
    const server = createServer(() => {});
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    mkdirSync(join(home, "state"));
    writeFileSync(join(home, "state", "gateway.json"), JSON.stringify({ pid: 123, host: "127.0.0.1", port }));
    const { code, err } = await runProgram(["chat", "-m", "hi"], { home });
    expect(code).toBe(1);
    expect(err).toContain("process 123) does not answer");
  });

  it("goes on with an agent of its own when the gateway has ended, and back when there is one", async () => {
    const home = openHome({ agents: demo, gateway: { port: 0 } });
    const settings = loadSettings(home, {});
    const parts = { settings, world: systemWorld(), session: "cli:direct", from: { channel: "cli", chat: "direct" } };
    const first = await openGateway({}, home);
    const conversation = await openConversation({ ...parts, heard: () => {} });
    onTestFinished(() => conversation.close());
    const ask = async (text: string): Promise<string | undefined> =>
      (await conversation.ask(text, { signal: new AbortController().signal })).reply;
    expect(await ask("what is 2*3")).toBe("2*3 = 6");
    await first.stop();
    expect(await ask("what is 3*3")).toBe("3*3 = 9");
    const second = await openGateway({}, home);
    expect(await ask("what is 4*3")).toBe("4*3 = 12");
    expect(rowsOf(home)).toBe(6);
    expect((await entries(home)).map(({ text }) => text).sort()).toEqual(["what is 2*3", "what is 4*3"]);
    await second.stop();
  });
});
