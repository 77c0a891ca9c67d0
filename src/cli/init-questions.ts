/** What `nanogate init` asks, one thing after another; what a flag has answered is not asked. A wrong key is asked for again. */
import type { BotAccess } from "../channels/channel.js";
import { providerSpecs } from "../providers/provider-table.js";
import { type Fetch, Unreachable } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import { isAddress } from "../util/settings.js";
import type { Answers, ChannelAnswers, Checks, ModelAnswers } from "./init.js";
import { type Connectable, connectable } from "./init-channels.js";
import type { Choice, Prompts } from "./prompts.js";

const providers: readonly Choice[] = [
  { value: "anthropic", label: "Anthropic", hint: "Claude" },
  { value: "openai", label: "OpenAI", hint: "GPT" },
  { value: "openrouter", label: "OpenRouter", hint: "one key for nearly all models" },
  { value: "gemini", label: "Google", hint: "Gemini" },
  { value: "deepseek", label: "DeepSeek" },
  { value: "custom", label: "Another one", hint: "anything that speaks OpenAI's protocol" },
  { value: "demo", label: "None for now", hint: "a model on this machine if there is one, else a demo" },
];
const waitForOwnerMs = 120_000;

export async function askEverything(given: Answers, check: Checks, prompts: Prompts, fetch: Fetch): Promise<Answers> {
  const model = await askModel(given, check, prompts);
  const channels: Record<string, ChannelAnswers> = { ...given.channels };
  for (const one of connectable) {
    const known = channels[one.name] ?? {};
    const answers = { ...known, ...(await askChannel(one, known, check, prompts, fetch)) };
    if (Object.keys(answers).length > 0) channels[one.name] = answers;
  }
  return { ...given, ...model, channels };
}

async function askModel(given: ModelAnswers, check: Checks, prompts: Prompts): Promise<ModelAnswers> {
  const provider = given.provider ?? (await prompts.choose("Whose model should answer?", providers));
  if (provider === "demo") return { provider };
  const spec = providerSpecs.find(({ name }) => name === provider);
  const apiBase = given.apiBase ?? (provider === "custom" ? await askAddress(prompts) : undefined);
  const place = apiBase === undefined ? {} : { apiBase };
  const key = await proven({
    given: given.apiKey,
    ask: () => prompts.secret(`The key of ${provider} (empty: none)`),
    check: (apiKey) => check.model({ provider, apiKey, ...place, ...(given.model && { model: given.model }) }),
    good: (name) => `${name} accepts the key.`,
    prompts,
  });
  const usual = spec?.defaultModel;
  const model = given.model ?? ((await prompts.text("Which model?", usual)) || usual);
  return { provider, ...place, ...(key && { apiKey: key }), ...(model && { model }) };
}

async function askAddress(prompts: Prompts): Promise<string> {
  for (;;) {
    const address = await prompts.text("Its address", "https://…/v1");
    if (isAddress(address)) return address;
    prompts.tell("bad", "That is no address: it begins with http:// or https://.");
  }
}

async function askChannel(
  channel: Connectable,
  given: ChannelAnswers,
  check: Checks,
  prompts: Prompts,
  fetch: Fetch,
): Promise<ChannelAnswers> {
  const { title, token: what, people, firstSender } = channel.setup;
  const token = await proven({
    given: given.token,
    ask: () => prompts.secret(`${title}: ${what} (empty: no ${title})`),
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
