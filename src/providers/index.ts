/** Opens the model that the owner's settings ask for, or the best there is without any. */
import { UserError } from "../util/errors.js";
import { askingAgain } from "../util/http-fetch.js";
import type { Clock, Log } from "../world.js";
import { createDemo } from "./demo.js";
import { findLocalModel, type LocalWorld } from "./local.js";
import { createOpenAi } from "./openai.js";
import type { Model } from "./provider.js";
import type { ProviderSpec } from "./provider-table.js";
import {
  camel,
  type Choice,
  chooseProvider,
  type Environment,
  providerOf,
  type ProviderSettings,
  snake,
} from "./registry.js";
import { withRetry } from "./retry.js";

export type ModelSettings = {
  /** `agents.defaults.model`; absent if nobody has said. */
  readonly model?: string | undefined;
  /** `agents.defaults.provider`: a name, or `auto`. */
  readonly provider?: string | undefined;
  readonly providers?: Readonly<Record<string, ProviderSettings>> | undefined;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly reasoningEffort?: string | null | undefined;
  readonly contextTokens?: number | undefined;
};

export type ModelWorld = LocalWorld & {
  readonly env: Environment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
  readonly log?: Log;
};

export type OpenedModel = {
  readonly model: Model;
  /** What the owner should know about this choice. */
  readonly notice?: string;
};

/** What `nanobot onboard` writes for everyone; without a key it says nothing about what the owner wants. */
const nanobotDefault = "anthropic/claude-opus-4-5";

const defaultContextTokens = 65_536;

export async function openModel(settings: ModelSettings, world: ModelWorld): Promise<OpenedModel> {
  const { model = "", provider = "auto", providers = {} } = settings;
  if (provider === "demo" || /^demo(?:\/|$)/.test(model)) return { model: createDemo(world.clock) };
  const choice = chooseProvider(model || nanobotDefault, providers, provider, world.env);
  if (choice.kind === "chosen") return openChosen(choice, settings, world);
  if (choice.why === "unknown-provider") throw unknownProvider(provider);
  if (model !== "" && model !== nanobotDefault) throw missing(providerOf(model), `The model ${model}`);
  return openWithoutKey(settings, world);
}

type Chosen = Extract<Choice, { kind: "chosen" }>;

function openChosen(choice: Chosen, settings: ModelSettings, world: ModelWorld): OpenedModel {
  const { spec, apiKey, headers, baseUrl } = choice;
  if (spec.kind === "oauth") {
    throw new UserError(
      `The provider ${spec.name} needs a browser sign-in, which nanogate does not offer.`,
      "Choose a provider with a key: set agents.defaults.model and agents.defaults.provider.",
    );
  }
  if (apiKey === undefined && (spec.kind === "vendor" || spec.kind === "gateway"))
    throw missing(spec, `The provider ${spec.name}`);
  if (baseUrl === undefined) throw missing(spec, `The provider ${spec.name}`);
  const model = modelFor(choice, settings);
  if (model === undefined) {
    throw new UserError(`Which model of ${spec.name} to use is not set.`, "Set agents.defaults.model.");
  }
  const route = {
    provider: spec.name,
    baseUrl,
    model,
    ...(spec.name === "azure_openai" && azureRoute(baseUrl, model)),
  };
  return {
    model: open(route, settings, world, { apiKey, headers }),
    ...(model !== choice.model && { notice: `No model is configured: using ${model} of ${spec.name}.` }),
  };
}

/** The configured model; where there is none, or only nanobot's default and nobody who has it, the provider's own. */
function modelFor({ spec, model }: Chosen, settings: ModelSettings): string | undefined {
  const unmeant = settings.model === nanobotDefault && spec.kind === "vendor" && spec.name !== "anthropic";
  return settings.model && !unmeant ? model : (spec.defaultModel ?? (unmeant ? model : undefined));
}

/** Azure puts the model into the path and the key into a header of its own. */
const azureRoute = (baseUrl: string, model: string) => ({
  baseUrl: `${baseUrl.replace(/\/+$/, "")}/openai/deployments/${encodeURIComponent(model)}`,
  query: { "api-version": "2024-10-21" },
  keyHeader: "api-key",
});

type Route = {
  readonly provider: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly keyHeader?: string;
};

function open(
  route: Route,
  settings: ModelSettings,
  { fetch, sleep, log }: ModelWorld,
  access: { readonly apiKey?: string | undefined; readonly headers?: Readonly<Record<string, string>> } = {},
): Model {
  const adapter = createOpenAi({
    ...route,
    ...access,
    fetch: askingAgain(fetch),
    maxTokens: settings.maxTokens,
    temperature: route.model.includes("kimi-k2.5") ? 1 : settings.temperature, // it refuses any other
    reasoningEffort: settings.reasoningEffort ?? undefined,
    contextTokens: settings.contextTokens ?? defaultContextTokens,
    cacheMarks: route.provider === "openrouter" && /anthropic\/|claude/i.test(route.model),
  });
  return withRetry(adapter, { sleep, ...(log && { log }) });
}

async function openWithoutKey(settings: ModelSettings, world: ModelWorld): Promise<OpenedModel> {
  const local = await findLocalModel(world);
  if (local) {
    const notice = `No key is configured: using ${local.model}, found on this machine (${local.provider}).`;
    return { model: open(local, settings, world), notice };
  }
  return {
    model: createDemo(world.clock),
    notice:
      "No key is configured and no model server runs on this machine: using the built-in demo model. For a real one, set " +
      "ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or providers.<name>.apiKey in config.json.",
  };
}

/** A model without a provider is best served by a gateway to all of them. */
function missing(spec: ProviderSpec | undefined, what: string): UserError {
  const byAddress = spec?.kind === "direct" || spec?.kind === "local";
  const place = `providers.${camel(spec?.name ?? "openrouter")}.${byAddress ? "apiBase" : "apiKey"}`;
  const variable = byAddress ? undefined : spec ? spec.keyEnv[0] : "OPENROUTER_API_KEY";
  return new UserError(
    spec
      ? `${what} needs ${byAddress ? "the address of a server" : `a key for ${spec.name}`}, and there is none.`
      : `${what} belongs to no provider that is configured.`,
    `Set ${place} in config.json${variable ? `, or ${variable} in the environment` : ""}.`,
  );
}

const unknownProvider = (name: string): UserError =>
  new UserError(
    `There is no provider ${name}.`,
    `Correct agents.defaults.provider, set it to "auto", or give providers.${camel(snake(name))}.apiBase.`,
  );
