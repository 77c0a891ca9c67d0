/** Which provider serves a model: nanobot's rules, over the table of those we know. */
import { type ProviderSpec, providerSpecs } from "./provider-table.js";

export type ProviderSettings = {
  readonly apiKey?: string | null | undefined;
  readonly apiBase?: string | null | undefined;
  readonly extraHeaders?: Readonly<Record<string, string>> | null | undefined;
};

export type Environment = Readonly<Record<string, string | undefined>>;

export type Choice =
  | {
      readonly kind: "chosen";
      readonly spec: ProviderSpec;
      /** Undefined only where the owner has to give it and has not. */
      readonly baseUrl: string | undefined;
      readonly apiKey: string | undefined;
      readonly headers: Readonly<Record<string, string>>;
      /** The model's name as the server knows it. */
      readonly model: string;
    }
  | { readonly kind: "none"; readonly why: "unknown-provider" | "no-key" };

type Candidate = { readonly spec: ProviderSpec; readonly given: ProviderSettings; readonly apiKey: string };

/** nanobot's choice: the named provider; else by prefix, by keyword, a local server, any key, any address. */
export function chooseProvider(
  model: string,
  providers: Readonly<Record<string, ProviderSettings>>,
  providerName: string = "auto",
  env: Environment = {},
): Choice {
  const candidates = listCandidates(providers, env);
  const auto = ["", "auto"].includes(snake(providerName));
  const found = auto ? search(model, candidates) : named(providerName, candidates);
  return found ? choice(found, model) : { kind: "none", why: auto ? "no-key" : "unknown-provider" };
}

/** The provider that a model's name speaks for, whether or not it can be used. */
export function providerOf(model: string): ProviderSpec | undefined {
  const { prefix, speaksFor } = readName(model);
  return providerSpecs.find(({ name }) => name === prefix) ?? providerSpecs.find(speaksFor);
}

/** `azureOpenai`, `azure-openai` and `azure_openai` are one name. */
export const snake = (name: string): string =>
  name
    .trim()
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toLowerCase()
    .replaceAll("-", "_");

/** As it is spelled in config.json. */
export const camel = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Every known provider with what is set for it; then those that only the owner knows. */
function listCandidates(providers: Readonly<Record<string, ProviderSettings>>, env: Environment): Candidate[] {
  const given = new Map<string, ProviderSettings>();
  // Where both spellings are there, camelCase wins.
  const byStyle = Object.entries(providers).sort(([a], [b]) => Number(b.includes("_")) - Number(a.includes("_")));
  for (const [name, settings] of byStyle) given.set(snake(name), settings);
  const known = providerSpecs.map((spec) => candidate(spec, given.get(spec.name) ?? {}, env));
  const own = [...given]
    .filter(([name]) => !providerSpecs.some((spec) => spec.name === name))
    .map(([name, settings]) => candidate({ name, keywords: [], keyEnv: [], kind: "direct" }, settings, env));
  return [...known, ...own];
}

/** What the file says comes before the environment. */
function candidate(spec: ProviderSpec, given: ProviderSettings, env: Environment): Candidate {
  const fromEnv = spec.keyEnv.map((name) => env[name]?.trim()).find(Boolean);
  return { spec, given, apiKey: given.apiKey?.trim() || (fromEnv ?? "") };
}

const named = (name: string, candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.find(({ spec, given }) => spec.name === snake(name) && (isKnown(spec) || Boolean(given.apiBase)));

const isKnown = (spec: ProviderSpec): boolean => providerSpecs.includes(spec);

function search(model: string, candidates: readonly Candidate[]): Candidate | undefined {
  const { prefix, speaksFor } = readName(model);
  const hasAddress = ({ given }: Candidate): boolean => Boolean(given.apiBase);
  const locals = candidates.filter((one) => one.spec.kind === "local" && hasAddress(one));
  return (
    candidates.find((one) => one.spec.name === prefix && isUsable(one)) ??
    candidates.find((one) => speaksFor(one.spec) && isUsable(one)) ??
    locals.find(({ spec, given }) => spec.port !== undefined && given.apiBase?.includes(spec.port)) ??
    locals[0] ??
    candidates.find(({ spec, apiKey }) => spec.kind !== "oauth" && isKnown(spec) && apiKey !== "") ??
    candidates.find((one) => one.spec.kind === "direct" && hasAddress(one))
  );
}

function readName(model: string) {
  const lower = model.toLowerCase();
  return {
    prefix: lower.includes("/") ? snake(lower.slice(0, lower.indexOf("/"))) : undefined,
    speaksFor: ({ keywords }: ProviderSpec): boolean =>
      keywords.some((word) => lower.includes(word) || snake(lower).includes(snake(word))),
  };
}

/** A key makes a provider usable. Without one: a sign-in, an address of the owner's, or a server with a usual place. */
function isUsable({ spec, given, apiKey }: Candidate): boolean {
  if (apiKey !== "" || spec.kind === "oauth") return true;
  if (spec.kind === "local") return Boolean(given.apiBase ?? spec.baseUrl);
  return spec.kind === "direct" && Boolean(given.apiBase);
}

function choice({ spec, given, apiKey }: Candidate, model: string): Choice {
  const base = given.apiBase?.trim() || spec.baseUrl;
  return {
    kind: "chosen",
    spec,
    baseUrl: base?.replace(/\/chat\/completions\/?$/, ""), // pasted from an example
    apiKey: apiKey || undefined,
    headers: given.extraHeaders ?? {},
    model: wireName(spec, model),
  };
}

function wireName(spec: ProviderSpec, model: string): string {
  if (spec.wireName === "verbatim") return model;
  if (spec.wireName === "after-last-slash") return model.slice(model.lastIndexOf("/") + 1);
  const slash = model.indexOf("/");
  const prefix = snake(model.slice(0, Math.max(0, slash)));
  if (prefix !== spec.name && !spec.prefixes?.includes(prefix)) return model;
  const rest = model.slice(slash + 1);
  // `openrouter/auto` is a model of OpenRouter's own; `openrouter/x/y` is x/y there.
  return spec.name === "openrouter" && !rest.includes("/") ? model : rest;
}
