/** The whole way in one process: from what people send on a platform to what the model sees, and back. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGatewayApp } from "../../src/app/gateway.js";
import { loadSettings } from "../../src/config/load.js";
import { systemWorld } from "../../src/world.js";
import { startFakeDiscord } from "../lab/fake-discord.js";
import { openFakeTelegram } from "../lab/fake-telegram.js";
import { openHome } from "../support/cli.js";
import { says } from "../support/fake-openai.js";
import { gate } from "../support/gate.js";
import { openGatewayApp } from "../support/gateway-app.js";
import { temporaryFolder } from "../support/workspace.js";

/** A model that says the pieces one by one, each when its gate is open. */
async function openModel(pieces: readonly (readonly [Promise<void>, string])[]) {
  const requests: { readonly messages: readonly { readonly content: unknown }[] }[] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      requests.push(JSON.parse(Buffer.concat(chunks).toString()) as (typeof requests)[number]);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta: object, finish: string | null): void =>
        void response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      for (const [open, content] of pieces) {
        await open;
        send({ content }, null);
      }
      send({}, "stop");
      response.end("data: [DONE]\n\n");
    };
    answer().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, apiBase: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

/** A platform with somebody who may speak, seen in the same way whichever it is. */
type Platform = {
  readonly channels: object;
  /** Says something to the bot, with a picture if there is one; the id of the message. */
  say(text: string, picture?: Buffer): string;
  /** The same person, in another chat. */
  sayElsewhere(text: string): void;
  /** The next picture is asked for and never comes. */
  hang(): void;
  /** How many pictures were asked for. */
  fetched(): number;
  /** What stands in the chat: the words, and the message they quote. */
  chat(): readonly { readonly text: string; readonly quotes: string | undefined }[];
  typed(): number;
  until(check: () => boolean): Promise<void>;
};

const platforms: Readonly<Record<string, (settings: object) => Promise<Platform>>> = {
  async telegram(settings) {
    const fake = await openFakeTelegram({ chats: [{ id: 77 }] });
    onTestFinished(() => fake.close());
    const telegram = { enabled: true, token: fake.token, apiRoot: fake.url, allowFrom: ["@ann"], ...settings };
    return {
      channels: { telegram },
      say(text, picture) {
        if (picture) fake.file("p", picture);
        const photo = [{ file_id: "p", file_unique_id: "up", width: 1, height: 1 }];
        const said = picture ? fake.say(77, "", { caption: text, photo }) : fake.say(77, text);
        return String(said["message_id"]);
      },
      sayElsewhere: (text) => void fake.say(78, text),
      hang: () => fake.fail("file", { kind: "hang" }),
      fetched: () => fake.callsOf("file").length,
      chat: () => fake.sent.map(({ text, quotes }) => ({ text, quotes: quotes?.toString() })),
      typed: () => fake.callsOf("sendChatAction").length,
      until: (check) => fake.until(check),
    };
  },
  async discord(settings) {
    const fake = await startFakeDiscord();
    onTestFinished(() => fake.close());
    const ann = fake.person("ann");
    const dm = fake.addPrivateChat(ann);
    const room = fake.addChannel(fake.addGuild());
    const discord = { enabled: true, token: fake.token, apiRoot: fake.apiRoot, allowFrom: [ann.id], ...settings };
    return {
      channels: { discord },
      say: (text, picture) => fake.say(dm, ann, text, picture && { files: [{ name: "dot.png", bytes: picture }] }),
      sayElsewhere: (text) => void fake.say(room, ann, `<@${fake.bot.id}> ${text}`, { mentions: [fake.bot] }),
      hang: () => fake.hangFile(),
      fetched: () => fake.fetched.length,
      chat: () => fake.posts.map(({ quotes }, at) => ({ text: fake.standing()[at] ?? "", quotes })),
      typed: () => fake.requestsTo("POST /channels/:id/typing").length,
      until: (check) => fake.until(check),
    };
  },
};

async function openGateway(apiBase: string, channels: object): Promise<void> {
  const home = openHome({
    agents: { defaults: { model: "any", provider: "custom" } },
    providers: { custom: { apiKey: "k", apiBase } },
    channels,
    gateway: { port: 0 },
  });
  const world = systemWorld({ warn: () => {} });
  const gateway = await createGatewayApp({ settings: loadSettings(home, {}), world });
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  await new Promise<void>((ready) => {
    running = gateway.run(stop.signal, { started: () => {}, ready });
  });
}

const open = Promise.resolve();
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.each(Object.keys(platforms))("on %s", (name) => {
  const openPlatform = (settings: object): Promise<Platform> => {
    const opener = platforms[name];
    if (!opener) throw new Error(name);
    return opener(settings);
  };

  it("a picture is seen by the model, and the answer quotes it", async () => {
    const model = await openModel([[open, "A dot."]]);
    const platform = await openPlatform({ replyToMessage: true });
    await openGateway(model.apiBase, platform.channels);
    const question = platform.say("what is it?", dot);
    await platform.until(() => platform.chat().length === 1);
    expect(platform.chat()).toEqual([{ text: "A dot.", quotes: question }]);
    const url = `data:image/png;base64,${dot.toString("base64")}`;
    expect(model.requests[0]?.messages.at(-1)?.content).toContainEqual({ type: "image_url", image_url: { url } });
  });

  it("a picture that does not come holds up nobody else, and its own chat no longer than until /stop", async () => {
    const model = await openModel([[open, "Here."]]);
    const platform = await openPlatform({});
    await openGateway(model.apiBase, platform.channels);
    const said = async (count: number): Promise<readonly string[]> => {
      await platform.until(() => platform.chat().length === count);
      return platform.chat().map(({ text }) => text);
    };
    platform.hang();
    platform.say("what is it?", dot);
    await platform.until(() => platform.fetched() === 1);
    platform.sayElsewhere("are you there?");
    expect(await said(1)).toEqual(["Here."]);
    platform.say("/status");
    expect((await said(2))[1]).toContain("Session: 0 messages");
    platform.say("/stop");
    expect((await said(3))[2]).toBe("⏹ Stopped 1 task(s).");
    platform.say("and now?");
    expect((await said(4))[3]).toBe("Here.");
    expect(model.requests).toHaveLength(2);
  });

  it("somebody who waits sees typing; then the answer grows in one message that quotes the question", async () => {
    const [more, rest] = [gate(), gate()];
    const model = await openModel([
      [more.wait, "The answer"],
      [rest.wait, " is **42**."],
    ]);
    const platform = await openPlatform({ streaming: true, streamEditInterval: 0.1, replyToMessage: true });
    await openGateway(model.apiBase, platform.channels);
    const question = platform.say("what is the answer?");
    await platform.until(() => platform.typed() > 0);
    expect(platform.chat()).toEqual([]);
    more.open();
    await platform.until(() => platform.chat().length === 1);
    expect(platform.chat()).toEqual([{ text: "The answer", quotes: question }]);
    rest.open();
    await platform.until(() => platform.chat()[0]?.text.includes("42") === true);
    expect(platform.chat()).toHaveLength(1);
  });
});

describe("the clock", () => {
  it("does not wait for ever for a channel that cannot be reached", async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, "workspace", "cron"), { recursive: true });
    const job = {
      id: "j1",
      name: "tick",
      enabled: true,
      schedule: { kind: "every", everyMs: 1000 },
      payload: { kind: "agent_turn", message: "tick", deliver: false },
      state: {},
      createdAtMs: Date.now(),
      updatedAtMs: Date.now(),
      deleteAfterRun: false,
    };
    writeFileSync(join(home, "workspace", "cron", "jobs.json"), JSON.stringify({ version: 1, jobs: [job] }));
    // Nobody listens at this port.
    const telegram = { enabled: true, token: "1:x", allowFrom: ["*"], apiRoot: "http://127.0.0.1:9" };
    const house = await openGatewayApp({ home, config: { channels: { telegram } }, answers: [says("tock")] });
    await expect.poll(() => house.model.heard.length, { timeout: 15_000 }).toBeGreaterThan(0);
    expect((await fetch(`${house.url}/readyz`)).status).toBe(503);
  });
});
