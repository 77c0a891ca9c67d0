/** How Telegram is connected: what is asked for, and whether it works. */
import { setTimeout as pause } from "node:timers/promises";
import { askServer, objectIn, oddAnswer } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import type { ChannelSetup } from "./channel.js";

export const usualRoot = "https://api.telegram.org";

/** The server's address, without the slash that people put at its end. */
export const rootOf = (apiRoot: string): string => (apiRoot || usualRoot).replace(/\/+$/, "");

export const telegramSetup: ChannelSetup = {
  title: "Telegram",
  token: "the bot's token from @BotFather",
  people: "ids or user names",
  server: "another Bot API server",

  async check({ token, apiRoot }, fetch) {
    const secret = encodeURIComponent(token).replaceAll("%3A", ":");
    const answer = await askServer(fetch, "Telegram", `${rootOf(apiRoot)}/bot${secret}/getMe`);
    if (answer.status === 401 || answer.status === 404) {
      throw new UserError(
        "Telegram does not know this bot token.",
        "Copy it again from @BotFather (/mybots, then API Token).",
      );
    }
    const { username } = (answer.body["result"] ?? {}) as { readonly username?: unknown };
    if (answer.status !== 200 || typeof username !== "string") throw oddAnswer("Telegram", answer);
    return { name: `@${username}` };
  },

  /** What is fetched here is not acknowledged, so the gateway will get the message too and answer it. */
  async firstSender({ token, apiRoot }, fetch, signal) {
    const url = `${rootOf(apiRoot)}/bot${token}/getUpdates`;
    // Without an offset nothing is acknowledged, and with a negative one everything older would be forgotten.
    const body = JSON.stringify({ timeout: 10 });
    const headers = { "content-type": "application/json" };
    while (!signal.aborted) {
      const response = await fetch(url, { method: "POST", headers, body, signal }).catch(() => undefined);
      if (!response?.ok) return undefined;
      const { result = [] } = objectIn(await response.text()) as { result?: readonly Update[] };
      for (const { message } of result.toReversed()) {
        if (message?.chat?.type !== "private" || message.from?.id === undefined) continue;
        const { id, username, first_name: first = "" } = message.from;
        return { id: String(id), name: username === undefined ? first : `${first} (@${username})` };
      }
      // Only others have written, and their messages would be given again at once.
      if (result.length > 0) await pause(1000, undefined, { signal }).catch(() => {});
    }
    return undefined;
  },
};

type Update = {
  readonly message?: {
    readonly chat?: { readonly type?: string };
    readonly from?: { readonly id?: number; readonly username?: string; readonly first_name?: string };
  };
};
