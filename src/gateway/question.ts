/** What is asked in a turn: the words of a message with its files, which are fetched only now, so that intake never waits. */
import { setMaxListeners } from "node:events";
import type { Channel, Saved } from "../channels/channel.js";
import { withMarkers } from "../message.js";
import type { Aside } from "./lanes.js";
import type { Item, Step } from "./ledger.js";

/** An attempt at a message, and what earlier ones have left. */
export type Attempt = { readonly item: Item; readonly steps: readonly Step[]; readonly aside: Aside };

export type Question = { readonly text: string; readonly media: readonly string[] };

export type QuestionParts = {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly keep: (item: Item, step: Step) => Promise<void>;
};

export function createQuestions({ channels, keep }: QuestionParts) {
  return async function questionOf({ item, steps, aside }: Attempt, signal: AbortSignal): Promise<Question> {
    const { from, text, media, attachments = [] } = item.message;
    if (attachments.length === 0) return { text, media };
    // What the model has answered so far it has answered to this, whether or not the files could be had now.
    const known = steps.find((step) => step.kind === "asked");
    if (known) return known;
    const channel = channels.get(from.channel);
    // Each file of an album listens, more than once.
    setMaxListeners(0, signal);
    const saved = await aside(() =>
      Promise.all(attachments.map(async (file): Promise<Saved> => (await channel?.save?.(file, signal)) ?? file)),
    );
    const question = {
      text: withMarkers(text, saved),
      media: [...media, ...saved.flatMap(({ path }) => path ?? [])],
    };
    await keep(item, { kind: "asked", ...question });
    return question;
  };
}
