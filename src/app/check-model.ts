/** Tries the key of a model where it is used, without spending anything. */
import { chooseProvider, type Environment, type ProviderSettings } from "../providers/registry.js";
import { askServer, type Fetch, Unreachable } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";

export type ModelQuestion = {
  readonly model: string;
  readonly provider: string;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
};

/** The provider that takes the key; undefined if nobody is configured. Costs no tokens: it asks which models there are. */
export async function checkModel(
  { model, provider, providers }: ModelQuestion,
  env: Environment,
  fetch: Fetch,
): Promise<string | undefined> {
  const choice = chooseProvider(model, providers, provider, env);
  if (choice.kind === "none") return undefined;
  const { spec, baseUrl, apiKey, headers } = choice;
  if (baseUrl === undefined || spec.kind === "oauth") return spec.name;
  // OpenRouter tells everybody its models; who we are it tells only with the key.
  const path = spec.name === "openrouter" ? "key" : "models";
  const key: Record<string, string> =
    apiKey === undefined
      ? {}
      : {
          authorization: `Bearer ${apiKey}`,
          ...(spec.name === "anthropic" && { "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
          ...(spec.name === "azure_openai" && { "api-key": apiKey }),
        };
  const answer = await askServer(fetch, spec.name, `${baseUrl.replace(/\/+$/, "")}/${path}`, { ...headers, ...key });
  if (answer.status === 401 || answer.status === 403) {
    throw new UserError(`${spec.name} does not accept this key.`, "Copy it again from the provider's console.");
  }
  if (answer.status >= 500) {
    throw new Unreachable(`${spec.name} is in trouble (${answer.status}).`, "Try again a little later.");
  }
  return spec.name;
}
