/** The model that the owner's settings ask for. */
import type { Settings } from "../config/load.js";
import { type ModelWorld, openModel, type OpenedModel } from "../providers/index.js";

export function openConfiguredModel({ agents, providers }: Settings, world: ModelWorld): Promise<OpenedModel> {
  const { model, provider, maxTokens, temperature, reasoningEffort, contextWindowTokens } = agents.defaults;
  return openModel(
    {
      model: model || undefined,
      provider,
      providers,
      maxTokens,
      temperature,
      reasoningEffort: reasoningEffort || undefined,
      contextTokens: contextWindowTokens,
    },
    world,
  );
}
