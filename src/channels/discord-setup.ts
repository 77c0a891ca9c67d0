/** How Discord is connected: what is asked for, and whether it works. */
import { askServer, oddAnswer } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import type { ChannelSetup } from "./channel.js";

export const usualApi = "https://discord.com/api";

/** The API's address without its version. */
export const apiOf = (apiRoot: string): string => (apiRoot || usualApi).replace(/(?:\/v\d+)?\/*$/, "");

/** An address that a WebSocket can be opened to. */
export const isGatewayUrl = (url: string): boolean => {
  const { protocol = "", hash = "" } = URL.canParse(url) ? new URL(url) : {};
  return /^wss?:$/.test(protocol) && hash === "";
};

/** GATEWAY_MESSAGE_CONTENT, and the same for bots in few servers. */
const messageContent = (1 << 18) | (1 << 19);

export const discordSetup: ChannelSetup = {
  title: "Discord",
  token: "the bot's token from the developer portal",
  people: "user ids (developer mode, then right click, Copy User ID)",
  server: "another Discord API server",

  async check({ token, apiRoot }, fetch) {
    const root = `${apiOf(apiRoot)}/v10`;
    const headers = { authorization: `Bot ${token}` };
    const answer = await askServer(fetch, "Discord", `${root}/users/@me`, headers);
    if (answer.status === 401 || answer.status === 403) {
      throw new UserError(
        "Discord does not know this bot token.",
        "Reset it in the developer portal (your application, then Bot) and copy it again.",
      );
    }
    const { username } = answer.body;
    if (answer.status !== 200 || typeof username !== "string") throw oddAnswer("Discord", answer);
    const { status, body } = await askServer(fetch, "Discord", `${root}/applications/@me`, headers);
    const blind = status === 200 && typeof body["flags"] === "number" && (body["flags"] & messageContent) === 0;
    return {
      name: username,
      ...(blind && {
        lacks: "the Message Content intent is off: switch it on in the developer portal (your application, then Bot)",
      }),
    };
  },
};
