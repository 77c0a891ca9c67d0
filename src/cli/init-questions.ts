/** What `nanogate init` asks, one thing after another; what a flag has answered is not asked. A wrong key is asked for again. */
import { type Fetch, firstTelegramSender, Unreachable } from "../app/live-checks.js";
import { providerSpecs } from "../providers/provider-table.js";
import { UserError } from "../util/errors.js";
import type { Answers, Checks } from "./init.js";
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

type Part = Partial<Answers>;

export async function askEverything(given: Answers, check: Checks, prompts: Prompts, fetch: Fetch): Promise<Answers> {
  const model = await askModel(given, check, prompts);
  const telegram = await askTelegram({ ...given, ...model }, check, prompts, fetch);
  const discord = await askDiscord(given, check, prompts);
  return { ...given, ...model, ...telegram, ...discord };
}

async function askModel(given: Answers, check: Checks, prompts: Prompts): Promise<Part> {
  const provider = given.provider ?? (await prompts.choose("Whose model should answer?", providers));
  if (provider === "demo") return { provider };
  const spec = providerSpecs.find(({ name }) => name === provider);
  const apiBase =
    given.apiBase ?? (provider === "custom" ? await prompts.text("Its address", "https://…/v1") : undefined);
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

async function askTelegram(given: Answers, check: Checks, prompts: Prompts, fetch: Fetch): Promise<Part> {
  const token = await proven({
    given: given.telegramToken,
    ask: () => prompts.secret("Telegram: the bot's token from @BotFather (empty: no Telegram)"),
    check: (telegramToken) => check.telegram({ ...given, telegramToken }),
    good: (name) => `Telegram knows the bot as ${name}.`,
    prompts,
  });
  if (!token) return {};
  const allow =
    given.telegramAllow ??
    ((await prompts.text("Telegram: who may speak? Ids or user names (empty: write to the bot, and I will see)")) ||
      (await learnOwner(token, given.telegramApiRoot ?? "", prompts, fetch)));
  return { telegramToken: token, telegramAllow: allow };
}

async function askDiscord(given: Answers, check: Checks, prompts: Prompts): Promise<Part> {
  const token = await proven({
    given: given.discordToken,
    ask: () => prompts.secret("Discord: the bot's token from the developer portal (empty: no Discord)"),
    check: (discordToken) => check.discord({ ...given, discordToken }),
    good: (name) => `Discord knows the bot as ${name}.`,
    prompts,
  });
  if (!token) return {};
  const allow =
    given.discordAllow ??
    (await prompts.text("Discord: who may speak? User ids (developer mode, then right click, Copy User ID)"));
  return { discordToken: token, discordAllow: allow };
}

/** Whoever writes to the bot first, if the person at the terminal says that it is them. */
async function learnOwner(token: string, apiRoot: string, prompts: Prompts, fetch: Fetch): Promise<string> {
  const waiting = firstTelegramSender(token, apiRoot, fetch, AbortSignal.timeout(waitForOwnerMs));
  const person = await prompts.during("Write anything to your bot on Telegram now", waiting);
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
