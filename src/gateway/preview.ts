/** An answer that appears while it is being written: one message, sent early and edited as the text grows. */
import type { TurnEvent } from "../agent/loop.js";
import { type Channel, SendFailure } from "../channels/channel.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import type { Item, Outbox, Step } from "./ledger.js";

export type PreviewParts = {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly outbox: Pick<Outbox, "next">;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
};

export type Preview = {
  show(event: TurnEvent): void;
  /** True if what the model says is on the screen already. */
  readonly isShown: boolean;
  /** Nothing more is shown. The message the answer takes the place of, if there is one. */
  end(): Promise<string | undefined>;
};

/** What the journal is told, so that a crash leaves no half answer beside the whole one. */
export type ShownStep = Extract<Step, { kind: "shown" }>;

const none: Preview = { show: () => {}, isShown: false, end: async () => undefined };

export function createPreviews({ channels, outbox, now, sleep, log }: PreviewParts) {
  return function openPreview(
    item: Item,
    before: string | undefined,
    keep: (step: ShownStep) => Promise<void>,
  ): Preview {
    const { from: to, id: answers, quiet } = item.message;
    const channel = channels.get(to.channel);
    const { streaming } = channel ?? {};
    if (!channel?.edit || !streaming || quiet)
      return before === undefined ? none : { ...none, end: async () => before };

    const ended = new AbortController();
    let receipt = before;
    let text = "";
    let visible = "";
    let waitUntil = 0;
    let working: Promise<void> | undefined;

    const put = async (words: string): Promise<void> => {
      // What has left is waited for: an edit that is overtaken by the answer would stand in its place.
      const patience = AbortSignal.timeout(sendMs);
      if (receipt !== undefined) return channel.edit?.(to, { id: receipt }, words, patience);
      // Whatever the chat has not been told yet comes first.
      if (await outbox.next(to.channel, to.chat)) return;
      const intent = `preview-${item.trace}`;
      receipt = (await channel.send({ kind: "text", to, text: words, answers, intent, mayRepeat: false }, patience)).id;
      await keep({ kind: "shown", receipt });
    };

    const work = async (): Promise<void> => {
      while (!ended.signal.aborted && waitUntil < Number.POSITIVE_INFINITY) {
        await sleep(Math.max(streaming.everyMs(to), waitUntil - now()), ended.signal);
        const [words = ""] = await channel.split(text);
        if (words.trim() === "" || words === visible) return;
        try {
          await put(words);
          visible = words;
        } catch (error) {
          if (ended.signal.aborted) return;
          waitUntil = afterFailure(error);
        }
      }
    };

    /** A preview is worth no trouble: what may work later waits, for anything else the answer itself will do. */
    const afterFailure = (error: unknown): number => {
      if (error instanceof SendFailure && error.when === "later" && error.afterMs !== undefined) {
        return now() + error.afterMs;
      }
      log.warn(`${item.session}: the answer is not shown while it is written: ${reasonOf(error)}`, {
        trace: item.trace,
      });
      return Number.POSITIVE_INFINITY;
    };

    return {
      show(event) {
        if (event.kind === "restart") text = "";
        else if (event.kind === "text") text += event.text;
        if (event.kind !== "text" || working || ended.signal.aborted) return;
        working = work()
          .catch(() => {})
          .finally(() => (working = undefined));
      },
      get isShown() {
        return receipt !== undefined;
      },
      async end() {
        ended.abort();
        await working;
        return receipt;
      },
    };
  };
}

/** A preview that takes longer than this is of no use. */
const sendMs = 10_000;
