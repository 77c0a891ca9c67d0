/** The real claude command in a home of its own, with a model's server on this machine and nobody else to talk to. */
import { type HouseOptions, openClaude } from "../support/claude-house.js";
import { openFakeMessages } from "./fake-messages.js";

export async function openRealClaude(command: string, options: Omit<HouseOptions, "command" | "version"> = {}) {
  const server = await openFakeMessages();
  const nowhere = "http://127.0.0.1:9";
  const house = openClaude({
    command,
    ...options,
    env: {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: "sk-of-nobody",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      // Whatever else it may want to reach, it cannot.
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: "127.0.0.1,localhost",
      ...options.env,
    },
  });
  return { ...house, asked: server.asked, close: () => server.close() };
}
