/** Doors of this machine that are channels without a platform: whoever looks sees what is said there, live. */
import type { Channel } from "../channels/channel.js";
import type { Outbound } from "../message.js";

/** The terminal, editors, the OpenAI protocol and the page. */
export const localDoors = ["cli", "file", "api", "web"] as const;

export function createLocalChannel(said: (message: Outbound) => void): Channel {
  return {
    run: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
    // What was said stands in the conversation; nobody has to be there to read it at once.
    async send(message) {
      said(message);
      return { id: message.intent };
    },
    split: (text) => [text],
    isWatched: true,
  };
}
