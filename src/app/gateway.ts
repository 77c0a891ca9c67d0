/** Puts the gateway together: channels, ledger, lanes and the agent. */
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { hasSandbox } from "../agent/tools/sandbox.js";
import { createApp } from "../app.js";
import { channelKinds } from "../channels/index.js";
import type { Channel } from "../channels/channel.js";
import type { Settings } from "../config/load.js";
import { createAccess } from "../gateway/access.js";
import { createDelivery } from "../gateway/delivery.js";
import { createGateway, type Gateway } from "../gateway/gateway.js";
import { createHealth } from "../gateway/health.js";
import { createLanes } from "../gateway/lanes.js";
import { openSqliteLedger } from "../gateway/ledger-sqlite.js";
import { type SupervisedChannel, superviseChannel } from "../gateway/supervisor.js";
import { createUpkeep } from "../gateway/upkeep.js";
import { type Inbound, keyOf, type Outbound } from "../message.js";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { takePlace } from "../util/single-process.js";
import { findPackage } from "../util/package-root.js";
import type { World } from "../world.js";
import { createOutgoing } from "./outgoing.js";
import { announce } from "./running.js";

export type GatewayAppOptions = {
  readonly settings: Settings;
  readonly world: World;
  /** Told at every point where a crash would be interesting; does nothing unless the lab listens. */
  readonly reach?: (point: string) => void;
};

/** Channels that nanobot has and we do not (yet): enabled ones are said out loud, not taken for a typo. */
const othersChannels = new Set(
  "whatsapp feishu mochat dingtalk email slack qq matrix wecom weixin websocket msteams signal napcat mattermost".split(
    " ",
  ),
);

export type Milestones = {
  /** It listens; channels are being connected. */
  readonly started: (port: number) => void;
  /** Every channel hears its platform. */
  readonly ready: () => void;
};

const readyLookMs = 20;

export async function createGatewayApp({ settings, world, reach = () => {} }: GatewayAppOptions) {
  const state = join(settings.home, "state");
  const { log, sleep } = world;
  const now = (): number => Date.now();
  const startedAt = world.clock().slice(0, 19);
  const place = await takePlace(join(state, "gateway.lock"), `process ${process.pid}, started ${startedAt}`);
  if ("heldBy" in place) {
    throw new UserError(
      `A gateway is already running on ${settings.home}: ${place.heldBy}.`,
      "Stop it first, or use another home with --home.",
    );
  }
  const ledger = await openSqliteLedger({ file: join(state, "ledger.sqlite"), now, reach });
  const outgoing = createOutgoing(join(state, "outgoing"));
  const { version } = findPackage();
  // The parts of the gateway and of the agent know each other by these two words only.
  let gateway: Gateway | undefined;
  const say = async (messages: readonly Outbound[]): Promise<void> => gateway?.say(messages);

  const app = await createApp({
    settings,
    world,
    async send({ to, text, media }, from) {
      if (!supervised.has(to.channel)) throw new Error(`there is no channel ${to.channel}`);
      const known = keyOf(to) === keyOf(from) || (await ledger.inbox.knows(to));
      if (!known) throw new Error(`nobody has ever written to me from ${keyOf(to)}; I do not write first`);
      const files = await Promise.all(media.map(outgoing.copy));
      const channel = supervised.get(to.channel)?.channel;
      await say([
        ...(text === ""
          ? []
          : (channel?.split(text) ?? [text]).map((part) => ({ kind: "text", to, text: part }) as const)),
        ...files.map((path) => ({ kind: "file", to, path, caption: "" }) as const),
      ]);
    },
    async report({ from }, text) {
      await gateway?.acceptOwn({ id: `own-${randomUUID()}`, from, sender: ["nanogate"], text, media: [] });
    },
  });

  const supervised = new Map<string, SupervisedChannel>();
  const allowed = new Map<string, readonly string[]>();
  const accessFor = createAccess(allowed);
  let fatal = (_reason: string): void => {};
  for (const [name, raw] of Object.entries(settings.channels)) {
    if (typeof raw !== "object" || raw === null || (raw as { enabled?: unknown }).enabled !== true) continue;
    const kind = channelKinds.find((candidate) => candidate.name === name);
    if (!kind) {
      if (!othersChannels.has(name)) throw unknownChannel(name);
      log.warn(`channels.${name} is enabled, but nanogate has no such channel; it stays off.`);
      continue;
    }
    const list =
      (raw as { allowFrom?: unknown; allow_from?: unknown }).allowFrom ?? (raw as { allow_from?: unknown }).allow_from;
    allowed.set(name, Array.isArray(list) ? list.map(String) : []);
    if (allowed.get(name)?.length === 0) {
      log.warn(`channels.${name}.allowFrom is empty: nobody may speak there. Add your own id, or "*" for everybody.`);
    }
    const mediaFolder = join(settings.home, "media", name);
    await mkdir(mediaFolder, { recursive: true });
    const open = (): Promise<Channel> => kind.open(raw, { ...world, mediaFolder, stateFolder: state });
    const link = {
      accept: async (message: Inbound) => gateway?.accept(message),
      mayEnter: accessFor,
    };
    supervised.set(
      name,
      superviseChannel({ name, open, link, now, sleep, log, giveUp: (reason) => fatal(reason) }, await open()),
    );
  }
  const { exec } = settings.tools;
  if (supervised.size > 0 && exec.enable && exec.sandbox === "" && !(await hasSandbox())) {
    log.warn(
      "Commands run without a sandbox: whoever may speak here can have them read what this user can read. " +
        "Install bubblewrap, or switch commands off with tools.exec.enable: false.",
    );
  }
  const channels = new Map([...supervised].map(([name, { channel }]) => [name, channel] as const));
  const lanes = createLanes({ limit: settings.gateway.maxConcurrentTurns });
  const delivery = createDelivery({
    outbox: ledger.outbox,
    channels,
    now,
    sleep,
    log,
    reach,
    arrived: outgoing.arrived,
  });
  gateway = createGateway({
    ledger,
    channels,
    access: accessFor,
    lanes,
    delivery,
    agent: app,
    settings: {
      maxQueue: settings.gateway.maxQueue,
      sendProgress: settings.channels["sendProgress"] !== false,
      sendToolHints: settings.channels["sendToolHints"] === true,
    },
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
  });
  const running = gateway;

  return {
    notice: app.notice,
    modelName: app.modelName,
    channels: [...supervised.keys()],
    /** Accepts a message as if a channel had brought it. */
    accept: (message: Inbound): Promise<void> => running.acceptOwn(message),
    status: health.status,
    /** Runs until the signal aborts, then finishes or journals what is under way. Throws if a channel cannot be saved. */
    async run(signal: AbortSignal, { started, ready }: Milestones): Promise<void> {
      const intake = new AbortController();
      const failed = new Promise<never>((_, reject) => {
        fatal = (reason) => reject(new UserError(reason, "The supervisor of this process should start it again."));
      });
      const { host } = settings.gateway;
      const { server, port } = await health.listen(host, settings.gateway.port).catch((error: unknown) => {
        throw cannotListen(error, settings.gateway);
      });
      await running.resume();
      const withdraw = await announce(settings.home, {
        pid: process.pid,
        host: settings.gateway.host,
        port,
        startedAt,
      });
      const all = [...supervised.values(), upkeep].map((one) => one.run(intake.signal));
      started(port);
      const reportReady = async (): Promise<void> => {
        while (!health.isReady()) await sleep(readyLookMs, intake.signal);
        ready();
      };
      void reportReady().catch(() => {});
      try {
        const ended = new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        });
        await Promise.race([ended, failed]);
      } finally {
        intake.abort();
        await Promise.allSettled(all);
        await running.shutdown(settings.gateway.graceSeconds * 1000);
        await app.close(1000);
        health.close();
        server.close();
        await ledger.close();
        await withdraw();
        place.release();
      }
    },
  };
}

const unknownChannel = (name: string): UserError =>
  new UserError(
    `channels.${name} is enabled, and nobody knows such a channel.`,
    `Use one of ${channelKinds.map((kind) => kind.name).join(", ")}, or remove it.`,
  );

const cannotListen = (cause: unknown, { host, port }: Settings["gateway"]): UserError =>
  new UserError(
    `The gateway cannot listen on ${host}:${port}: ${errorCode(cause) === "EADDRINUSE" ? "somebody else does" : reasonOf(cause)}.`,
    "Set gateway.port to another number, or to 0 for any that is free.",
    { cause },
  );
