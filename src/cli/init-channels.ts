/** The channels that `nanogate init` can connect by asking, and the flags that answer instead. */
import type { Command } from "commander";
import type { ChannelKind, ChannelSetup } from "../channels/channel.js";
import { channelKinds } from "../channels/index.js";

export type Connectable = { readonly name: string; readonly setup: ChannelSetup };

export const connectable: readonly Connectable[] = channelKinds.filter(
  (kind): kind is ChannelKind & Connectable => kind.setup !== undefined,
);

export function addChannelFlags(command: Command): void {
  for (const { name, setup } of connectable) {
    command
      .option(`--${name}-token <token>`, setup.token)
      .option(`--${name}-allow <people>`, `who may speak there, separated by commas: ${setup.people}`)
      .option(`--${name}-api-root <url>`, setup.server);
  }
}
