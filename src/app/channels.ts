/** Opens the channels that are switched on, each under its supervisor. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Channel, ChannelKind } from "../channels/channel.js";
import { channelKinds } from "../channels/index.js";
import { doubtsAbout } from "../config/doubts.js";
import type { Tree } from "../config/json-file.js";
import type { Settings } from "../config/load.js";
import { type Access, createAccess } from "../gateway/access.js";
import { type SupervisedChannel, superviseChannel } from "../gateway/supervisor.js";
import type { Inbound } from "../message.js";
import { UserError } from "../util/errors.js";
import type { World } from "../world.js";

export type ChannelsParts = {
  readonly settings: Settings;
  readonly world: World;
  /** Where a channel may remember something across restarts. */
  readonly stateFolder: string;
  readonly now: () => number;
  readonly accept: (message: Inbound) => Promise<void>;
  /** One of them hears its platform, after it did not. */
  readonly up: () => void;
  /** A channel cannot be saved by this process. */
  readonly giveUp: (reason: string) => void;
};

export type OpenChannels = {
  readonly supervised: ReadonlyMap<string, SupervisedChannel>;
  readonly access: Access;
};

/** Channels that nanobot has and we do not (yet): enabled ones are said out loud, not taken for a typo. */
const othersChannels = new Set(
  "whatsapp feishu mochat dingtalk email slack qq matrix wecom weixin websocket msteams signal napcat mattermost".split(
    " ",
  ),
);

export async function openChannels({ settings, world, ...parts }: ChannelsParts): Promise<OpenChannels> {
  const { log, sleep } = world;
  const supervised = new Map<string, SupervisedChannel>();
  const allowed = new Map<string, readonly string[]>();
  const access = createAccess(allowed);
  for (const [name, raw] of Object.entries(settings.channels)) {
    if (typeof raw !== "object" || raw === null || (raw as { enabled?: unknown }).enabled !== true) continue;
    const kind = findChannel(name);
    if (!kind) {
      log.warn(`channels.${name} is enabled, but nanogate has no such channel; it stays off.`);
      continue;
    }
    const { enabled: _, ...its } = raw as Tree;
    for (const doubt of doubtsAbout(kind.settings, its, ["channels", name])) log.warn(doubt);
    const { allow_from: older, allowFrom = older } = raw as { allowFrom?: unknown; allow_from?: unknown };
    allowed.set(name, Array.isArray(allowFrom) ? allowFrom.map(String) : []);
    const mediaFolder = join(settings.home, "media", name);
    await mkdir(mediaFolder, { recursive: true });
    const open = (): Promise<Channel> => kind.open(raw, { ...world, mediaFolder, stateFolder: parts.stateFolder });
    const link = { accept: parts.accept, mayEnter: access };
    const { now, up, giveUp } = parts;
    const supervision = { name, open, link, now, sleep, log, up, giveUp };
    supervised.set(name, superviseChannel(supervision, await open()));
    if (allowed.get(name)?.length === 0) {
      log.warn(`channels.${name}.allowFrom is empty: nobody may speak there. Add your own id, or "*" for everybody.`);
    }
  }
  return { supervised, access };
}

/** Undefined: nanobot has such a channel, and we do not. */
export function findChannel(name: string): ChannelKind | undefined {
  const kind = channelKinds.find((candidate) => candidate.name === name);
  if (kind || othersChannels.has(name)) return kind;
  throw new UserError(
    `channels.${name} is enabled, and nobody knows such a channel.`,
    `Use one of ${channelKinds.map((one) => one.name).join(", ")}, or remove it.`,
  );
}
