/**
 * What `nanogate init` asks, one thing after another; what a flag has answered is not asked, and what is there already is
 * kept by an empty answer. A wrong key is asked for again.
 */
import type { BotAccess } from "../channels/channel.js";
import { providerSpecs } from "../providers/provider-table.js";
import { type Fetch, Unreachable } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import { isAddress } from "../util/settings.js";
import type { Answers, ChannelAnswers, Checks, ModelAnswers } from "./init.js";
import { type Connectable, connectable } from "./init-channels.js";
import type { Present } from "./init-present.js";
import type { Choice, Prompts } from "./prompts.js";

const providers: readonly Choice[] = [
  { value: "anthropic", label: "Anthropic", hint: "Claude" },
  { value: "openai", label: "OpenAI", hint: "GPT" },
  { value: "openrouter", label: "OpenRouter", hint: "one key for nearly all models" },
  { value: "gemini", label: "Google", hint: "Gemini" },
  { value: "deepseek", label: "DeepSeek" },
  { value: "custom", label: "Another one", hint: "anything that speaks OpenAI's protocol" },
];
/** Of whoever nothing is set up for. */
const nobody: Choice = {
  value: "demo",
  label: "None for now",
  hint: "a model on this machine if there is one, else a demo",
};
const demoInstead: Choice = { value: "demo", label: "The built-in demo", hint: "the key stays where it is" };
const keep = "keep";
const waitForOwnerMs = 120_000;

export async function askEverything(
  given: Answers,
  present: Present,
  check: Checks,
  prompts: Prompts,
  fetch: Fetch,
): Promise<Answers> {
  const model = await askModel(given, present, check, prompts);
  const channels: Record<string, ChannelAnswers> = { ...given.channels };
  for (const one of connectable) {
    const known = channels[one.name] ?? {};
    const answers = { ...known, ...(await askChannel(one, known, present, check, prompts, fetch)) };
    if (Object.keys(answers).length > 0) channels[one.name] = answers;
  }
  return { ...given, ...model, channels };
}

async function askModel(given: ModelAnswers, present: Present, check: Checks, prompts: Prompts): Promise<ModelAnswers> {
  const provider = given.provider ?? (await prompts.choose("Whose model should answer?", choicesBeside(present)));
  if (provider === keep) return {};
  if (provider === "demo") return { provider };
  const { settings, hasKey } = present.of(provider);
  const apiBase = given.apiBase ?? (provider === "custom" ? await askAddress(prompts, settings.apiBase) : undefined);
  const place = apiBase === undefined ? {} : { apiBase };
  const key = await proven({
    given: given.apiKey,
    ask: () => prompts.secret(`The key of ${provider} ${emptyMeans(hasKey, "none")}`),
    check: (apiKey) => check.model({ provider, apiKey, ...place, ...(given.model && { model: given.model }) }),
    good: (name) => `${name} accepts the key.`,
    prompts,
  });
  const model = given.model ?? (await askWhich(provider, present, prompts));
  return { provider, ...place, ...(key && { apiKey: key }), ...(model && { model }) };
}

const emptyMeans = (isPresent: boolean, otherwise: string): string =>
  isPresent ? "(empty keeps the present one)" : `(empty: ${otherwise})`;

function choicesBeside({ provider, model }: Present): readonly Choice[] {
  if (provider === undefined && model === undefined) return [...providers, nobody];
  const hint = [provider, model].filter(Boolean).join(", ");
  return [{ value: keep, label: "The present one", hint }, ...providers, demoInstead];
}

/** Undefined: the one it has. */
async function askWhich(provider: string, present: Present, prompts: Prompts): Promise<string | undefined> {
  if (present.provider === provider && present.model !== undefined) {
    return (await prompts.text(`Which model? (empty keeps ${present.model})`, present.model)) || undefined;
  }
  const usual = providerSpecs.find(({ name }) => name === provider)?.defaultModel;
  return (await prompts.text("Which model?", usual)) || usual;
}

/** Undefined: where it is now. */
async function askAddress(prompts: Prompts, now: string | null | undefined): Promise<string | undefined> {
  for (;;) {
    const address = await prompts.text(now ? `Its address (empty keeps ${now})` : "Its address", "https://…/v1");
    if (address === "" && now) return undefined;
    if (isAddress(address)) return address;
    prompts.tell("bad", "That is no address: it begins with http:// or https://.");
  }
}

async function askChannel(
  channel: Connectable,
  given: ChannelAnswers,
  present: Present,
  check: Checks,
  prompts: Prompts,
  fetch: Fetch,
): Promise<ChannelAnswers> {
  const { title, token: what, people, firstSender } = channel.setup;
  const token = await proven({
    given: given.token,
    ask: () => prompts.secret(`${title}: ${what} ${emptyMeans(present.connected.has(channel.name), `no ${title}`)}`),
    check: (answer) => check.channel(channel, { ...given, token: answer }),
    good: (name) => `${title} knows the bot as ${name}.`,
    prompts,
  });
  if (!token) return {};
  if (given.allow !== undefined) return { token, allow: given.allow };
  const otherwise = firstSender ? " (empty: write to the bot, and I will see)" : "";
  const named = await prompts.text(`${title}: who may speak? ${people}${otherwise}`);
  if (named !== "" || !firstSender) return { token, allow: named };
  return { token, allow: await learnOwner(channel, { token, apiRoot: given.apiRoot ?? "" }, prompts, fetch) };
}

/** Whoever writes to the bot first, if the person at the terminal says that it is them. */
async function learnOwner({ setup }: Connectable, access: BotAccess, prompts: Prompts, fetch: Fetch): Promise<string> {
  const waiting = Promise.resolve(setup.firstSender?.(access, fetch, AbortSignal.timeout(waitForOwnerMs)));
  const person = await prompts.during(`Write anything to your bot on ${setup.title} now`, waiting);
  if (!person) {
    prompts.tell("bad", "Nobody has written. Nobody may speak there until you add an id.");
    return "";
  }
  return (await prompts.confirm(`Are you ${person.name}, id ${person.id}?`)) ? person.id : "";
}

type Proof = {
  readonly given: string | undefined;
  readonly ask: () => Promise<string>;
  readonly check: (answer: string) => Promise<string | undefined>;
  readonly good: (name: string) => string;
  readonly prompts: Prompts;
};

/** An answer that has been tried. A wrong one is asked for again; one that nobody could be asked about may be kept. */
async function proven({ given, ask, check, good, prompts }: Proof): Promise<string> {
  for (let answer = given ?? (await ask()); ; answer = await ask()) {
    if (answer === "") return answer;
    try {
      const name = await prompts.during("Trying it", check(answer));
      if (name !== undefined) prompts.tell("good", good(name));
      return answer;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      prompts.tell("bad", `${error.message} ${error.fix}`);
      if (error instanceof Unreachable && (await prompts.confirm("Keep it anyway?"))) return answer;
    }
  }
}
