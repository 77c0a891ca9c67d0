/** Tries keys and tokens where they are used, without spending anything: each check says who we are there, or throws. */
import { setTimeout as pause } from "node:timers/promises";
import { chooseProvider, type Environment, type ProviderSettings } from "../providers/registry.js";
import { reasonOf, UserError } from "../util/errors.js";

export type Fetch = typeof fetch;

/** Nobody could be asked: it says nothing about the key. */
export class Unreachable extends UserError {
  override readonly name = "Unreachable";
}

const patienceMs = 15_000;
const telegramRoot = "https://api.telegram.org";
const discordRoot = "https://discord.com/api";
/** GATEWAY_MESSAGE_CONTENT, and the same for bots in few servers. */
const messageContent = (1 << 18) | (1 << 19);

type Answer = { readonly status: number; readonly body: Record<string, unknown> };

async function ask(fetch: Fetch, who: string, url: string, headers: Record<string, string> = {}): Promise<Answer> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs) });
    const text = await response.text();
    return { status: response.status, body: jsonOf(text) };
  } catch (error) {
    // The address may hold the token, so it is not shown; the cause says what happened.
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Unreachable(`${who} cannot be reached: ${reasonOf(cause)}.`, "Check the connection and try again.");
  }
}

function jsonOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const said = ({ status, body }: Answer): string => {
  const words = body["description"] ?? body["message"];
  return typeof words === "string" ? `${status} ${words}` : String(status);
};

/** The bot's name. */
export async function checkTelegram(token: string, apiRoot: string, fetch: Fetch): Promise<string> {
  const root = (apiRoot || telegramRoot).replace(/\/+$/, "");
  const answer = await ask(fetch, "Telegram", `${root}/bot${encodeURIComponent(token).replaceAll("%3A", ":")}/getMe`);
  if (answer.status === 401 || answer.status === 404) {
    throw new UserError(
      "Telegram does not know this bot token.",
      "Copy it again from @BotFather (/mybots, then API Token).",
    );
  }
  const { username } = (answer.body["result"] ?? {}) as { readonly username?: unknown };
  if (answer.status !== 200 || typeof username !== "string") {
    throw new Unreachable(`Telegram gave an odd answer: ${said(answer)}.`, "Try again a little later.");
  }
  return `@${username}`;
}

export type Person = { readonly id: string; readonly name: string };

/**
 * Who writes to the bot next in private. What is fetched here is not acknowledged, so the gateway will get the message
 * too and answer it.
 */
export async function firstTelegramSender(
  token: string,
  apiRoot: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<Person | undefined> {
  const url = `${(apiRoot || telegramRoot).replace(/\/+$/, "")}/bot${token}/getUpdates`;
  // Without an offset nothing is acknowledged, and with a negative one everything older would be forgotten.
  const body = JSON.stringify({ timeout: 10 });
  const headers = { "content-type": "application/json" };
  while (!signal.aborted) {
    const response = await fetch(url, { method: "POST", headers, body, signal }).catch(() => undefined);
    if (!response?.ok) return undefined;
    const { result = [] } = jsonOf(await response.text()) as { result?: readonly Update[] };
    for (const { message } of result.toReversed()) {
      if (message?.chat?.type !== "private" || message.from?.id === undefined) continue;
      const { id, username, first_name: first = "" } = message.from;
      return { id: String(id), name: username === undefined ? first : `${first} (@${username})` };
    }
    // Only others have written, and their messages would be given again at once.
    if (result.length > 0) await pause(1000, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

type Update = {
  readonly message?: {
    readonly chat?: { readonly type?: string };
    readonly from?: { readonly id?: number; readonly username?: string; readonly first_name?: string };
  };
};

/** The bot's name, and what it lacks. */
export async function checkDiscord(
  token: string,
  apiRoot: string,
  fetch: Fetch,
): Promise<{ readonly name: string; readonly lacks?: string }> {
  const root = `${(apiRoot || discordRoot).replace(/(?:\/v\d+)?\/*$/, "")}/v10`;
  const headers = { authorization: `Bot ${token}` };
  const answer = await ask(fetch, "Discord", `${root}/users/@me`, headers);
  if (answer.status === 401 || answer.status === 403) {
    throw new UserError(
      "Discord does not know this bot token.",
      "Reset it in the developer portal (your application, then Bot) and copy it again.",
    );
  }
  const { username } = answer.body;
  if (answer.status !== 200 || typeof username !== "string") {
    throw new Unreachable(`Discord gave an odd answer: ${said(answer)}.`, "Try again a little later.");
  }
  const { status, body } = await ask(fetch, "Discord", `${root}/applications/@me`, headers);
  const blind = status === 200 && typeof body["flags"] === "number" && (body["flags"] & messageContent) === 0;
  return {
    name: username,
    ...(blind && {
      lacks: "the Message Content intent is off: switch it on in the developer portal (your application, then Bot)",
    }),
  };
}

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
  const answer = await ask(fetch, spec.name, `${baseUrl.replace(/\/+$/, "")}/${path}`, { ...headers, ...key });
  if (answer.status === 401 || answer.status === 403) {
    throw new UserError(`${spec.name} does not accept this key.`, "Copy it again from the provider's console.");
  }
  if (answer.status >= 500) {
    throw new Unreachable(`${spec.name} is in trouble (${answer.status}).`, "Try again a little later.");
  }
  return spec.name;
}
