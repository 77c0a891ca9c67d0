/**
 * What is needed of discord.js: the packages that keep its connection and make its requests. Its model of Discord, which
 * remembers servers, people and messages, would only take time to load and memory to keep.
 */
export { DiscordAPIError, RateLimitError, REST } from "@discordjs/rest";
export { WebSocketManager } from "@discordjs/ws";
export { GatewayDispatchEvents, GatewayIntentBits } from "discord-api-types/gateway/v10";
