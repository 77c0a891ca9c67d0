/** The channels there are. A new one is its file and its line here. */
import type { ChannelKind } from "./channel.js";
import { telegram } from "./telegram.js";

export const channelKinds: readonly ChannelKind[] = [
  telegram, //
];
