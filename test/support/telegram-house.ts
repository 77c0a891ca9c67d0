/** A Telegram of our own with the real channel on it, in a world where waiting takes no time. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ChannelWorld, type Link, SendFailure, type Sending } from "../../src/channels/channel.js";
import { telegram } from "../../src/channels/telegram.js";
import type { Inbound } from "../../src/message.js";
import { systemWorld } from "../../src/world.js";
import type { Question } from "../../src/gateway/question.js";
import { type FakeTelegramOptions, openFakeTelegram } from "../lab/fake-telegram.js";
import { asked } from "./asked.js";

export const group = -100200;

type HouseOptions = {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly fake?: FakeTelegramOptions;
  readonly accept?: (message: Inbound) => Promise<void>;
  readonly mayEnter?: Link["mayEnter"];
  /** Instead of not waiting at all. */
  readonly sleep?: ChannelWorld["sleep"];
};

export async function openHouse(options: HouseOptions = {}) {
  const fake = await openFakeTelegram({ chats: [{ id: 1 }, { id: group }], ...options.fake });
  const folder = await mkdtemp(join(tmpdir(), "nanogate-telegram-"));
  const warnings: string[] = [];
  const slept: number[] = [];
  const accepted: Inbound[] = [];
  const watchers = new Set<() => void>();
  let signsOfLife = 0;
  const world: ChannelWorld = {
    ...systemWorld(),
    mediaFolder: folder,
    stateFolder: folder,
    log: { warn: (message) => void warnings.push(message) },
    sleep: async (ms, signal) => {
      slept.push(ms);
      signal.throwIfAborted();
      await options.sleep?.(ms, signal);
    },
  };
  const settings = { token: fake.token, apiRoot: fake.url, allowFrom: ["*"], ...options.settings };
  const channel = await telegram.open(settings, world);
  const link: Link = {
    accept: async (message) => {
      await options.accept?.(message);
      accepted.push(message);
      for (const look of watchers) look();
    },
    alive: () => void (signsOfLife += 1),
    mayEnter: options.mayEnter ?? (() => true),
  };
  const stop = new AbortController();
  const signal = new AbortController().signal;
  onTestFinished(async () => {
    stop.abort();
    await fake.close();
    await rm(folder, { recursive: true, force: true });
  });
  const to = (chat: string) => ({ channel: "telegram", chat });
  return {
    fake,
    channel,
    folder,
    warnings,
    slept,
    accepted,
    signsOfLife: () => signsOfLife,
    run: (until = stop) => channel.run(link, until.signal),
    stop: () => stop.abort(),
    texts: () => accepted.map(({ text }) => text),
    /** Resolves when so many messages have been accepted. */
    heard: (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => void (accepted.length >= count && resolve());
        watchers.add(look);
        look();
      }),
    say: (text: string, chat = "1", more: { mayRepeat?: boolean; answers?: string | undefined } = {}) =>
      channel.send({ kind: "text", to: to(chat), text, intent: "i1", mayRepeat: false, ...more } as Sending, signal),
    sendFile: (path: string, caption = "", more: Partial<Sending> = {}) =>
      channel.send(
        { kind: "file", to: to("1"), path, caption, intent: "i1", mayRepeat: false, ...more } as Sending,
        signal,
      ),
    typing: (chat: string) => channel.typing?.(to(chat), signal),
    edit: async (id: string, text: string, chat = "1") => channel.edit?.(to(chat), { id }, text, signal),
  };
}

export type House = Awaited<ReturnType<typeof openHouse>>;

/** Lets the channel run until everything that was said has been taken, and stops it. */
export async function hearAll(house: House): Promise<readonly Inbound[]> {
  const running = house.run();
  await house.fake.until(() => house.fake.isPolled() && house.fake.pending().length === 0);
  house.stop();
  await running;
  return house.accepted;
}

/** What is asked with everything that was said, files and all. */
export const askAll = async (house: House): Promise<readonly Question[]> =>
  Promise.all((await hearAll(house)).map((message) => asked(house.channel, message)));

export const failure = async (sending: Promise<unknown>): Promise<unknown> =>
  sending.then(
    () => "sent",
    (error: unknown) => error,
  );
/** What a failure means: when, and after how long. */
export const sorted = async (sending: Promise<unknown>) => {
  const error = await failure(sending);
  return error instanceof SendFailure ? [error.when, error.afterMs] : ["nobody knows"];
};

/** A picture as Telegram announces it, in two sizes. */
export const photo = (id: string) => [
  { file_id: `${id}-small`, file_unique_id: `u${id}-small`, width: 90, height: 90 },
  { file_id: id, file_unique_id: `u${id}`, width: 900, height: 900 },
];
