/** Puts the gateway together: channels, ledger, lanes and the agent. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hasSandbox } from "../agent/tools/sandbox.js";
import { createApp } from "../app.js";
import type { Channel } from "../channels/channel.js";
import { makeHome } from "../config/home.js";
import type { Settings } from "../config/load.js";
import { createDelivery } from "../gateway/delivery.js";
import { createGateway, type Gateway } from "../gateway/gateway.js";
import { createHealth } from "../gateway/health.js";
import { createLive } from "../gateway/live.js";
import { createLanes } from "../gateway/lanes.js";
import { openSqliteLedger } from "../gateway/ledger-sqlite.js";
import { createUpkeep } from "../gateway/upkeep.js";
import { createSplit } from "../gateway/work.js";
import { createAuth } from "../http/auth.js";
import { listen } from "../http/server.js";
import { keyOf, type Outbound } from "../message.js";
import { UserError } from "../util/errors.js";
import { takePlace } from "../util/single-process.js";
import { findPackage } from "../util/package-root.js";
import type { World } from "../world.js";
import { openChannels } from "./channels.js";
import { createCron } from "./cron.js";
import { createHttpDoor } from "./http-door.js";
import { openHttpKeys } from "./http-keys.js";
import { openJobs } from "./jobs.js";
import { cannotListen } from "./listening.js";
import { createLocalChannel, localDoors } from "./local-channel.js";
import { createOutgoing } from "./outgoing.js";
import { announce } from "./running.js";

export type GatewayAppOptions = {
  readonly settings: Settings;
  readonly world: World;
  /** Told at every point where a crash would be interesting; does nothing unless the lab listens. */
  readonly reach?: (point: string) => void;
};

export type Milestones = {
  /** It listens; channels are being connected. */
  readonly started: (port: number) => void;
  /** Every channel hears its platform. */
  readonly ready: () => void;
};

/** So long the clock waits for the channels to connect, and no longer: jobs do not depend on them. */
const channelsFirstMs = 2000;

export async function createGatewayApp({ settings, world, reach = () => {} }: GatewayAppOptions) {
  const state = join(settings.home, "state");
  const { log, sleep } = world;
  const now = (): number => Date.now();
  const startedAt = world.clock().slice(0, 19);
  makeHome(settings.home);
  const place = await takePlace(join(state, "gateway.lock"), `process ${process.pid}, started ${startedAt}`);
  if ("heldBy" in place) {
    throw new UserError(
      `A gateway is already running on ${settings.home}: ${place.heldBy}.`,
      "Stop it first, or use another home with --home.",
    );
  }
  const ledger = await openSqliteLedger({ file: join(state, "ledger.sqlite"), now, reach });
  for (const doubt of settings.doubts) log.warn(doubt);
  const outgoing = createOutgoing(join(state, "outgoing"));
  const { version } = findPackage();
  // The parts of the gateway and of the agent know each other by these two words only.
  let gateway: Gateway | undefined;
  const say = async (messages: readonly Outbound[]): Promise<void> => gateway?.say(messages);
  const jobs = openJobs(settings, log, (problem) => void cron.tellOwner(problem));

  const opening = createApp({
    settings,
    world,
    jobs: {
      ...jobs,
      async add(job) {
        const added = await jobs.add(job);
        cron.wake();
        return added;
      },
    },
    handles: ledger.handles,
    async send({ to, text, media }, from) {
      const channel = channels.get(to.channel);
      if (!channel) throw new Error(`there is no channel ${to.channel}`);
      const known = keyOf(to) === keyOf(from) || (await ledger.inbox.knows(to));
      if (!known) throw new Error(`nobody has ever written to me from ${keyOf(to)}; I do not write first`);
      const files = await Promise.all(media.map(outgoing.copy));
      await say([
        ...(text === "" ? [] : await split(to, text)),
        ...files.map((path) => ({ kind: "file", to, path, caption: "" }) as const),
      ]);
    },
    async report({ session, from }, text) {
      await gateway?.acceptOwn({ id: `own-${randomUUID()}`, from, session, sender: ["nanogate"], text, media: [] });
    },
  });

  let fatal = (_reason: string): void => {};
  let channelIsUp = (): void => {};
  // Neither needs the other: while one waits for the disk, the other loads its code.
  const connectors = openChannels({
    settings,
    world,
    stateFolder: state,
    now,
    accept: async (message) => gateway?.accept(message),
    up: () => channelIsUp(),
    giveUp: (reason) => fatal(reason),
  });
  const [app, { supervised, access }] = await Promise.all([opening, connectors]);
  const warnOfOpenTools = async (): Promise<void> => {
    const { exec } = settings.tools;
    if (supervised.size === 0 || !exec.enable || exec.sandbox !== "" || (await hasSandbox())) return;
    log.warn(
      "Commands run without a sandbox: whoever may speak here can have them read what this user can read. " +
        "Install bubblewrap, or switch commands off with tools.exec.enable: false.",
    );
  };
  const live = createLive();
  const channels = new Map<string, Channel>([
    ...localDoors.map((name) => [name, createLocalChannel((message) => live.said(message))] as const),
    ...[...supervised].map(([name, { channel }]) => [name, channel] as const),
  ]);
  const split = createSplit(channels);
  const lanes = createLanes({ limit: settings.gateway.maxConcurrentTurns });
  const unwritten = new Map<string, string>();
  const delivery = createDelivery({
    unwritten,
    outbox: ledger.outbox,
    channels,
    now,
    sleep,
    log,
    reach,
    arrived: outgoing.arrived,
  });
  gateway = createGateway({
    unwritten,
    ledger,
    channels,
    access,
    lanes,
    delivery,
    agent: app,
    settings: {
      maxQueue: settings.gateway.maxQueue,
      sendProgress: settings.channels["sendProgress"] !== false,
      sendToolHints: settings.channels["sendToolHints"] === true,
    },
    live,
    now,
    sleep,
    log,
    reach,
  });
  const upkeep = createUpkeep({ ledger, gateway, now, sleep, log, forgetFiles: outgoing.forget });
  const health = createHealth({
    ledger,
    lanes,
    channels: () => [...supervised.values()].map((one) => one.status()),
    version,
    model: app.modelName,
    unwritten,
  });
  const running = gateway;
  const cron = createCron({
    settings,
    world,
    ledger,
    gateway,
    live,
    jobs,
    app,
    channels: [...supervised.keys()],
    say: async (to, text) => running.say(await split(to, text)),
    now,
    reach,
  });
  const keys = await openHttpKeys(settings);
  const auth = createAuth({ tokens: keys.tokens, now });
  const door = createHttpDoor({
    auth,
    settings,
    app,
    gateway,
    ledger,
    live,
    delivery,
    health,
    clock: { jobs, zone: cron.zone },
    now,
    log,
  });

  return {
    notice: app.notice,
    modelName: app.modelName,
    channels: [...supervised.keys()],
    status: health.status,
    /** Where the token lies that other machines need. */
    tokenFile: keys.file,
    /** Runs until the signal aborts, then finishes or journals what is under way. Throws if a channel cannot be saved. */
    async run(signal: AbortSignal, { started, ready }: Milestones): Promise<void> {
      const intake = new AbortController();
      const failed = new Promise<never>((_, reject) => {
        fatal = (reason) => reject(new UserError(reason, "The supervisor of this process should start it again."));
      });
      const guard = settings.gateway;
      const server = await listen(settings.gateway, { health, guard, auth, openDoor: door.open, log }).catch(
        (error: unknown) => {
          throw cannotListen(error, settings.gateway);
        },
      );
      const { port } = server;
      await running.resume();
      const allUp = new Promise<void>((resolve) => {
        channelIsUp = () => health.isReady() && resolve();
        channelIsUp();
      });
      const connecting = [...supervised.values()].map((one) => one.run(intake.signal));
      const announced = announce(settings.home, {
        pid: process.pid,
        host: settings.gateway.host,
        port,
        startedAt,
        ...(keys.ownKey !== undefined && { key: keys.ownKey }),
      });
      const reportReady = async (): Promise<void> => {
        await announced;
        started(port);
        await allUp;
        ready();
      };
      const connected = Promise.race([reportReady(), sleep(channelsFirstMs, intake.signal)]).catch(() => {});
      const afterChannels = async (): Promise<void> => {
        await connected;
        if (intake.signal.aborted) return;
        void warnOfOpenTools();
        await cron.run(intake.signal);
      };
      const all = [...connecting, upkeep.run(intake.signal), afterChannels()];
      try {
        const ended = new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        });
        await Promise.race([announced.then(() => ended), failed]);
      } finally {
        intake.abort();
        await Promise.allSettled(all);
        await running.shutdown(settings.gateway.graceSeconds * 1000);
        await app.close(1000);
        jobs.close();
        health.close();
        await server.close();
        await door.close();
        await ledger.close();
        await announced.then((withdraw) => withdraw()).catch(() => {});
        place.release();
      }
    },
  };
}
