/** Thousands of messages wait before the start, in the inbox or at the platform: each is answered, once and in order. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { audit, type Said } from "../lab/audit.js";
import { configure, endDaemon, startDaemon } from "../lab/daemon.js";
import { startFakeDiscord } from "../lab/fake-discord.js";
import { openFakeModel } from "../lab/fake-model.js";
import { openFakeTelegram } from "../lab/fake-telegram.js";
import { buildProgram } from "../support/cli.js";
import { heapMegabytes } from "../support/heap.js";
import { openHouse } from "../support/house.js";
import { textOf } from "../support/scripted-model.js";
import { thorough } from "../support/thorough.js";
import { temporaryFolder } from "../support/workspace.js";

const waiting = thorough ? 10_000 : 200;
const chats = thorough ? 50 : 4;
const minute = 60_000;

describe(`${waiting} messages that wait before the start`, () => {
  it("in the inbox are all answered, in order, and leave nothing behind", { timeout: 10 * minute }, async () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    const ledger = await openSqliteLedger({ file: join(folder, "ledger.sqlite"), now: Date.now, reach: () => {} });
    const texts = Array.from({ length: waiting }, (_, number) => String(number));
    const chatOf = (text: string): string => `chat${Number(text) % chats}`;
    await Promise.all(
      texts.map((text) => {
        const from = { channel: "fake", chat: chatOf(text) };
        return ledger.inbox.accept({ id: text, from, sender: ["ann"], text, media: [] }, `fake:${from.chat}`);
      }),
    );
    await ledger.close();

    const house = await openHouse({
      folder,
      model: [async ({ messages }) => ({ text: `re ${textOf(messages.at(-1)).split("\n\n").at(-1)}` })],
    });
    const before = await heapMegabytes();
    await house.gateway.resume();
    expect(house.lanes.load()).toEqual({ lanes: chats, queued: waiting });
    // What waits is held in memory: a few kilobytes each, so that ten thousand fit into any machine.
    expect(((await heapMegabytes()) - before) * 1024).toBeLessThan(10 * waiting);
    await house.settle();
    for (let chat = 0; chat < chats; chat++) {
      const heard = house.heard.filter((line) => line.startsWith(`chat${chat}:`));
      const expected = texts.filter((text) => chatOf(text) === `chat${chat}`);
      expect(heard).toEqual(expected.map((text) => `chat${chat}: re ${text}`));
    }
    expect(house.lanes.load()).toEqual({ lanes: 0, queued: 0 });
    expect(await house.ledger.reports.summary()).toMatchObject({ open: 0, unsent: 0, outcomes: { answered: waiting } });
    await house.close();
  });
});

describe(`the program, started while ${waiting} messages wait at Telegram`, () => {
  beforeAll(buildProgram);

  it("answers each, once and in order, and refuses none", { timeout: 10 * minute }, async () => {
    const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openFakeModel()]);
    const fakes = { telegram, discord, model };
    const folder = temporaryFolder();
    const home = join(folder, "home");
    configure(home, fakes);
    const anHourAgo = Math.floor(Date.now() / 1000) - 3600;
    const said: Said[] = Array.from({ length: waiting }, (_, number) => ({
      number: String(number).padStart(5, "0"),
      channel: "telegram",
      chat: String(501 + (number % chats)),
    }));
    for (const { number, chat } of said) telegram.say(Number(chat), `say ${number}`, { date: anHourAgo });
    const daemon = startDaemon(home, join(folder, "daemon.log"));
    await telegram.until(() => telegram.sent.length >= waiting || daemon.exitCode !== null);
    expect(await endDaemon(daemon)).toBe(0);
    expect(await audit(home, said, fakes, 0)).toEqual([]);
    for (const chat of new Set(said.map((one) => one.chat))) {
      const heard = telegram.sent.filter((sent) => String(sent.chat) === chat).map(({ text }) => text);
      expect(heard).toEqual(said.filter((one) => one.chat === chat).map(({ number }) => `answer ${number}`));
    }
    await Promise.all([telegram.close(), discord.close()]);
    model.close();
  });
});
