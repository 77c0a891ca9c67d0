/** What a home is set up with already, as far as `nanogate init` asks for it. */
import { isTree } from "../config/json-file.js";
import type { Settings } from "../config/load.js";
import { camel, chooseProvider, providerOf, type ProviderSettings, snake } from "../providers/registry.js";

export type Present = {
  /** Whose model answers, and which: what is named in the settings, or follows from them. */
  readonly provider?: string;
  readonly model?: string;
  /** What is set for a provider, and whether it has a key, there or in the environment. */
  readonly of: (provider: string) => { readonly settings: ProviderSettings; readonly hasKey: boolean };
  /** Channels that have a token. */
  readonly connected: ReadonlySet<string>;
};

export function presentIn({ agents, providers, channels }: Settings, env: NodeJS.ProcessEnv): Present {
  const { model, provider } = agents.defaults;
  const chosen = provider === "demo" ? undefined : chooseProvider(model, providers, provider, env);
  const named = provider === "auto" ? undefined : snake(provider);
  const name = named ?? (chosen?.kind === "chosen" ? chosen.spec.name : providerOf(model)?.name);
  return {
    ...(name !== undefined && { provider: name }),
    ...(model !== "" && { model }),
    of(wanted) {
      const settings = providers[camel(snake(wanted))] ?? providers[snake(wanted)] ?? {};
      const choice = chooseProvider("", providers, wanted, env);
      return { settings, hasKey: choice.kind === "chosen" && choice.apiKey !== undefined };
    },
    connected: new Set(
      Object.entries(channels).flatMap(([channel, its]) => (isTree(its) && its["token"] ? [channel] : [])),
    ),
  };
}
