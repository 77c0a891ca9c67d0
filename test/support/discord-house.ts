/** A Discord of our own with somebody in it, and the real channel connected to it. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Channel } from "../../src/channels/channel.js";
import { discord } from "../../src/channels/discord.js";
import { systemWorld } from "../../src/world.js";
import { memoryLink } from "../channels/channel.contract.js";
import { startFakeDiscord, type FakeDiscordOptions } from "../lab/fake-discord.js";
import { temporaryFolder } from "./workspace.js";

/** Discord, a guild with one channel, a private chat, and Ann. */
export async function openDiscord(settings: object = {}, options: FakeDiscordOptions = {}) {
  const fake = await startFakeDiscord(options);
  const folder = temporaryFolder();
  const warnings: string[] = [];
  const world = {
    ...systemWorld({ warn: (message) => void warnings.push(message) }),
    // Pauses are for the patient.
    sleep: (ms: number, signal: AbortSignal) => systemWorld().sleep(Math.min(ms, 20), signal),
    mediaFolder: join(folder, "media"),
    stateFolder: join(folder, "state"),
  };
  const open = (changes: object = {}): Promise<Channel> =>
    discord.open({ token: fake.token, apiRoot: fake.apiRoot, ...settings, ...changes }, world);
  const guild = fake.addGuild();
  const ann = fake.person("ann");
  return {
    fake,
    folder,
    world,
    warnings,
    open,
    channel: await open(),
    guild,
    room: fake.addChannel(guild),
    dm: fake.addPrivateChat(ann),
    ann,
  };
}

export type Discord = Awaited<ReturnType<typeof openDiscord>>;

/** The channel, running and connected, until the test is over or it is stopped. */
export async function startChannel({ channel }: Discord, memory = memoryLink()) {
  const stop = new AbortController();
  let ended: unknown = "still running";
  const run = channel.run(memory.link, stop.signal).then(
    () => (ended = "ended"),
    (error: unknown) => (ended = error),
  );
  const end = async (): Promise<unknown> => {
    stop.abort();
    await run;
    return ended;
  };
  onTestFinished(async () => void (await end()));
  const lives = memory.lives();
  await Promise.race([run, memory.until(() => memory.lives() > lives)]);
  return { ...memory, end, ended: async () => (await run, ended) };
}

export async function openRunning(settings: object = {}, options: FakeDiscordOptions = {}) {
  const house = await openDiscord(settings, options);
  onTestFinished(() => house.fake.close());
  const running = await startChannel(house);
  return { ...house, running };
}
