/** What a turn makes of a message: its words and its files, fetched by its channel. */
import type { Channel } from "../../src/channels/channel.js";
import type { Item } from "../../src/gateway/ledger.js";
import { createQuestions, type Question } from "../../src/gateway/question.js";
import type { Inbound } from "../../src/message.js";

export function asked(
  channel: Channel,
  message: Inbound,
  signal: AbortSignal = new AbortController().signal,
): Promise<Question> {
  const questionOf = createQuestions({ channels: new Map([[message.from.channel, channel]]), keep: async () => {} });
  return questionOf({ item: { message } as Item, steps: [], aside: (wait) => wait() }, signal);
}
