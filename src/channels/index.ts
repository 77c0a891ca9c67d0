/** The channels there are, in the order in which `nanogate init` asks. A new one is its file and its line here. */
import type { ChannelKind } from "./channel.js";
import { discord } from "./discord.js";
import { telegram } from "./telegram.js";
import { webhook } from "./webhook.js";

export const channelKinds: readonly ChannelKind[] = [
  telegram, //
  discord,
  webhook,
];
